package llmwire

import (
	"testing"

	"github.com/lambdac/lambdac/trace"
)

func TestServerTiming(t *testing.T) {
	const body = `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`
	for _, tt := range []struct {
		name   string
		kind   trace.APIKind
		stream bool
		header map[string]string
		want   string // queue, ttft, total in µs
	}{
		{"nothing", trace.KindOpenAIChat, false, nil, "- - -"},
		{"OpenAI's", trace.KindOpenAIChat, false, map[string]string{"openai-processing-ms": "123"}, "- - 123000"},
		{"OpenAI's of a stream ends with the head", trace.KindOpenAIChat, true, map[string]string{"openai-processing-ms": "123"}, "- - -"},
		{"of a stream", trace.KindOpenAIChat, true, map[string]string{"server-timing": "ttft;dur=12.5, queue;dur=3"}, "3000 12500 -"},
		{
			"all, in any form", trace.KindAnthropicMessages, false,
			map[string]string{"server-timing": `cache;desc="a, b;dur=9\" total;dur=7", Queue ; desc=x ; DUR="1.5",total;dur=20;dur=30 , db;dur=5`},
			"1500 - 20000",
		},
		{"goes before OpenAI's", trace.KindOpenAIChat, false, map[string]string{"openai-processing-ms": "123", "server-timing": "total;dur=100"}, "- - 100000"},
		{"numbers that are none", trace.KindOpenAIChat, false, map[string]string{"openai-processing-ms": "-1", "server-timing": "total;dur=NaN,queue;dur=1e99,ttft;dur=,;,=;dur"}, "- - -"},
		{"the family's own go before it", trace.KindTGIGenerate, false, map[string]string{"x-queue-time": "2", "server-timing": "queue;dur=9, total;dur=8"}, "2000 - 8000"},
		{"quotes that do not end", trace.KindOpenAIChat, false, map[string]string{"server-timing": `total;desc="x;dur=5,queue;dur=4\`}, "- - -"},
	} {
		a := NewAnswer(tt.kind)
		if tt.stream {
			a.Event(nil, []byte(body))
		} else if err := a.Body([]byte(body)); err != nil {
			t.Fatal(err)
		}
		a.Head(func(name string) string { return tt.header[name] })
		var rec trace.Record
		a.Fill(&rec, &trace.Exchange{})
		if got := show(rec.ServerQueueUs) + " " + show(rec.ServerTTFTUs) + " " + show(rec.ServerTotalUs); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func FuzzServerTiming(f *testing.F) {
	f.Add(`total;dur=1, queue;desc="a,\"";dur=2`)
	f.Add(`;;,,"="\`)
	f.Fuzz(func(t *testing.T, value string) {
		size := 0
		eachTiming(value, func(name, dur string) { size += len(name) + len(dur) })
		if size > len(value) {
			t.Errorf("%d bytes of %d", size, len(value))
		}
	})
}
