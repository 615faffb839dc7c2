package recorder

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWrongContentType: what was sent counts, not what its head calls it.
func TestWrongContentType(t *testing.T) {
	stream := textEvent("a") + endEvent + doneEvent
	whole := `{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}]}`
	for _, row := range []struct{ name, head, body, want string }{
		{"none", "", stream, "200 ok 3 1 a"},
		{"text", "Content-Type: text/plain; charset=utf-8\r\n", stream, "200 ok 3 1 a"},
		{"JSON", "Content-Type: application/json\r\n", stream, "200 ok 3 1 a"},
		{"two fields", "Content-Type: application/octet-stream\r\nContent-Type: text/event-stream\r\n", stream, "200 ok 3 1 a"},
		{"joined fields", "Content-Type: text/event-stream, text/event-stream\r\n", stream, "200 ok 3 1 a"},
		{"a stream that is JSON", "Content-Type: text/event-stream\r\n", whole, "200 ok NULL NULL a"},
		{"a page", "Content-Type: text/html\r\n", "<html>", "200 ok NULL NULL "},
	} {
		t.Run(row.name, func(t *testing.T) {
			for size := 1; size < 200; size = size*3 + 1 {
				var s script
				k := s.connect(1, 0).client(2*ms, chat()).server(3*ms, "HTTP/1.1 200 OK\r\n"+row.head+fmt.Sprintf("Content-Length: %d\r\n\r\n", len(row.body)))
				for rest := row.body; rest != ""; {
					n := min(size, len(rest))
					k.server(4*ms, rest[:n])
					rest = rest[n:]
				}
				x := s.one(t)
				var text strings.Builder
				for _, a := range x.Answer {
					text.Write(a.Text)
				}
				r := x.Record
				got := fmt.Sprintf("%s %s %s %s %s", deref(r.StatusCode), r.Outcome, deref(r.EventCount), deref(r.ChunkCount), text.String())
				check(t, fmt.Sprint("pieces of ", size), got, row.want)
			}
		})
	}
}

// TestErrorUnderStreamType: an error that comes as JSON under the type of the
// stream that was asked for keeps its type.
func TestErrorUnderStreamType(t *testing.T) {
	var s script
	body := `{"error":{"type":"overloaded","code":503}}`
	s.connect(1, 0).client(2*ms, chat()).server(3*ms, strings.Replace(sseHead, "200 OK", "503 B", 1)+chunk(body)+lastChunk)
	x := s.one(t)
	check(t, "outcome", string(x.Record.Outcome), "http_error")
	check(t, "error", x.Said.ErrorType+" "+x.Said.ErrorCode, "overloaded 503")
}

// TestHTTP2OddAnswers: a second answer on one stream is counted and replaces
// nothing; one without a status is no answer.
func TestHTTP2OddAnswers(t *testing.T) {
	for _, row := range []struct {
		name string
		play func(h *h2talk)
		want string
	}{
		{"two heads", func(h *h2talk) {
			h.headers(ToClient, 1, false, ":status: 200", "content-type: text/event-stream").data(ToClient, 1, false, textEvent("a"))
			h.headers(ToClient, 1, false, ":status: 500", "content-type: application/json", "content-encoding: gzip").data(ToClient, 1, true, textEvent("b")+doneEvent)
		}, "POST 200 ok 71 170"},
		{"a status that is none", func(h *h2talk) {
			h.headers(ToClient, 1, false, ":status: 2000").data(ToClient, 1, true, "x")
		}, "POST NULL unknown 71 1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var s script
			h := s.h2(t, 1)
			h.ask(1, "POST", "/v1/chat/completions", chatBody).send(ToServer, 4*ms)
			row.play(h)
			h.send(ToClient, 5*ms)
			got, rep := s.run(t, Config{})
			if diff := cmp.Diff([]string{row.want}, summaries(got.list)); diff != "" {
				t.Errorf("exchanges (-want +got):\n%s", diff)
			}
			check(t, "faults", rep.Faults[faultStream], int64(1))
		})
	}
}
