package recorder

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
)

// heapSource samples the heap while it is read.
type heapSource struct {
	Source
	n, peak int
}

func (s *heapSource) Next() (Segment, error) {
	if s.n++; s.n%200 == 0 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		s.peak = max(s.peak, int(m.HeapAlloc))
	}
	return s.Source.Next()
}

// TestHostile plays an exchange that is meant to hurt, then one on the same
// connection and one on another: memory stays bounded, the outcome says what
// happened, the others are unharmed.
func TestHostile(t *testing.T) {
	testenv.Long(t)
	const mib = 1 << 20
	deep := strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000)
	deeper := strings.Repeat("[", 100_000)
	bomb := string(zipped(t, bytes.Repeat([]byte("data: 0000000000000000\n\n"), mib)))
	whole := func(body string) string {
		return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", jsonHead, len(body), body)
	}
	end := chunk(endEvent+doneEvent) + lastChunk
	rows := []struct {
		name, request, answer string
		want                  string
		fault                 string
	}{
		{
			"JSON 10,000 deep in an event", chat(), sseHead + chunk("data: "+deep+"\n\n") + chunk(textEvent("a")) + end,
			`openai.chat ok NULL/NULL none "a"`, "",
		},
		{
			"JSON 100,000 deep as an answer", chat(), whole(deeper + strings.Repeat("]", 100_000)),
			`openai.chat ok NULL/NULL none ""`, "answer_body",
		},
		{
			"JSON 100,000 deep as a request", post("/v1/chat/completions", deeper), whole(`{"error":{"type":"x"}}`),
			`openai.chat error_in_stream NULL/NULL none "" x`, "request_body",
		},
		{
			"a line of 64 MB", chat(), sseHead + fmt.Sprintf("%x\r\n", 64*mib+8) + "data: " + strings.Repeat("x", 64*mib) + "\n\n\r\n" + chunk(textEvent("a")) + end,
			`openai.chat ok NULL/NULL none "a" lost=1 gaps=0`, "",
		},
		{
			"an array never closed", chat(), whole(`{"choices":[` + strings.Repeat(`{"index":0},`, mib)),
			`openai.chat ok NULL/NULL none ""`, "answer_body",
		},
		{
			"a message of 20 MB in an event stream", post(invokePath, `{"prompt":"p"}`),
			eventStreamHead + chunk(message(strings.Repeat("x", 20*mib), ":event-type", "chunk")) + chunk(generation("a")) + chunk(generationEnd) + lastChunk,
			`bedrock.invoke ok 8/2 usage "a" lost=1 gaps=0`, "",
		},
		{
			"a bomb", chat(), strings.Replace(sseHead, "\r\n\r\n", "\r\nContent-Encoding: gzip\r\n\r\n", 1) + chunk(bomb) + lastChunk,
			`openai.chat cut_by_capture/cap NULL/NULL none "" lost=1 gaps=0`, "",
		},
		{
			"invalid UTF-8 and a lone surrogate", chat(), sseHead + chunk(`data: {"choices":[{"delta":{"content":"`+"\xff"+`\ud800"}}]}`+"\n\n") + end,
			`openai.chat ok NULL/NULL none "` + "\ufffd\ufffd" + `"`, "",
		},
	}
	next := sseHead + chunk(textEvent("next")) + end
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var s script
			k := s.connect(40000, 0).client(10*ms, row.request).server(20*ms, row.answer)
			k.client(30*ms, chat()).server(40*ms, next)
			s.connect(40001, 50*ms).client(60*ms, chat()).server(70*ms, next)
			file := s.pcap()
			src, err := openReader(bytes.NewReader(file), "script")
			if err != nil {
				t.Fatal(err)
			}
			var before runtime.MemStats
			s.packets = nil
			runtime.GC()
			runtime.ReadMemStats(&before)
			heap := &heapSource{Source: src}
			var got collector
			rep, err := Run(context.Background(), heap, &got, Config{KeepText: true})
			if err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(got.list, func(a, b *trace.Exchange) int { return int(a.Ordinal) - int(b.Ordinal) })
			if len(got.list) != 3 {
				t.Fatalf("exchanges: %q", summaries(got.list))
			}
			check(t, "exchange", judged(got.list[0]), row.want)
			for _, x := range got.list[1:] {
				check(t, "another", judged(x), `openai.chat ok NULL/NULL none "next"`)
			}
			if row.fault != "" {
				check(t, "faults", fmt.Sprint(rep.Faults), "map["+row.fault+":1]")
			}
			if grown := heap.peak - int(before.HeapAlloc); grown > 80*mib {
				t.Errorf("the heap grew by %d MiB", grown/mib)
			}
			runtime.KeepAlive(file)
		})
	}
}
