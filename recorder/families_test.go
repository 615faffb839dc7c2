package recorder

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/trace"
)

// message makes a binary message of an event stream.
func message(payload string, headers ...string) string {
	var h []byte
	for pair := range slices.Chunk(headers, 2) {
		h = append(append(h, byte(len(pair[0]))), pair[0]...)
		h = append(binary.BigEndian.AppendUint16(append(h, 7), uint16(len(pair[1]))), pair[1]...)
	}
	b := append(prelude(uint32(16+len(h)+len(payload)), uint32(len(h))), h...)
	b = append(b, payload...)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

// prelude makes the lengths of a message with the right checksum.
func prelude(total, headers uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, total)
	b = binary.BigEndian.AppendUint32(b, headers)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// invoked makes the message that carries a vendor's event.
func invoked(event string) string {
	return message(`{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(event))+`"}`, ":event-type", "chunk", ":message-type", "event")
}

const (
	eventStreamHead = "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.amazon.eventstream\r\nTransfer-Encoding: chunked\r\n\r\n"
	invokePath      = "/model/meta.llama3/invoke-with-response-stream"
)

func generation(text string) string { return invoked(fmt.Sprintf(`{"generation":%q}`, text)) }

var generationEnd = invoked(`{"generation":"","stop_reason":"stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":8,"outputTokenCount":2,"firstByteLatency":30,"invocationLatency":70}}`)

// judged is an exchange in one line: outcome, counts, texts, losses.
func judged(x *trace.Exchange) string {
	r := x.Record
	var text strings.Builder
	for _, a := range x.Answer {
		text.Write(a.Text)
	}
	s := fmt.Sprintf("%s %s %s/%s %s %q", r.APIKind, outcomeOf(r), deref(r.InputTokens), deref(r.OutputTokens), r.TokenSource, text.String())
	if r.LostEvents+r.ReassemblyGaps > 0 {
		s += fmt.Sprintf(" lost=%d gaps=%d", r.LostEvents, r.ReassemblyGaps)
	}
	if x.Said.ErrorType != "" {
		s += " " + x.Said.ErrorType
	}
	return s
}

func outcomeOf(r *trace.Record) string {
	if r.OutcomeDetail != nil {
		return string(r.Outcome) + "/" + string(*r.OutcomeDetail)
	}
	return string(r.Outcome)
}

// TestFamilies plays one exchange of each shape whose outcome hangs on the
// family, and then a chat on the same connection.
func TestFamilies(t *testing.T) {
	damaged := []byte(generation("lost"))
	damaged[len(damaged)-6] ^= 1
	split := generation("a")
	rows := []struct {
		name, path, body string
		answer           []string // pieces 10 ms apart
		want             string
	}{
		{
			"bedrock: whole", invokePath, `{"prompt":"p"}`,
			[]string{eventStreamHead + chunk(generation("a")), chunk(generationEnd) + lastChunk},
			`bedrock.invoke ok 8/2 usage "a"`,
		},
		{ // trace.md section 8, case 14
			"bedrock: split at byte 7, one bad checksum", invokePath, `{"prompt":"p"}`,
			[]string{eventStreamHead + chunk(split[:7]), chunk(split[7:]), chunk(string(damaged)), chunk(generationEnd) + lastChunk},
			`bedrock.invoke cut_by_capture/gap 8/2 usage "a" lost=1 gaps=1`,
		},
		{
			"bedrock: length 0", invokePath, `{"prompt":"p"}`,
			[]string{eventStreamHead + chunk(split), chunk(string(prelude(0, 0))), chunk(generationEnd) + lastChunk},
			`bedrock.invoke cut_by_capture/gap 8/2 usage "a" lost=1 gaps=1`,
		},
		{
			"bedrock: length 2^31", invokePath, `{"prompt":"p"}`,
			[]string{eventStreamHead + chunk(split), chunk(string(prelude(1<<31, 0))), chunk(generationEnd) + lastChunk},
			`bedrock.invoke cut_by_capture/gap 8/2 usage "a" lost=1 gaps=1`,
		},
		{
			"bedrock: an exception", "/model/m/converse-stream", `{"messages":[]}`,
			[]string{
				eventStreamHead + chunk(message(`{"contentBlockIndex":0,"delta":{"text":"a"}}`, ":event-type", "contentBlockDelta", ":message-type", "event")),
				chunk(message(`{"message":"secret"}`, ":exception-type", "throttlingException", ":message-type", "exception")) + lastChunk,
			},
			`bedrock.converse error_in_stream NULL/NULL none "a" throttlingException`,
		},
		{
			"bedrock: no end", "/model/m/converse-stream", `{"messages":[]}`,
			[]string{eventStreamHead + chunk(message(`{"contentBlockIndex":0,"delta":{"text":"a"}}`, ":event-type", "contentBlockDelta", ":message-type", "event")) + lastChunk},
			`bedrock.converse server_abort/fin NULL/NULL none "a"`,
		},
		{
			"triton: the end of the message is the end", "/v2/models/m/generate_stream", `{"text_input":"p"}`,
			[]string{sseHead + chunk(`data: {"text_output":"a"}`+"\n\n"), lastChunk},
			`triton.generate ok NULL/NULL none "a"`,
		},
		{
			"triton: nothing but an end", "/v2/models/m/generate_stream", `{"text_input":"p"}`,
			[]string{sseHead + lastChunk},
			`triton.generate empty_stream NULL/NULL none ""`,
		},
		{
			"triton: an error under 200", "/v2/models/m/generate_stream", `{"text_input":"p"}`,
			[]string{sseHead + chunk(`data: {"text_output":"a"}`+"\n\n"), chunk(`data: {"error":"secret"}`+"\n\n") + lastChunk},
			`triton.generate error_in_stream NULL/NULL none "a"`,
		},
		{
			"tgi: no blank after the colon", "/generate_stream", `{"inputs":"p"}`,
			[]string{sseHead + chunk(`data:{"token":{"text":"a","special":false},"generated_text":"a","details":{"finish_reason":"length","generated_tokens":1,"input_length":4}}`+"\n\n") + lastChunk},
			`tgi.generate ok 4/1 usage "a"`,
		},
		{
			"tgi: counts in the header", "/generate", `{"inputs":"p"}`,
			[]string{jsonHead + "X-Prompt-Tokens: 9\r\nx-generated-tokens: 3\r\nContent-Length: 22\r\n\r\n" + `{"generated_text":"a"}`},
			`tgi.generate ok 9/3 server_header "a"`,
		},
		{
			"tgi: overload under 200", "/generate_stream", `{"inputs":"p"}`,
			[]string{sseHead + chunk(`data:{"error":"secret","error_type":"overloaded"}`+"\n\n") + lastChunk},
			`tgi.generate error_in_stream NULL/NULL none "" overloaded`,
		},
		{
			"sglang: the scheduler's abort", "/generate", `{"text":"p","stream":true}`,
			[]string{sseHead + chunk(`data: {"error":{"message":"secret"}}`+"\n\n"+doneEvent) + lastChunk},
			`sglang.generate error_in_stream NULL/NULL none ""`,
		},
		{
			"cohere 1: lines, by a type of its own", "/v1/chat", `{"message":"p","stream":true}`,
			[]string{
				"HTTP/1.1 200 OK\r\nContent-Type: application/stream+json\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(`{"event_type":"text-generation","text":"a"}`+"\n"),
				chunk(`{"event_type":"stream-end","finish_reason":"COMPLETE","response":{"text":"a","meta":{"tokens":{"input_tokens":6,"output_tokens":1}}}}`+"\n") + lastChunk,
			},
			`cohere.chat ok 6/1 usage "a"`,
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var s script
			k := s.connect(40000, 0).client(10*ms, post(row.path, row.body))
			at := 20 * ms
			for _, piece := range row.answer {
				k.server(at, piece)
				at += 10 * ms
			}
			k.client(at, chat()).server(at+10*ms, sseHead+chunk(textEvent("next"))+chunk(endEvent+doneEvent)+lastChunk)
			k.packet(ToServer, at+20*ms, 0, nil)
			got, _ := s.run(t, Config{KeepText: true})
			if len(got.list) != 2 {
				t.Fatalf("exchanges: %q", summaries(got.list))
			}
			check(t, "exchange", judged(got.list[0]), row.want)
			check(t, "the next one", judged(got.list[1]), `openai.chat ok NULL/NULL none "next"`)
		})
	}
}

// TestHoleInEventStream: behind a hole the next message is found by its
// checksum, wherever the hole ends.
func TestHoleInEventStream(t *testing.T) {
	for _, lost := range []int{6, 9, 40, len(chunk(generation("b"))) + 20} {
		var s script
		k := s.connect(40000, 0).client(10*ms, post(invokePath, `{"prompt":"p"}`)).server(20*ms, eventStreamHead+chunk(generation("a")))
		rest := chunk(generation("b")) + chunk(generation("c"))
		k.lose(ToClient, lost).server(40*ms, rest[lost:]).server(50*ms, chunk(generationEnd)+lastChunk)
		k.packet(ToServer, 5*time.Second, 0, nil)
		x := s.one(t)
		want := `bedrock.invoke cut_by_capture/gap 8/2 usage "ac" lost=1 gaps=1`
		if lost > len(chunk(generation("b"))) {
			want = `bedrock.invoke cut_by_capture/gap 8/2 usage "a" lost=1 gaps=1`
		}
		check(t, fmt.Sprint(lost, " bytes lost"), judged(x), want)
	}
}

// TestRules: a path that tells nothing is what a rule says.
func TestRules(t *testing.T) {
	talk := func() *script {
		var s script
		k := s.connect(40000, 0).client(10*ms, post("/gw/7/ask?x=1", chatBody))
		k.server(20*ms, sseHead+chunk(textEvent("a"))+chunk(endEvent+doneEvent)+lastChunk)
		k.client(30*ms, chat()).server(40*ms, sseHead+chunk(textEvent("b"))+chunk(endEvent+doneEvent)+lastChunk)
		return &s
	}
	rules := []llmwire.Rule{{Path: "/gw/*/ask", Kind: trace.KindOpenAIChat}, {Path: "/v1/chat/completions", Kind: trace.KindOther}}
	for _, tt := range []struct {
		rules []llmwire.Rule
		want  [2]trace.APIKind
	}{
		{nil, [2]trace.APIKind{trace.KindOther, trace.KindOpenAIChat}},
		{rules, [2]trace.APIKind{trace.KindOpenAIChat, trace.KindOther}},
	} {
		got, _ := talk().run(t, Config{Rules: tt.rules})
		for i, want := range tt.want {
			check(t, fmt.Sprintf("%d rules, exchange %d", len(tt.rules), i), got.list[i].Record.APIKind, want)
		}
	}
}

// TestBlindProtocols: WebSocket and QUIC are recognised and counted, and make
// no exchange beyond the one that opened them.
func TestBlindProtocols(t *testing.T) {
	var s script
	k := s.connect(40000, 0)
	k.client(10*ms, "GET /v1/realtime HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	k.server(20*ms, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n\x81\x02hi")
	k.client(30*ms, "\x81\x82abcd\x09\x0b").server(40*ms, "\x81\x05hello")
	udp := func(at time.Duration, from, to uint16, size int) {
		b := make([]byte, 28+size)
		b[0], b[8], b[9] = 0x45, 64, 17
		binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
		binary.BigEndian.PutUint16(b[20:], from)
		binary.BigEndian.PutUint16(b[22:], to)
		s.packets = append(s.packets, scriptPacket{captureStart + int64(at), b})
	}
	udp(50*ms, 50000, 443, 1200)
	udp(60*ms, 443, 50000, 100)
	udp(70*ms, 53, 50000, 100)
	udp(3*time.Second, 443, 50000, 100)
	got, rep := s.run(t, Config{})
	check(t, "exchanges", len(got.list), 1)
	check(t, "outcome", outcomeOf(got.list[0].Record), "ok")
	check(t, "websocket bytes", rep.Totals.LostByReason["blind:websocket"], 4+8+7)
	check(t, "QUIC bytes", rep.Totals.LostByReason["blind:quic"], 1228+128+128)
	check(t, "QUIC packets", rep.Source.Undecoded["quic"], 3)
	check(t, "bytes lost", rep.Totals.BytesLost, 0)

	var only script
	s = script{}
	udp(50*ms, 50000, 443, 1200)
	only = s
	got, rep = only.run(t, Config{})
	check(t, "QUIC alone", rep.Totals.LostByReason["blind:quic"], 1228)
	check(t, "its second", got.windows[0].WindowStartUnixNs, captureStart)
}
