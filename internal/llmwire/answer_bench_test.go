package llmwire

import (
	"testing"

	"github.com/lambdac/lambdac/trace"
)

func BenchmarkEvent(b *testing.B) {
	for _, tt := range []struct{ name, data string }{
		{"openai", `{"id":"chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxYz","object":"chat.completion.chunk","created":1796044846,"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"aZ3"}`},
		{"vllm", `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1796044846,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}`},
		{"continuous", `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1796044846,"model":"m","choices":[{"index":0,"delta":{"content":" word"}}],"usage":{"prompt_tokens":5,"completion_tokens":5,"total_tokens":10}}`},
	} {
		b.Run(tt.name, func(b *testing.B) {
			data := []byte(tt.data)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			a, n := NewAnswer(trace.KindOpenAIChat), 0
			for b.Loop() {
				// An answer of 512 events, as the recorder makes them.
				if n++; n%512 == 0 {
					a = NewAnswer(trace.KindOpenAIChat)
				}
				a.Event(nil, data)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

func TestEventAllocs(t *testing.T) {
	a := NewAnswer(trace.KindOpenAIChat)
	data := []byte(delta(`"content":""`))
	a.Event(nil, data)
	if n := testing.AllocsPerRun(100, func() { a.Event(nil, data) }); n != 0 {
		t.Errorf("%g allocations an event", n)
	}
}
