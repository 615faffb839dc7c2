package recorder

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// messageLog writes down what a parser says, body bytes joined.
type messageLog struct {
	lines []string
	body  strings.Builder
	loose strings.Builder
	// noBody: the next head has none (HEAD); upgrade: another protocol follows.
	noBody, upgrade bool
}

func (l *messageLog) start(h *head, _ int64) {
	l.add("start %s %s %d 1.%d", h.method, h.target, h.status, h.minor)
}

func (l *messageLog) header(h *head, cut bool, _ int64) bodyMode {
	l.add("header %v cut=%v left out %d broken %d both %v", h.fields, cut, h.cut, h.broken, h.frame.both)
	switch {
	case l.upgrade:
		return bodyOpaque
	case l.noBody:
		return bodyNone
	case h.status/100 == 1:
		return bodyInterim
	}
	return bodyFramed
}

func (l *messageLog) body1(b []byte) { l.body.Write(b) }

func (l *messageLog) end(h *head, _ int64) {
	l.add("end %q %v", l.body.String(), h.trailer)
	l.body.Reset()
}

func (l *messageLog) broken(reason string, _ []byte, _ int64) { l.add("broken %s", reason) }
func (l *messageLog) hole(n int64, sure bool, _ int64)        { l.add("hole %d %v", n, sure) }
func (l *messageLog) skipped(b []byte, _, _ int64)            { l.loose.Write(b) }
func (l *messageLog) opaque(b []byte, _ int64)                { l.loose.Write(b) }
func (l *messageLog) add(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

// logSink is a messageLog as messages: a field and a method may not share the
// name body.
type logSink struct{ *messageLog }

func (s logSink) body(b []byte, _ int64) { s.body1(b) }

// parsed feeds a stream in pieces of the given sizes, the last one repeating.
func parsed(answer bool, stream string, sizes ...int) []string {
	l := &messageLog{}
	p := parser{answer: answer, out: logSink{l}}
	for i, rest := 0, []byte(stream); len(rest) > 0; i++ {
		n := len(rest)
		if len(sizes) > 0 {
			n = min(n, max(1, sizes[min(i, len(sizes)-1)]))
		}
		p.feed(rest[:n:n], int64(i))
		rest = rest[n:]
	}
	p.streamEnd(0)
	p.drain()
	return append(l.lines, fmt.Sprintf("rest %q, %q", l.body.String(), l.loose.String()))
}

var requestRows = []struct {
	name, stream string
	want         []string
}{
	{
		"no body", "GET /a?b=c HTTP/1.1\r\nHost: h\r\n\r\n",
		[]string{"start GET /a?b=c 0 1.1", "header [{Host h}] cut=false left out 0 broken 0 both false", `end "" []`},
	},
	{
		"empty lines before, bare LF, HTTP/1.0", "\r\n\nGET / HTTP/1.0\n\n",
		[]string{"start GET / 0 1.0", "header [] cut=false left out 0 broken 0 both false", `end "" []`},
	},
	{
		"known length, then the next", "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\n\r\n",
		[]string{
			"start POST / 0 1.1", "header [{Content-Length 3}] cut=false left out 0 broken 0 both false", `end "abc" []`,
			"start GET / 0 1.1", "header [] cut=false left out 0 broken 0 both false", `end "" []`,
		},
	},
	{
		"folding, blanks, a line that is no field", "GET / HTTP/1.1\r\nA : b \r\n\tc\r\nnonsense\r\nB:\r\n\r\n",
		[]string{"start GET / 0 1.1", "header [{A b c} {B }] cut=false left out 0 broken 1 both false", `end "" []`},
	},
	{
		"chunks with extensions and trailers",
		"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;a=\"b\"\r\nabc\r\n0A \r\n0123456789\r\n0\r\nX: y\r\n\r\n",
		[]string{
			"start POST / 0 1.1", "header [{Transfer-Encoding chunked}] cut=false left out 0 broken 0 both false",
			`end "abc0123456789" [{X y}]`,
		},
	},
	{
		"transfer coding wins over length", "POST / HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		[]string{
			"start POST / 0 1.1", "header [{Content-Length 4} {Transfer-Encoding chunked}] cut=false left out 0 broken 0 both true",
			`end "" []`,
		},
	},
	{
		"equal lengths", "POST / HTTP/1.1\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nok",
		[]string{
			"start POST / 0 1.1", "header [{Content-Length 2, 2} {Content-Length 2}] cut=false left out 0 broken 0 both false",
			`end "ok" []`,
		},
	},
	{
		"not HTTP", "SSH-2.0-OpenSSH_9.2\r\n", []string{"broken start_line"},
	},
	{
		"HTTP/2 as a request line", "GET / HTTP/2.0\r\n\r\n", []string{"broken start_line"},
	},
}

func TestRequests(t *testing.T) {
	for _, row := range requestRows {
		t.Run(row.name, func(t *testing.T) {
			got := parsed(false, row.stream)
			if diff := cmp.Diff(row.want, got[:len(got)-1]); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFramingLies: a length that cannot be is never used (RFC 9112, section
// 6.3), nor is what follows it read as a message.
func TestFramingLies(t *testing.T) {
	rows := map[string]string{
		"Content-Length: -1":                                  faultLength,
		"Content-Length: +1":                                  faultLength,
		"Content-Length: 0x1":                                 faultLength,
		"Content-Length: ":                                    faultLength,
		"Content-Length: 1, 2":                                faultLength,
		"Content-Length: 1\r\nContent-Length: 2":              faultLength,
		"Content-Length: 9223372036854775808":                 faultLength,
		"Content-Length: 00000000000000000000000001":          faultLength,
		"Transfer-Encoding: chunked, identity":                faultTransfer,
		"Transfer-Encoding: chunked, chunked":                 faultTransfer,
		"Transfer-Encoding: gzip":                             faultTransfer,
		"Transfer-Encoding: xchunked":                         faultTransfer,
		"Transfer-Encoding: chunked\r\n\r\n-1":                faultChunk,
		"Transfer-Encoding: chunked\r\n\r\n+1":                faultChunk,
		"Transfer-Encoding: chunked\r\n\r\n0x1":               faultChunk,
		"Transfer-Encoding: chunked\r\n\r\n":                  faultChunk,
		"Transfer-Encoding: chunked\r\n\r\n;a":                faultChunk,
		"Transfer-Encoding: chunked\r\n\r\n10000000000000000": faultChunk,
		"Transfer-Encoding: chunked\r\n\r\n2\r\nabc":          faultChunk,
	}
	for header, want := range rows {
		got := parsed(false, "POST / HTTP/1.1\r\n"+header+"\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n")
		joined := strings.Join(got[:len(got)-1], "\n")
		if !strings.HasSuffix(joined, "broken "+want) || strings.Contains(joined, "smuggled") {
			t.Errorf("%q: got\n%s", header, joined)
		}
	}
}

// TestHeadLimit: a head beyond 64 KiB is cut and counted, its framing holds.
func TestHeadLimit(t *testing.T) {
	big := "POST / HTTP/1.1\r\nContent-Length: 2\r\nX: " + strings.Repeat("x", 100<<10) + "\r\nY: z\r\n\r\nokGET / HTTP/1.1\r\n\r\n"
	got := parsed(false, big)
	if len(got) != 7 || got[2] != `end "ok" []` || got[3] != "start GET / 0 1.1" {
		t.Errorf("got %.200q", got)
	}
	if diff := cmp.Diff(got, parsed(false, big, 1000)); diff != "" {
		t.Errorf("in pieces (-whole +pieces):\n%s", diff)
	}
	many := "GET / HTTP/1.1\r\n" + strings.Repeat("a: b\r\n", 10000) + "\r\n"
	l := &messageLog{}
	p := parser{out: logSink{l}}
	p.feed([]byte(many), 0)
	if n := strings.Count(l.lines[1], "{a b}"); n > maxHead/fieldCost {
		t.Errorf("%d fields kept", n)
	}
	if n := strings.Count(l.lines[1], "left out 0"); n != 0 {
		t.Error("fields left out are not counted")
	}
}

// TestSplits: every split of a stream gives the same messages.
func TestSplits(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var all strings.Builder
	for _, row := range requestRows {
		all.WriteString(row.stream)
		for at := range len(row.stream) {
			if diff := cmp.Diff(parsed(false, row.stream), parsed(false, row.stream, at, len(row.stream))); diff != "" {
				t.Fatalf("%s cut at %d (-whole +cut):\n%s", row.name, at, diff)
			}
		}
	}
	stream := all.String()
	for range 200 {
		sizes := []int{1 + random.IntN(9), 1 + random.IntN(60), 1 + random.IntN(5)}
		if diff := cmp.Diff(parsed(false, stream), parsed(false, stream, sizes...)); diff != "" {
			t.Fatalf("pieces of %v (-whole +pieces):\n%s", sizes, diff)
		}
	}
}

func TestAnswers(t *testing.T) {
	rows := []struct {
		name, stream string
		want         []string
	}{
		{
			"interim answers", "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\nHTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx",
			[]string{
				"start   103 1.1", "header [{A b}] cut=false left out 0 broken 0 both false",
				"start   200 1.1", "header [{Content-Length 1}] cut=false left out 0 broken 0 both false", `end "x" []`,
			},
		},
		{
			"until close", "HTTP/1.0 200 OK\r\n\r\nab\r\ncd",
			[]string{"start   200 1.0", "header [] cut=false left out 0 broken 0 both false", `end "ab\r\ncd" []`},
		},
		{
			"unknown transfer coding until close", "HTTP/1.1 200 OK\r\nTransfer-Encoding: x\r\nContent-Length: 1\r\n\r\nabc",
			[]string{"start   200 1.1", "header [{Transfer-Encoding x} {Content-Length 1}] cut=false left out 0 broken 0 both true", `end "abc" []`},
		},
		{"no answer", "ICY 200 OK\r\n\r\n", []string{"broken start_line"}},
		{"no status", "HTTP/1.1 2x0 OK\r\n\r\n", []string{"broken start_line"}},
	}
	for _, row := range rows {
		got := parsed(true, row.stream)
		if diff := cmp.Diff(row.want, got[:len(got)-1]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
		if diff := cmp.Diff(got, parsed(true, row.stream, 1)); diff != "" {
			t.Errorf("%s byte by byte (-whole +bytes):\n%s", row.name, diff)
		}
	}
}

// TestParserGaps: after a hole the messages that can be known are.
func TestParserGaps(t *testing.T) {
	const next = "GET /next HTTP/1.1\r\n\r\n"
	nextLines := []string{"start GET /next 0 1.1", "header [] cut=false left out 0 broken 0 both false", `end "" []`}
	rows := []struct {
		name, before, after string
		lost                int64
		want                []string
	}{
		{
			"in a body of known length", "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nab", "789" + next, 5,
			[]string{"hole 5 true", `end "ab789" []`},
		},
		{
			"to the end of the body", "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nab", next, 8,
			[]string{"hole 8 true", `end "ab" []`},
		},
		{
			"beyond the body", "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nab", "tail" + next, 20,
			[]string{"hole 8 false", `end "ab" []`, "hole 12 false"},
		},
		{
			"in a chunk", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\na", "e\r\n0\r\n\r\n" + next, 3,
			[]string{"hole 3 true", `end "ae" []`},
		},
		{
			"chunk and its line end", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\na", "0\r\n\r\n" + next, 6,
			[]string{"hole 4 true", `end "a" []`},
		},
		{
			"line end of a chunk", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na", "0\r\n\r\n" + next, 2,
			[]string{"hole 2 true", `end "a" []`},
		},
		{
			"several chunks", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\na", "zz\r\n2\r\nbb\r\n0\r\n\r\n" + next, 30,
			[]string{"hole 4 false", "hole 26 false", `end "abb" []`},
		},
		{
			"in the head", "POST / HTTP/1.1\r\nA: b\r\nContent-Le", "{\"a\":1}" + next, 40,
			[]string{"hole 40 false", "header [{A b}] cut=true left out 0 broken 0 both false"},
		},
		{"between messages", next, "…body\r\n" + next, 7, append(nextLines[:3:3], "hole 7 false")},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			for size := 1; size < 40; size++ {
				l := &messageLog{}
				p := parser{out: logSink{l}}
				for i := 0; i < len(row.before); i += size {
					p.feed([]byte(row.before[i:min(i+size, len(row.before))]), 0)
				}
				p.gap(row.lost, 1)
				for i := 0; i < len(row.after); i += size {
					p.feed([]byte(row.after[i:min(i+size, len(row.after))]), 2)
				}
				got := l.lines
				if strings.HasPrefix(row.before, "POST") && row.want[1][:6] != "header" {
					got = got[2:]
				} else if strings.HasPrefix(row.before, "POST") {
					got = got[1:]
				}
				if diff := cmp.Diff(append(row.want[:len(row.want):len(row.want)], nextLines...), got); diff != "" {
					t.Fatalf("pieces of %d (-want +got):\n%s", size, diff)
				}
			}
		})
	}
}

// FuzzParser: any bytes, split anywhere, with a hole anywhere: no panic, and
// the split does not matter.
func FuzzParser(f *testing.F) {
	for _, row := range requestRows {
		f.Add([]byte(row.stream), false, uint16(5), uint16(0))
	}
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), true, uint16(50), uint16(9))
	f.Add([]byte("HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd"), true, uint16(20), uint16(2))
	f.Fuzz(func(t *testing.T, stream []byte, answer bool, cut, lost uint16) {
		at := min(int(cut), len(stream))
		run := func(size int) []string {
			l := &messageLog{}
			p := parser{answer: answer, out: logSink{l}}
			feed := func(b []byte) {
				for i := 0; i < len(b); i += size {
					p.feed(b[i:min(i+size, len(b)):min(i+size, len(b))], 0)
				}
			}
			feed(stream[:at])
			if lost > 0 {
				p.gap(int64(lost), 0)
			}
			feed(stream[at:])
			p.streamEnd(0)
			p.drain()
			return append(l.lines, l.body.String())
		}
		whole := run(len(stream) + 1)
		for _, size := range []int{1, 3, 17} {
			if diff := cmp.Diff(whole, run(size)); diff != "" {
				t.Errorf("pieces of %d (-whole +pieces):\n%s", size, diff)
			}
		}
	})
}
