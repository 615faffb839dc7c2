package sanitizer

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/internal/textstats"
	"github.com/lambdac/lambdac/trace"
)

// discard is an Output that drops everything.
type discard struct{}

func (discard) Write(*trace.Record) error           { return nil }
func (discard) WriteFeatures(*trace.Features) error { return nil }

func (discard) WriteCapture(*trace.CaptureWindow) error { return nil }
func (discard) SetManifest(func(*trace.Manifest)) error { return nil }

// conversation is a request body of about size bytes: a system prompt that all
// share, then turns of their own.
func conversation(r *rand.Rand, size int) string {
	words := strings.Fields("the quick brown fox jumps over a lazy dog while token \"latency\" rises\nand prompts grow longer than anyone planned")
	prose := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(words[r.IntN(len(words))])
			b.WriteByte(' ')
		}
		return b.String()
	}
	list := []map[string]string{{"role": "system", "content": strings.Repeat("You are a helpful assistant. ", 40)}}
	for n := 1200; n < size; n += 900 {
		list = append(list, map[string]string{"role": []string{"user", "assistant"}[len(list)%2], "content": prose(850)})
	}
	body, err := json.Marshal(map[string]any{
		"model": "gpt-4o-mini", "temperature": 0.7, "stream": true, "user": "someone", "messages": list,
	})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// BenchmarkShape is the whole of Take over chat bodies of 16 kB with the
// headers of a usual client and an answer of 1 kB, at the default share of
// tokenized answers; live, so that the tokenizer never holds it up.
func BenchmarkShape(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10, 256 << 10} {
		b.Run(fmt.Sprintf("body=%d", size), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			bodies := make([]string, 64)
			for i := range bodies {
				bodies[i] = conversation(r, size)
			}
			answer := strings.Repeat("An answer of plain words. ", 40)
			s := start(b, Config{Live: true}, discard{})
			b.SetBytes(int64(len(bodies[0])))
			b.ReportAllocs()
			var n uint64
			for b.Loop() {
				b.StopTimer()
				x := chat(n, int64(n)*1e6, bodies[n%64])
				x.ReqHeader = append(x.ReqHeader, clientHeaders...)
				x.RespHeader = serverHeaders
				x.Said = trace.Said{RequestModel: "gpt-4o-mini", ResponseModel: "gpt-4o-mini-2024-07-18", FinishReasons: []string{"stop"}}
				x.Answer = []trace.AnswerText{{Kind: trace.ChunkText, Text: []byte(answer)}}
				n++
				b.StartTimer()
				if err := s.Take(x); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "exchanges/s")
		})
	}
}

var clientHeaders = []trace.Field{
	{Name: "Authorization", Value: "Bearer sk-0123456789abcdefghijklmnop"},
	{Name: "Accept", Value: "application/json"},
	{Name: "Accept-Encoding", Value: "gzip, deflate, br"},
	{Name: "User-Agent", Value: "AsyncOpenAI/Python 1.99.1"},
	{Name: "X-Stainless-Lang", Value: "python"},
	{Name: "X-Stainless-OS", Value: "Linux"},
	{Name: "X-Stainless-Arch", Value: "x64"},
	{Name: "X-Stainless-Runtime", Value: "CPython"},
	{Name: "X-Stainless-Retry-Count", Value: "0"},
	{Name: "X-Request-Id", Value: "5f1c2d3e-0000-4000-8000-000000000000"},
	{Name: "Content-Length", Value: "16384"},
	{Name: "Traceparent", Value: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
}

var serverHeaders = []trace.Field{
	{Name: "Content-Type", Value: "text/event-stream; charset=utf-8"},
	{Name: "Date", Value: "Mon, 30 Nov 2026 00:00:00 GMT"},
	{Name: "Server", Value: "uvicorn"},
	{Name: "Openai-Processing-Ms", Value: "31"},
	{Name: "X-Ratelimit-Remaining-Tokens", Value: "149984"},
	{Name: "Set-Cookie", Value: "__cf_bm=abc; path=/"},
}

// BenchmarkChain is the prefix blocks alone: hashing and numbering.
func BenchmarkChain(b *testing.B) {
	keys, err := newKeyring(testKey)
	if err != nil {
		b.Fatal(err)
	}
	c := newChainer()
	text := []byte(strings.Repeat("0123456789abcdef", 1<<10))
	h0 := *keys.sum("chain")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		c.start(&h0)
		c.add(trace.RoleUser, text)
		c.finish()
	}
}

// BenchmarkTokenCounter shows that texts without a split point cost as much a
// byte as others.
func BenchmarkTokenCounter(b *testing.B) {
	for _, tc := range []struct{ name, text string }{
		{"prose", strings.Repeat("An answer of plain words. ", 1200)},
		{"letters", strings.Repeat("a", 100_000)},
		{"han", strings.Repeat("語言模型回答問題的方式", 30_000/11)},
	} {
		b.Run(tc.name, func(b *testing.B) {
			keys, err := newKeyring(testKey)
			if err != nil {
				b.Fatal(err)
			}
			c := textstats.NewCounter(tokenBin(keys))
			if _, err := c.Count([][]byte{[]byte("load")}); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(min(len(tc.text), 64<<10)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Count([][]byte{[]byte(tc.text)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
