package replayer

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

// TestAPIs replays one streamed request of each API in its own form, against a
// service that answers in its own: first token after 100 ms, the second and
// the end after 20 ms more.
func TestAPIs(t *testing.T) {
	const (
		sse  = "text/event-stream"
		json = "application/json"
	)
	rows := []struct {
		name        string
		kind        trace.APIKind
		contentType string
		first, rest string
		sent        string // method, address, body less its texts
		answer      string // "" = ok, the times, and 20 tokens in and 2 out
	}{
		{
			"responses", trace.KindOpenAIResponses, sse,
			`data: {"type":"response.output_text.delta","delta":"a"}` + "\n\n",
			`data: {"type":"response.output_text.delta","delta":"b"}` + "\n\n" +
				`data: {"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":20,"output_tokens":2}}}` + "\n\n",
			`POST /v1/responses {"model":"m/1","instructions":"…","input":[{"role":"user","content":"…"}],"store":false,"stream":true,"max_output_tokens":10}`,
			"",
		},
		{
			"anthropic", trace.KindAnthropicMessages, sse,
			"event: message_start\n" + `data: {"type":"message_start","message":{"model":"m","usage":{"input_tokens":20,"output_tokens":1}}}` + "\n\n" +
				`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}` + "\n\n",
			`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}` + "\n\n" +
				`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n",
			`POST /v1/messages {"model":"m/1","system":"…","messages":[{"role":"user","content":"…"}],"max_tokens":10,"stream":true}`,
			"",
		},
		{
			"gemini", trace.KindGemini, sse,
			`data: {"candidates":[{"content":{"parts":[{"text":"a"}]}}]}` + "\r\n\r\n",
			`data: {"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":20,"candidatesTokenCount":2,"totalTokenCount":22}}` + "\r\n\r\n",
			`POST /v1beta/models/m%2F1:streamGenerateContent?alt=sse {"systemInstruction":{"parts":[{"text":"…"}]},"contents":[{"role":"user","parts":[{"text":"…"}]}],"generationConfig":{"maxOutputTokens":10}}`,
			"",
		},
		{
			"gemini, by a server that sends an array all the same", trace.KindGemini, json,
			`[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`,
			`,{"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":20,"candidatesTokenCount":2,"totalTokenCount":22}}]`,
			`POST /v1beta/models/m%2F1:streamGenerateContent?alt=sse {"systemInstruction":{"parts":[{"text":"…"}]},"contents":[{"role":"user","parts":[{"text":"…"}]}],"generationConfig":{"maxOutputTokens":10}}`,
			"",
		},
		{
			"ollama chat", trace.KindOllamaChat, "application/x-ndjson",
			`{"message":{"role":"assistant","content":"a"},"done":false}` + "\n",
			`{"message":{"role":"assistant","content":"b"},"done":false}` + "\n" + `{"message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":20,"eval_count":2}` + "\n",
			`POST /api/chat {"model":"m/1","messages":[{"role":"system","content":"…"},{"role":"user","content":"…"}],"stream":true,"options":{"num_predict":10}}`,
			"",
		},
		{
			"ollama generate", trace.KindOllamaGenerate, "application/x-ndjson",
			`{"response":"a","done":false}` + "\n",
			`{"response":"b","done":false}` + "\n" + `{"response":"","done":true,"done_reason":"stop","prompt_eval_count":20,"eval_count":2}` + "\n",
			`POST /api/generate {"model":"m/1","system":"…","prompt":"…","stream":true,"options":{"num_predict":10}}`,
			"",
		},
		{
			"tgi", trace.KindTGIGenerate, sse,
			`data:{"index":1,"token":{"id":5,"text":"a","special":false},"generated_text":null,"details":null}` + "\n\n",
			`data:{"index":2,"token":{"id":6,"text":"b","special":false},"generated_text":"ab","details":{"finish_reason":"length","generated_tokens":2,"input_length":20}}` + "\n\n",
			`POST /generate_stream {"inputs":"…","parameters":{"max_new_tokens":10,"details":true}}`,
			"",
		},
		{
			"triton counts no tokens", trace.KindTritonGenerate, sse,
			`data: {"text_output":"a"}` + "\n\n",
			`data: {"text_output":"b"}` + "\n\n",
			`POST /v2/models/m%2F1/generate_stream {"text_input":"…","stream":true,"max_tokens":10}`,
			"ok 100ms 0s <nil>/<nil>",
		},
		{
			"sglang", trace.KindSGLangGenerate, sse,
			`data: {"text":"a","meta_info":{"prompt_tokens":20,"completion_tokens":1,"finish_reason":null}}` + "\n\n",
			`data: {"text":"ab","meta_info":{"prompt_tokens":20,"completion_tokens":2,"finish_reason":{"type":"length"}}}` + "\n\ndata: [DONE]\n\n",
			`POST /generate {"text":"…","stream":true,"sampling_params":{"max_new_tokens":10}}`,
			"",
		},
		{
			"llama.cpp", trace.KindLlamaCppCompletion, sse,
			`data: {"index":0,"content":"a","stop":false}` + "\n\n",
			`data: {"index":0,"content":"b","stop":false}` + "\n\n" + `data: {"index":0,"content":"","stop":true,"stop_type":"limit","tokens_predicted":2,"tokens_evaluated":20}` + "\n\n",
			`POST /completion {"prompt":"…","stream":true,"n_predict":10}`,
			"",
		},
		{
			"cohere", trace.KindCohereChat, sse,
			`data: {"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"a"}}}}` + "\n\n",
			`data: {"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"b"}}}}` + "\n\n" +
				`data: {"type":"message-end","delta":{"finish_reason":"MAX_TOKENS","usage":{"tokens":{"input_tokens":20,"output_tokens":2}}}}` + "\n\n",
			`POST /v2/chat {"model":"m/1","messages":[{"role":"system","content":"…"},{"role":"user","content":"…"}],"stream":true,"max_tokens":10}`,
			"",
		},
		{
			"bedrock, in binary messages", trace.KindBedrockConverse, "application/vnd.amazon.eventstream",
			eventMessage("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"a"}}`),
			eventMessage("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"b"}}`) + eventMessage("messageStop", `{"stopReason":"max_tokens"}`) +
				eventMessage("metadata", `{"usage":{"inputTokens":20,"outputTokens":2}}`),
			`POST /model/m%2F1/converse-stream {"system":[{"text":"…"}],"messages":[{"role":"user","content":[{"text":"…"}]}],"inferenceConfig":{"maxTokens":10}}`,
			"",
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var sent string
			s := &stub{}
			s.answer = func(w http.ResponseWriter, r *http.Request) {
				sent = fmt.Sprintf("%s %s %s", r.Method, r.RequestURI, blanked(s.bodies[0]))
				w.Header().Set("Content-Type", row.contentType)
				time.Sleep(100 * time.Millisecond)
				events{w}.raw(row.first)
				time.Sleep(20 * time.Millisecond)
				_, _ = io.WriteString(w, row.rest)
			}
			tr := chatTrace(2, time.Second)
			for _, r := range tr.Records {
				r.APIKind, r.RequestModel = row.kind, new("m/1")
				r.Messages = []trace.Message{{Role: trace.RoleSystem, Bytes: 40}, {Role: trace.RoleUser, Bytes: 40}}
			}
			virtual(t, s, one(1, time.Second), tr, func(t *testing.T, _ *Result, out *memory, err error) {
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(row.sent, sent); diff != "" {
					t.Errorf("sent (-want +got):\n%s", diff)
				}
				got := out.only(t)
				ttft, _ := got.TTFTUser()
				tpot, _ := trace.TPOT(&got.Timing, &got.Usage, nil)
				answer := fmt.Sprint(got.Outcome, " ", ttft, " ", tpot, " ", us(got.InputTokens), "/", us(got.OutputTokens))
				if row.answer == "" {
					row.answer = "ok 100ms 20ms 20/2"
				}
				if answer != row.answer {
					t.Errorf("got %s, want %s", answer, row.answer)
				}
				if strings.Contains(got.PathTemplate, "?") {
					t.Errorf("path %q", got.PathTemplate)
				}
				if v := s.headers[0].Get("Anthropic-Version"); (v != "") != (row.kind == trace.KindAnthropicMessages) {
					t.Errorf("Anthropic-Version %q", v)
				}
			})
		})
	}
}

// eventMessage makes one message of an event stream: lengths and their checksum,
// headers, payload, checksum.
func eventMessage(event, payload string) string {
	var head []byte
	for _, h := range [...][2]string{{":event-type", event}, {":message-type", "event"}} {
		head = append(append(head, byte(len(h[0]))), h[0]...)
		head = append(append(head, 7, 0, byte(len(h[1]))), h[1]...)
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(16+len(head)+len(payload)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(head)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(append(b, head...), payload...)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

// blanked puts … in the place of texts with a blank in them.
func blanked(body string) string {
	parts := strings.Split(body, `"`)
	for i := range parts {
		if strings.Contains(strings.TrimSpace(parts[i]), " ") {
			parts[i] = "…"
		}
	}
	return strings.Join(parts, `"`)
}
