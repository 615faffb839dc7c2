package sse

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// got is an event with memory of its own.
type got struct {
	Name, Data string
	Comment    bool
	Partial    bool
	Cut        int64
	End        int64
}

func keep(events *[]got) func(Event) {
	return func(e Event) {
		*events = append(*events, got{string(e.Name), string(e.Data), e.Comment, e.Partial, e.Cut, e.End})
	}
}

func decode(d *Decoder, pieces ...string) (events []got) {
	for _, p := range pieces {
		d.Feed([]byte(p), keep(&events))
	}
	d.Close(keep(&events))
	return events
}

func TestDecoder(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []got
	}{
		{"empty", "", nil},
		{"blank lines only", "\n\n\r\n", nil},
		{"one", "data: a\n\n", []got{{Data: "a", End: 9}}},
		{"two", "data: a\n\ndata: b\n\n", []got{{Data: "a", End: 9}, {Data: "b", End: 18}}},
		{"no blank after the colon", "data:a\n\n", []got{{Data: "a", End: 8}}},
		{"only one blank is taken", "data:  a\n\n", []got{{Data: " a", End: 10}}},
		{"CRLF ends at its CR", "data: a\r\n\r\n", []got{{Data: "a", End: 10}}},
		{"CR", "data: a\r\r", []got{{Data: "a", End: 9}}},
		{"mixed ends", "data: a\rdata: b\r\ndata: c\n\r", []got{{Data: "a\nb\nc", End: 26}}},
		{"BOM", "\xef\xbb\xbfdata: a\n\n", []got{{Data: "a", End: 12}}},
		{"BOM later is text", "\n\xef\xbb\xbfdata: a\n\n", nil},
		{"several data lines", "data: a\ndata:\ndata: b\n\n", []got{{Data: "a\n\nb", End: 23}}},
		{"empty data", "data\n\ndata:\n\n", []got{{End: 6}, {End: 13}}},
		{"name, id, retry", "event: x\nid: 7\nretry: 10\ndata: a\n\n", []got{{Name: "x", Data: "a", End: 34}}},
		{"name without data is no event, and is forgotten", "event: x\n\ndata: a\n\n", []got{{Data: "a", End: 19}}},
		{"the last name holds", "event: x\nevent: y\ndata: a\n\n", []got{{Name: "y", Data: "a", End: 27}}},
		{"comments", ": OPENROUTER PROCESSING\n:\n:x\n", []got{
			{Data: "OPENROUTER PROCESSING", Comment: true, End: 24}, {Comment: true, End: 26}, {Data: "x", Comment: true, End: 29},
		}},
		{"comment inside an event", "data: a\n: c\ndata: b\n\n", []got{{Data: "c", Comment: true, End: 12}, {Data: "a\nb", End: 21}}},
		// cases.md 7
		{"U+2028, U+0085, VT and FF end no line", "data: a\u2028b\u0085c\vd\fe\n\n", []got{{Data: "a\u2028b\u0085c\vd\fe", End: 20}}},
		{"lone CR inside an event", "data: a\rdata: b\n\n", []got{{Data: "a\nb", End: 17}}},
		// trace.md §8 case 7
		{"no final blank line", "data: [DONE]\n", []got{{Data: "[DONE]", Partial: true, End: 13}}},
		{"no final line end", "data: [DONE]", []got{{Data: "[DONE]", Partial: true, End: 12}}},
		{"unknown fields", "foo: bar\n: c\ndata : x\nbaz\n\n", []got{{Data: "c", Comment: true, End: 13}}},
		{"NUL", "data: \x00\n\n", []got{{Data: "\x00", End: 9}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, decode(new(Decoder), tt.in)); diff != "" {
				t.Errorf("whole (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, decode(new(Decoder), strings.Split(tt.in, "")...)); diff != "" {
				t.Errorf("rune by rune (-want +got):\n%s", diff)
			}
		})
	}
}

// trace.md §8 case 6: the same events as the LF form.
func TestDecoderSpellings(t *testing.T) {
	plain := "data: {\"a\":1}\n\nevent: x\ndata: l1\ndata: l2\n\n: c\ndata: [DONE]\n\n"
	want := decode(new(Decoder), plain)
	for _, tt := range []struct{ name, in string }{
		{"CRLF", strings.ReplaceAll(plain, "\n", "\r\n")},
		{"CR", strings.ReplaceAll(plain, "\n", "\r")},
		{"BOM", "\ufeff" + plain},
		{"no blank", strings.ReplaceAll(plain, ": ", ":")},
	} {
		events := decode(new(Decoder), tt.in)
		for i := range events {
			events[i].End = want[i].End
		}
		if diff := cmp.Diff(want, events); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestDecoderMaxEvent(t *testing.T) {
	in := "data: 0123456789\n\ndata: 0123\ndata: 456789\n\nevent: longname!\ndata: ok\n\n:long comment\ndata: fits\n\n"
	want := []got{
		{Data: "01234567", Cut: 2, End: 18},
		{Data: "0123\n456", Cut: 3, End: 43},
		{Name: "longname", Data: "ok", Cut: 1, End: 70},
		{Data: "long com", Comment: true, Cut: 4, End: 84},
		{Data: "fits", End: 96},
	}
	for _, pieces := range [][]string{{in}, strings.Split(in, "")} {
		d := &Decoder{MaxEvent: 8}
		if diff := cmp.Diff(want, decode(d, pieces...)); diff != "" {
			t.Errorf("%d pieces (-want +got):\n%s", len(pieces), diff)
		}
		if d.Dropped() != 10 {
			t.Errorf("%d pieces: dropped %d bytes, want 10", len(pieces), d.Dropped())
		}
	}
}

// A line without an end must not grow the decoder beyond its bound.
func TestDecoderBoundsMemory(t *testing.T) {
	d := &Decoder{MaxEvent: 1 << 10}
	piece := bytes.Repeat([]byte("x"), 1<<16)
	for range 64 {
		d.Feed(piece, func(Event) { t.Error("event from a line without an end") })
	}
	if len(d.line.part) > 1<<10+prefixLen {
		t.Errorf("holds %d bytes", len(d.line.part))
	}
}

var spellings = []string{"data: a\r", "\n", "\r\n\r", ": c\n", "data:b\n\n", "event: n\r\n", "\xef\xbb\xbf", "d", "ata: \u2028", "[DONE] \r\n", "retry: 1\n\n", "data: 0123456789abcdef\n"}

func FuzzDecoderSplits(f *testing.F) {
	f.Add([]byte("data: a\r\n\r\ndata: b\n\n"), uint64(1), uint8(0))
	f.Add([]byte(strings.Join(spellings, "")), uint64(7), uint8(4))
	f.Add([]byte("\xef\xbb\xbf\xef\xbb\xbfdata: x\r\r\n\r"), uint64(42), uint8(3))
	f.Fuzz(func(t *testing.T, in []byte, seed uint64, limit uint8) {
		whole := &Decoder{MaxEvent: int(limit)}
		want := decode(whole, string(in))
		split := &Decoder{MaxEvent: int(limit)}
		if diff := cmp.Diff(want, decode(split, cut(string(in), seed)...)); diff != "" {
			t.Errorf("split differs (-whole +split):\n%s", diff)
		}
		if whole.Dropped() != split.Dropped() {
			t.Errorf("dropped %d whole, %d split", whole.Dropped(), split.Dropped())
		}
		last := int64(0)
		for _, e := range want {
			if e.End < last || e.End > int64(len(in)) {
				t.Errorf("end %d after %d of %d", e.End, last, len(in))
			}
			last = e.End
		}
	})
}

// cut splits s at places that a small generator chooses from the seed.
func cut(s string, seed uint64) (pieces []string) {
	for len(s) > 0 {
		seed = seed*6364136223846793005 + 1442695040888963407
		n := min(len(s), int(seed>>60))
		pieces = append(pieces, s[:n])
		s = s[n:]
	}
	return pieces
}

func TestDecoderEverySplit(t *testing.T) {
	in := "\ufeffevent: e\r\ndata: a\rdata: b\r\n\r\n:c\n\ndata:[DONE]"
	want := decode(new(Decoder), in)
	for i := range len(in) + 1 {
		for j := i; j <= len(in); j++ {
			if diff := cmp.Diff(want, decode(new(Decoder), in[:i], in[i:j], in[j:])); diff != "" {
				t.Fatalf("cut at %d and %d (-want +got):\n%s", i, j, diff)
			}
		}
	}
}

func TestDecoderAllocs(t *testing.T) {
	stream := chatStream(64)
	d, n := new(Decoder), 0
	emit := func(Event) { n++ }
	d.Feed(stream, emit)
	if a := testing.AllocsPerRun(10, func() { d.Feed(stream, emit) }); a != 0 {
		t.Errorf("%g allocations in %d events", a, 64)
	}
}

func chatStream(n int) (s []byte) {
	for i := range n {
		s = AppendEvent(s, "", fmt.Appendf(nil, `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" word%d"},"finish_reason":null}]}`, i))
	}
	return s
}

func BenchmarkDecoder(b *testing.B) {
	stream := chatStream(4096)
	for _, size := range []int{1 << 16, 1448, 160} {
		b.Run(fmt.Sprint("feed", size), func(b *testing.B) {
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			d, n := new(Decoder), 0
			emit := func(Event) { n++ }
			for b.Loop() {
				for p := stream; len(p) > 0; {
					k := min(size, len(p))
					d.Feed(p[:k], emit)
					p = p[k:]
				}
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
