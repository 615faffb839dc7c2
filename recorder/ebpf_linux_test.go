//go:build amd64 || arm64

package recorder

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

func chatTo(act string) string { return post("/v1/chat/completions?"+act, chatBody) }

// askOnce opens a connection, says something, reads all up to the end mark,
// and closes.
func askOnce(t *testing.T, addr, text, until string) {
	t.Helper()
	c := dialPeer(t, addr)
	say(t, c, text)
	hearUntil(t, c, until)
	c.Close()
}

// hearUntil reads up to the text; "" = to the end of the connection.
func hearUntil(t *testing.T, c net.Conn, until string) {
	t.Helper()
	var got []byte
	b := make([]byte, 4096)
	for until == "" || !strings.HasSuffix(string(got), until) {
		n, err := c.Read(b)
		got = append(got, b[:n]...)
		if err != nil {
			if until != "" || !errors.Is(err, io.EOF) {
				t.Fatalf("after %d bytes: %v", len(got), err)
			}
			return
		}
	}
}

const zeroChunk = "0\r\n\r\n"

// brief is what the cases compare of one exchange; Flow is chunks and events.
type brief struct {
	Target, Outcome, Status string
	Text                    int32
	ReqBytes, RespBytes     int64
	Complete                string
	Lost                    int64
}

func briefOf(x *trace.Exchange) brief {
	r := x.Record
	b := brief{
		Target: x.Target, Outcome: string(r.Outcome), Status: deref(r.StatusCode), Text: countKind(r, trace.ChunkText),
		ReqBytes: r.ReqBodyBytes, RespBytes: r.RespBodyBytes, Lost: r.LostBytesReq + r.LostBytesResp,
		Complete: fmt.Sprint(r.ReqComplete, " ", r.RespComplete),
	}
	if r.OutcomeDetail != nil {
		b.Outcome += "/" + string(*r.OutcomeDetail)
	}
	return b
}

func briefs(list []*trace.Exchange) []brief {
	var all []brief
	for _, x := range list {
		all = append(all, briefOf(x))
	}
	return all
}

// TestEBPFCases are cases of what a recorder is to get right, each played over
// real sockets: its exchanges, and what is to be seen of their times. Pauses
// are shorter than those told of, and longer than anything here waits for.
func TestEBPFCases(t *testing.T) {
	const path = "/v1/chat/completions?"
	body := int64(len(chatBody))
	stream := func(act, outcome string, text int32, resp int64, complete string) brief {
		return brief{path + act, outcome, "200", text, body, resp, complete, 0}
	}
	textBytes := int64(len(textEvent("x")))
	ends := int64(len(endEvent + doneEvent))
	rows := []struct {
		name    string
		traffic func(t *testing.T, addr string)
		want    []brief
		check   func(t *testing.T, list []*trace.Exchange)
	}{
		{
			"1: pause in a stream", func(t *testing.T, addr string) { askOnce(t, addr, chatTo("pause"), zeroChunk) },
			[]brief{stream("pause", "ok", 2, int64(len(textEvent("one")+textEvent("two")))+ends, "true true")},
			func(t *testing.T, list []*trace.Exchange) {
				if gap := *list[0].Record.MaxGapUs; gap < peerPause.Microseconds() {
					t.Errorf("longest gap %d µs, pause %s", gap, peerPause)
				}
			},
		},
		{
			"2: an event in two writes", func(t *testing.T, addr string) { askOnce(t, addr, chatTo("split"), zeroChunk) },
			[]brief{stream("split", "ok", 1, int64(len(textEventRaw("é")))+ends, "true true")},
			func(t *testing.T, list []*trace.Exchange) {
				r := list[0].Record
				if *r.TFirstTokenUs-*r.TRespHeadersUs < 100_000 {
					t.Errorf("the event has the time of its first write: head %d, token %d µs", *r.TRespHeadersUs, *r.TFirstTokenUs)
				}
			},
		},
		{
			"3: many events in one write", func(t *testing.T, addr string) { askOnce(t, addr, chatTo("burst"), zeroChunk) },
			[]brief{stream("burst", "ok", 20, 20*textBytes+int64(len(doneEvent)), "true true")},
			func(t *testing.T, list []*trace.Exchange) {
				chunks := list[0].Record.Chunks
				for i := range 20 {
					if c := chunks[i]; i > 0 && c.GapUs != 0 || (c.Flags&trace.FlagCoalesced != 0) != (i > 0) {
						t.Errorf("event %d: %d µs after the one before, flags %b", i, c.GapUs, c.Flags)
					}
				}
			},
		},
		{
			"4: last chunk alone and late, with a trailer", func(t *testing.T, addr string) { askOnce(t, addr, chatTo("trailer"), "yes\r\n\r\n") },
			[]brief{stream("trailer", "ok", 1, textBytes+ends, "true true")},
			func(t *testing.T, list []*trace.Exchange) {
				r := list[0].Record
				if *r.TEndUs-*r.TLastTokenUs < 300_000 || len(list[0].RespTrailer) != 1 {
					t.Errorf("end %d, last token %d µs, trailer %v", *r.TEndUs, *r.TLastTokenUs, list[0].RespTrailer)
				}
			},
		},
		{
			"5: three requests at once", func(t *testing.T, addr string) {
				askOnce(t, addr, post("/a?plain", "1")+post("/b?plain", strings.Repeat("2", 5000))+post("/c?plain", ""), "/c ")
			},
			[]brief{
				{"/a?plain", "ok", "200", 0, 1, 4, "true true", 0},
				{"/b?plain", "ok", "200", 0, 5000, 5003, "true true", 0},
				{"/c?plain", "ok", "200", 0, 0, 3, "true true", 0},
			},
			nil,
		},
		{
			"7: answers without a body", func(t *testing.T, addr string) {
				c := dialPeer(t, addr)
				defer c.Close()
				say(t, c, "HEAD /h?head HTTP/1.1\r\nHost: h\r\n\r\n")
				hearUntil(t, c, "1000\r\n\r\n")
				say(t, c, "GET /n?204 HTTP/1.1\r\nHost: h\r\n\r\n")
				hearUntil(t, c, "Content\r\n\r\n")
				say(t, c, "GET /m?304 HTTP/1.1\r\nHost: h\r\n\r\n")
				hearUntil(t, c, "7\r\n\r\n")
				say(t, c, post("/p?plain", "x"))
				hearUntil(t, c, "/p x")
			},
			[]brief{
				{"/h?head", "ok", "200", 0, 0, 0, "true true", 0},
				{"/n?204", "ok", "204", 0, 0, 0, "true true", 0},
				{"/m?304", "ok", "304", 0, 0, 0, "true true", 0},
				{"/p?plain", "ok", "200", 0, 1, 4, "true true", 0},
			},
			nil,
		},
		{
			"8: 100-continue", func(t *testing.T, addr string) {
				c := dialPeer(t, addr)
				defer c.Close()
				say(t, c, "POST /e?continue HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
				hearUntil(t, c, "Continue\r\n\r\n")
				say(t, c, "body")
				hearUntil(t, c, "ok")
			},
			[]brief{{"/e?continue", "ok", "200", 0, 4, 2, "true true", 0}},
			nil,
		},
		{
			"8: refused before the body", func(t *testing.T, addr string) {
				for _, act := range []string{"417", "413"} {
					askOnce(t, addr, "POST /e?"+act+" HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n", "")
				}
			},
			[]brief{
				{"/e?417", "http_error", "417", 0, 0, 0, "true true", 0},
				{"/e?413", "http_error", "413", 0, 0, 0, "true true", 0},
			},
			nil,
		},
		{
			"19: coded answers", func(t *testing.T, addr string) {
				for _, coding := range []string{"gzip", "zstd", "br"} {
					c := dialPeer(t, addr)
					say(t, c, "GET /z?"+coding+" HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
					if err := c.CloseWrite(); err != nil { // the client still reads
						t.Fatal(err)
					}
					hearUntil(t, c, "")
					c.Close()
				}
			},
			[]brief{
				{"/z?gzip", "ok", "200", 0, 0, int64(len(codedText)), "true true", 0},
				{"/z?zstd", "ok", "200", 0, 0, int64(len(codedText)), "true true", 0},
				{"/z?br", "ok", "200", 0, 0, int64(len(codedText)), "true true", 0},
			},
			nil,
		},
		{
			"19: a coded stream, flushed", func(t *testing.T, addr string) { askOnce(t, addr, chatTo("gzipsse"), zeroChunk) },
			[]brief{stream("gzipsse", "ok", 3, 3*textBytes+ends, "true true")},
			func(t *testing.T, list []*trace.Exchange) {
				r := list[0].Record
				if *r.TLastTokenUs-*r.TFirstTokenUs < 200_000 {
					t.Errorf("tokens from %d to %d µs: flushed 100 ms apart", *r.TFirstTokenUs, *r.TLastTokenUs)
				}
			},
		},
		{
			"20: the client leaves", func(t *testing.T, addr string) {
				c := dialPeer(t, addr)
				say(t, c, chatTo("endless"))
				hear(t, c, 1000)
				c.Close()
				time.Sleep(100 * time.Millisecond)
			},
			[]brief{{path + "endless", "client_abort/recorded", "200", -1, body, -1, "true false", 0}},
			nil,
		},
		{
			"20: the server breaks off", func(t *testing.T, addr string) {
				for _, act := range []string{"reset", "quit"} {
					c := dialPeer(t, addr)
					say(t, c, chatTo(act))
					_, _ = io.ReadAll(c)
					c.Close()
				}
			},
			[]brief{
				stream("reset", "server_abort/rst", 1, textBytes, "true false"),
				stream("quit", "server_abort/fin", 1, textBytes, "true false"),
			},
			nil,
		},
		{
			"20: shed before the body is read", func(t *testing.T, addr string) {
				for _, act := range []string{"503", "429"} {
					c := dialPeer(t, addr)
					say(t, c, post("/s?"+act, strings.Repeat("x", 100_000)))
					_, _ = io.ReadAll(c)
					c.Close()
				}
			},
			[]brief{
				{"/s?503", "http_error", "503", 0, -1, 0, "false true", 0},
				{"/s?429", "http_error", "429", 0, -1, 0, "false true", 0},
			},
			nil,
		},
		{
			"25: Ollama", func(t *testing.T, addr string) {
				askOnce(t, addr, post("/api/chat?ollama", `{"model":"q","messages":[{"role":"user","content":"hi"}]}`), zeroChunk)
			},
			[]brief{{"/api/chat?ollama", "ok", "200", 2, 57, -1, "true true", 0}},
			nil,
		},
		{
			"25: two lengths, of which the coding's counts", func(t *testing.T, addr string) {
				askOnce(t, addr, "POST /tl?plain HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"+
					post("/tm?plain", "1"), "/tm 1")
			},
			[]brief{
				{"/tl?plain", "ok", "200", 0, 5, 9, "true true", 0},
				{"/tm?plain", "ok", "200", 0, 1, 5, "true true", 0},
			},
			nil,
		},
		{
			"25: an upgrade", func(t *testing.T, addr string) {
				askOnce(t, addr, "GET /w?upgrade HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", "")
			},
			[]brief{{"/w?upgrade", "ok", "101", 0, 0, 0, "true true", 0}},
			nil,
		},
	}
	got, rep := recordPeer(t, "acts", func(addr string) {
		for _, row := range rows {
			row.traffic(t, addr)
		}
	})
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			mine := targetsOf(got.list, row.want)
			list := briefs(mine)
			for i := range min(len(list), len(row.want)) {
				blank(&list[i], &row.want[i])
			}
			if diff := cmp.Diff(row.want, list); diff != "" {
				t.Errorf("exchanges (-want +got):\n%s", diff)
			} else if row.check != nil {
				row.check(t, mine)
			}
		})
	}
	if rep.Totals.BytesLost != 0 || rep.Totals.Unpaired != 0 {
		t.Errorf("lost %v, %d unpaired: %v", rep.Totals.LostByReason, rep.Totals.Unpaired, rep.Warnings)
	}
}

// targetsOf are the exchanges with a target of the list, by their start: each
// worker gives its connections when they end, in no order among workers.
func targetsOf(all []*trace.Exchange, want []brief) (list []*trace.Exchange) {
	for _, x := range all {
		if slices.ContainsFunc(want, func(b brief) bool { return b.Target == x.Target }) {
			list = append(list, x)
		}
	}
	slices.SortStableFunc(list, func(a, b *trace.Exchange) int { return int(a.Record.StartUnixNs - b.Record.StartUnixNs) })
	return list
}

// blank takes out what a row leaves open: -1.
func blank(got, want *brief) {
	if want.Text < 0 {
		got.Text, want.Text = 0, 0
	}
	if want.ReqBytes < 0 {
		got.ReqBytes, want.ReqBytes = 0, 0
	}
	if want.RespBytes < 0 {
		got.RespBytes, want.RespBytes = 0, 0
	}
}

// TestEBPFManyOnOne is case 6: a thousand requests on one connection.
func TestEBPFManyOnOne(t *testing.T) {
	const n = 1000
	got, rep := recordPeer(t, "echo", func(addr string) {
		c := dialPeer(t, addr)
		for i := range n {
			path := fmt.Sprintf("/%d", i)
			say(t, c, post(path, "x"))
			hear(t, c, len(echoOf(path, "x")))
		}
		c.Close()
	})
	seen := make(map[uint64]bool)
	for i, x := range got.list {
		if x.Target != fmt.Sprintf("/%d", i) || x.Record.Outcome != trace.OutcomeOK {
			t.Fatalf("exchange %d: %s %s", i, x.Target, x.Record.Outcome)
		}
		seen[x.Ordinal] = true
	}
	if len(got.list) != n || len(seen) != n || rep.Totals.Unpaired != 0 {
		t.Errorf("%d exchanges, %d ordinals, %d unpaired; want %d", len(got.list), len(seen), rep.Totals.Unpaired, n)
	}
}
