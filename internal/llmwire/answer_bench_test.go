package llmwire

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

func BenchmarkEvent(b *testing.B) {
	for _, tt := range []struct {
		name, data string
		kind       trace.APIKind
	}{
		{"openai", `{"id":"chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxYz","object":"chat.completion.chunk","created":1796044846,"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"aZ3"}`, trace.KindOpenAIChat},
		{"vllm", `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1796044846,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}`, trace.KindOpenAIChat},
		{"continuous", `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1796044846,"model":"m","choices":[{"index":0,"delta":{"content":" word"}}],"usage":{"prompt_tokens":5,"completion_tokens":5,"total_tokens":10}}`, trace.KindOpenAIChat},
		{"responses", `{"type":"response.output_text.delta","content_index":0,"delta":" word","item_id":"msg_0415a3de5d3015560069e2f3f52bf8819297ebb188bfe644d7","logprobs":[],"obfuscation":"NxNZCm3X6XN4","output_index":0,"sequence_number":4}`, trace.KindOpenAIResponses},
		{"anthropic", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}             }`, trace.KindAnthropicMessages},
		{"gemini", `{"candidates": [{"content": {"parts": [{"text": " word"}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 8,"candidatesTokenCount": 5,"totalTokenCount": 13,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 8}]},"modelVersion": "gemini-2.5-flash","responseId": "x"}`, trace.KindGemini},
		{"ollama", `{"model":"llama3","created_at":"2024-05-24T20:26:46.294874Z","message":{"role":"assistant","content":" word"},"done":false}`, trace.KindOllamaChat},
		{"converse", `{"contentBlockIndex":0,"delta":{"text":" word"},"p":"abcdefghijklmnopqrstuvwxyz"}`, trace.KindBedrockConverse},
		{"invoke", chunkOf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}}`), trace.KindBedrockInvoke},
		{"cohere", `{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":" word"}}}}`, trace.KindCohereChat},
		{"tgi", `{"index":2,"token":{"id":5,"text":" word","logprob":-0.2,"special":false},"generated_text":null,"details":null}`, trace.KindTGIGenerate},
		{"triton", `{"model_name":"m","model_version":"1","text_output":" word"}`, trace.KindTritonGenerate},
		{"llamacpp", `{"index":0,"content":" word","tokens":[45344],"stop":false,"id_slot":-1,"tokens_predicted":3,"tokens_evaluated":6}`, trace.KindLlamaCppCompletion},
	} {
		for _, alike := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/alike=%v", tt.name, alike), func(b *testing.B) {
				data := []byte(tt.data)
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				a, n := NewAnswer(tt.kind), 0
				for b.Loop() {
					// An answer of 512 events, as the recorder makes them.
					if n++; n%512 == 0 {
						a = NewAnswer(tt.kind)
					}
					a.before.known = a.before.known && alike
					a.Event(nil, data)
				}
				b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
			})
		}
	}
}

func TestEventAllocs(t *testing.T) {
	for kind, event := range map[trace.APIKind]string{
		trace.KindOpenAIChat:         delta(`"content":""`),
		trace.KindOpenAIResponses:    responsesText3(""),
		trace.KindAnthropicMessages:  anthropicText(""),
		trace.KindGemini:             `{"candidates":[{"content":{"parts":[{"text":""}]}}],"modelVersion":"m"}`,
		trace.KindOllamaChat:         `{"model":"q","message":{"role":"assistant","content":""},"done":false}`,
		trace.KindBedrockConverse:    `contentBlockDelta|{"contentBlockIndex":0,"delta":{"text":""},"p":"abc"}`,
		trace.KindBedrockInvoke:      "chunk|" + chunkOf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}`),
		trace.KindCohereChat:         `content-delta|{"type":"content-delta","delta":{"message":{"content":{"text":""}}}}`,
		trace.KindTGIGenerate:        `{"token":{"id":5,"text":"","special":false},"generated_text":null}`,
		trace.KindTritonGenerate:     `{"model_name":"m","text_output":""}`,
		trace.KindSGLangGenerate:     `{"text":"","meta_info":{"finish_reason":null,"prompt_tokens":5,"completion_tokens":1}}`,
		trace.KindLlamaCppCompletion: `{"index":0,"content":"","stop":false,"tokens_predicted":3,"tokens_evaluated":6}`,
	} {
		a := NewAnswer(kind)
		name, data, _ := bytes.Cut([]byte(event), []byte("|"))
		if data == nil {
			name, data = nil, name
		}
		a.Event(name, data)
		if n := testing.AllocsPerRun(100, func() { a.Event(name, data) }); n != 0 {
			t.Errorf("%s: %g allocations an event", kind, n)
		}
	}
}
