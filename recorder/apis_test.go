package recorder

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lambdac/lambdac/trace"
)

const (
	arrayHead = jsonHead + "Transfer-Encoding: chunked\r\n\r\n"
	linesHead = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
	lastChunk = "0\r\n\r\n"

	geminiURL  = "/v1beta/models/gemini-x:streamGenerateContent"
	geminiBody = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`
	geminiEnd  = "{\n  \"candidates\": [\n    {\n      \"finishReason\": \"STOP\"\n    }\n  ],\n  \"usageMetadata\": {\n    \"promptTokenCount\": 4,\n    \"candidatesTokenCount\": 2,\n    \"totalTokenCount\": 6\n  }\n}\n]\n"
)

// geminiPiece is an element of the array, as Google sends it.
func geminiPiece(before, text string) string {
	return fmt.Sprintf("%s{\n  \"candidates\": [\n    {\n      \"content\": {\n        \"parts\": [\n          {\n            \"text\": \"%s\"\n          }\n        ],\n        \"role\": \"model\"\n      }\n    }\n  ]\n}\n", before, text)
}

func anthropicEvent(name, members string) string {
	return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + members + "}\n\n"
}

func anthropicDelta(text string) string {
	return anthropicEvent("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"`+text+`"}`)
}

// said is what an exchange says beside its times: kind, class, tokens, finish
// reasons, error, texts.
func said(x *trace.Exchange) string {
	r := x.Record
	r.FinishReasons = x.Said.FinishReasons
	if x.Said.ErrorType != "" {
		r.ErrorType = &x.Said.ErrorType
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%s %s %s/%s %v %s", r.APIKind, r.Class(), deref(r.InputTokens), deref(r.OutputTokens), x.Said.FinishReasons, x.Said.ErrorType)
	for _, a := range x.Answer {
		fmt.Fprintf(&s, " %s:%q", a.Kind, a.Text)
	}
	return s.String()
}

// TestAPIs plays one request of each API and an answer; see [TestStreams] for
// the times.
func TestAPIs(t *testing.T) {
	anthropicBody := `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]}`
	responsesBody := `{"model":"m","input":"hi","stream":true}`
	ollamaBody := `{"model":"q","messages":[{"role":"user","content":"hi"}]}`
	start := anthropicEvent("message_start", `,"message":{"role":"assistant","model":"m","usage":{"input_tokens":3,"cache_read_input_tokens":900,"cache_creation_input_tokens":20,"output_tokens":1}}`)
	rows := []struct {
		name, path, body string
		serve            func(k *talk)
		want             shape
		said             string
	}{
		{
			"anthropic: start, ping, text, cumulative usage, stop", "/v1/messages?beta=true", anthropicBody, // trace.md 8.10
			func(k *talk) {
				k.server(50*ms, sseHead+chunk(start)+chunk(anthropicEvent("ping", "")))
				k.server(230*ms, chunk(anthropicDelta("Hi")))
				k.server(240*ms, chunk(anthropicEvent("message_delta", `,"delta":{"stop_reason":null},"usage":{"output_tokens":5}`)))
				k.server(250*ms, chunk(anthropicEvent("message_delta", `,"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":12}`))+chunk(anthropicEvent("message_stop", ""))+lastChunk)
			},
			shape{"ok", "200", 1, "6", "1", "40", "40", "220", "220", "240"},
			`anthropic.messages ok 923/12 [end_turn]  text:"Hi"`,
		},
		{
			"anthropic: overloaded after a 200", "/v1/messages", anthropicBody,
			func(k *talk) {
				k.server(50*ms, sseHead+chunk(start)+chunk(anthropicDelta("H")))
				k.server(60*ms, chunk(anthropicEvent("error", `,"error":{"type":"overloaded_error","message":"Overloaded"}`))+lastChunk)
			},
			shape{"error_in_stream", "200", 1, "3", "1", "40", "40", "40", "40", "50"},
			`anthropic.messages shed 923/NULL [] overloaded_error text:"H"`,
		},
		{
			"anthropic: cut before the end", "/v1/messages", anthropicBody,
			func(k *talk) {
				k.server(50*ms, sseHead+chunk(start)+chunk(anthropicDelta("H")))
				k.fin(ToClient, 60*ms)
			},
			shape{"server_abort/fin", "200", 1, "2", "1", "40", "40", "40", "40", "40"},
			`anthropic.messages error 923/NULL []  text:"H"`,
		},
		{
			"responses: no [DONE], and none needed", "/v1/responses", responsesBody,
			func(k *talk) {
				k.server(50*ms, sseHead+chunk(`event: response.created`+"\n"+`data: {"type":"response.created","response":{"status":"in_progress"}}`+"\n\n"))
				k.server(230*ms, chunk(`event: response.output_text.delta`+"\n"+`data: {"type":"response.output_text.delta","delta":"Hi"}`+"\n\n"))
				k.server(240*ms, chunk(`data: {"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":9,"output_tokens":2}}}`+"\n\n")+lastChunk)
			},
			shape{"ok", "200", 1, "3", "1", "40", "40", "220", "220", "230"},
			`openai.responses ok 9/2 [max_output_tokens]  text:"Hi"`,
		},
		{
			"gemini: an array in pieces, cut inside a character", geminiURL, geminiBody, // trace.md 8.12
			func(k *talk) {
				piece := geminiPiece("[", "ä")
				at := strings.Index(piece, "ä") + 1
				k.server(20*ms, arrayHead+chunk(piece[:at]))
				k.server(120*ms, chunk(piece[at:]))
				k.server(230*ms, chunk(geminiPiece(",\r\n", "b")+",\r\n"+geminiEnd)+lastChunk)
			},
			shape{"ok", "200", 2, "3", "2", "10", "110", "110", "220", "220"},
			`gemini ok 4/2 [STOP]  text:"äb"`,
		},
		{
			"gemini: SSE with CRLF", geminiURL + "?alt=sse", geminiBody,
			func(k *talk) {
				k.server(20*ms, sseHead+chunk("data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"a\"}]},\"finishReason\": \"STOP\"}]}\r\n\r\n")+lastChunk)
			},
			shape{"ok", "200", 1, "1", "1", "10", "10", "10", "10", "10"},
			`gemini ok NULL/NULL [STOP]  text:"a"`,
		},
		{
			"gemini: an array that is never closed", geminiURL, geminiBody,
			func(k *talk) {
				k.server(20*ms, arrayHead+chunk(geminiPiece("[", "a")+",\r\n{\"candidates\": [")+lastChunk)
			},
			shape{"server_abort/fin", "200", 1, "1", "1", "10", "10", "10", "10", "10"},
			`gemini error NULL/NULL []  text:"a"`,
		},
		{
			"gemini: an error in the array, after a 200", geminiURL, geminiBody,
			func(k *talk) {
				k.server(20*ms, arrayHead+chunk(geminiPiece("[", "a")+`,{"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}]`)+lastChunk)
			},
			shape{"error_in_stream", "200", 1, "2", "1", "10", "10", "10", "10", "10"},
			`gemini shed NULL/NULL [] UNAVAILABLE text:"a"`,
		},
		{
			"gemini: refused by an array, as Google does", geminiURL, geminiBody,
			func(k *talk) {
				k.server(20*ms, strings.Replace(arrayHead, "200 OK", "429 Too Many Requests", 1)+chunk(`[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}]`)+lastChunk)
			},
			shape{"http_error", "429", 0, "1", "0", "10", "10", "-", "-", "10"},
			`gemini shed NULL/NULL [] RESOURCE_EXHAUSTED`,
		},
		{
			"gemini: not streamed", "/v1beta/models/gemini-x:generateContent", geminiBody,
			func(k *talk) {
				body := `{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":1,"thoughtsTokenCount":7,"totalTokenCount":12}}`
				k.server(20*ms, fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", jsonHead, len(body), body))
			},
			shape{"ok", "200", 0, "NULL", "NULL", "10", "-", "-", "-", "10"},
			`gemini ok 4/8 [STOP]  text:"a"`,
		},
		{
			"ollama: streams though nobody asked, counts left out", "/api/chat", ollamaBody, // trace.md 8.13
			func(k *talk) {
				k.server(20*ms, linesHead+chunk(`{"model":"q","message":{"role":"assistant","content":"Hi"},"done":false}`+"\n"))
				k.server(30*ms, chunk(`{"model":"q","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":5000000,"prompt_eval_duration":3000,"eval_count":2}`+"\n")+lastChunk)
			},
			shape{"ok", "200", 1, "2", "1", "10", "10", "10", "10", "20"},
			`ollama.chat ok NULL/2 [stop]  text:"Hi"`,
		},
		{
			"ollama: the model was loaded, and no more", "/api/chat", `{"model":"q","messages":[]}`, // cases.md 9
			func(k *talk) {
				k.server(20*ms, linesHead+chunk(`{"model":"q","message":{"role":"assistant","content":""},"done":true,"done_reason":"load"}`+"\n")+lastChunk)
			},
			shape{"empty_stream", "200", 0, "1", "0", "10", "10", "-", "-", "10"},
			`ollama.chat excluded NULL/NULL [load] `,
		},
		{
			"ollama: unloaded; such an answer is one JSON text", "/api/generate", `{"model":"q","keep_alive":0}`,
			func(k *talk) {
				body := `{"model":"q","response":"","done":true,"done_reason":"unload"}`
				k.server(20*ms, fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", jsonHead, len(body), body))
			},
			shape{"empty_stream", "200", 0, "NULL", "NULL", "10", "-", "-", "-", "10"},
			`ollama.generate excluded NULL/NULL [unload] `,
		},
		{
			"ollama: an error in mid-stream, and a line of no JSON", "/api/generate", `{"model":"q","prompt":"hi"}`,
			func(k *talk) {
				k.server(20*ms, linesHead+chunk(`{"response":"a","done":false}`+"\nnonsense\n"+`{"error":"secret"}`+"\n")+lastChunk)
			},
			shape{"error_in_stream", "200", 1, "3", "1", "10", "10", "10", "10", "10"},
			`ollama.generate error NULL/NULL []  text:"a"`,
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var s script
			k := s.connect(40000, 0)
			k.client(10*ms, post(row.path, row.body))
			row.serve(k)
			got, _ := s.run(t, Config{KeepText: true})
			if len(got.list) != 1 {
				t.Fatalf("%d exchanges", len(got.list))
			}
			x := got.list[0]
			if diff := cmp.Diff(row.want, shapeOf(x)); diff != "" {
				t.Errorf("exchange (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(row.said, said(x)); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHoleInArray: what a lost packet leaves of an array is read again from the
// next element on.
func TestHoleInArray(t *testing.T) {
	var s script
	k := s.connect(40000, 0).client(10*ms, post(geminiURL, geminiBody))
	lost := geminiPiece(",\r\n", "b {\\n,{")
	k.server(20*ms, jsonHead+"Content-Length: 100000\r\n\r\n"+geminiPiece("[", "a")+lost[:60]).lose(ToClient, 30)
	k.server(40*ms, lost[90:]+geminiPiece(",\r\n", "c")).server(50*ms, geminiPiece(",\r\n", "d"))
	k.packet(ToServer, 5*time.Second, 0, nil)
	k.fin(ToClient, 6*time.Second)
	x := s.one(t)
	if diff := cmp.Diff(shape{"cut_by_capture/gap", "200", 3, "3", "3", "10", "10", "10", "40", "40"}, shapeOf(x)); diff != "" {
		t.Errorf("exchange (-want +got):\n%s", diff)
	}
	check(t, "after gap", x.Record.Chunks[1].Flags, trace.FlagAfterGap)
	check(t, "lost events", x.Record.LostEvents, 1)
}

// TestLongLine: a line over the body cap costs its own event and no more.
func TestLongLine(t *testing.T) {
	var s script
	k := s.connect(40000, 0).client(10*ms, post("/api/generate", `{"model":"q","prompt":"hi"}`))
	k.server(20*ms, strings.Replace(linesHead, "Transfer-Encoding: chunked", "Content-Length: 70000000", 1)+`{"response":"a"}`+"\n"+`{"response":"`)
	piece := strings.Repeat("x", 1<<16)
	for i := range 1024 {
		k.server(30*ms+time.Duration(i)*10*time.Microsecond, piece)
	}
	k.server(50*ms, `"}`+"\n"+`{"response":"b","done":true,"done_reason":"stop"}`+"\n")
	k.fin(ToClient, 60*ms)
	got, _ := s.run(t, Config{KeepText: true, BodyCap: 1 << 20})
	x := got.list[0]
	if diff := cmp.Diff(shape{"ok", "200", 2, "2", "2", "10", "10", "10", "40", "40"}, shapeOf(x)); diff != "" {
		t.Errorf("exchange (-want +got):\n%s", diff)
	}
	check(t, "lost events", x.Record.LostEvents, 1)
}

// TestLongEvents: where an event over the limit may have held the output or the
// end mark of a complete stream, nothing is said of the service.
func TestLongEvents(t *testing.T) {
	long := textEvent(strings.Repeat("x", 1000))
	for _, row := range []struct{ name, events, want string }{
		{"output before it", textEvent("a") + long + endEvent + doneEvent, "ok"},
		{"the only output", roleEvent + long + endEvent + doneEvent, "cut_by_capture/cap"},
		{"the end mark", textEvent("a") + `data: {"choices":[{"delta":{},"finish_reason":"stop"}],"p":"` + strings.Repeat("x", 1000) + `"}` + "\n\n", "cut_by_capture/cap"},
		{"an error behind it", long + `data: {"error":{"type":"x"}}` + "\n\n", "error_in_stream"},
		{"no output at all", roleEvent + endEvent + doneEvent, "empty_stream"},
	} {
		var s script
		s.connect(40000, 0).client(10*ms, chat()).server(20*ms, sseHead+chunk(row.events)+lastChunk)
		got, _ := s.run(t, Config{BodyCap: 500})
		check(t, row.name, outcomeOf(got.list[0].Record), row.want)
	}
}
