package recorder

import (
	"testing"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// What was not seen is not given a value that looks like one.
func TestUnknownIsNotZero(t *testing.T) {
	const ms = time.Millisecond
	s := &script{}
	// A stream of an API that is not read: its events are counted, but which
	// of them carry output nobody knows.
	s.connect(40001, 0).client(2*ms, "POST /mine HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}").
		server(5*ms, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 18\r\n\r\ndata: 1\n\ndata: 2\n\n")
	// The end of an answer whose head came before the capture.
	s.joined(40002).server(10*ms, "data: 3\n\ndata: [DONE]\n\n").fin(ToClient, 11*ms)
	got, _ := s.run(t, Config{})
	if len(got.list) != 2 {
		t.Fatalf("%d exchanges, want 2", len(got.list))
	}
	for _, x := range got.list {
		r := x.Record
		if r.OutcomeDetail != nil && *r.OutcomeDetail == trace.DetailLateJoin {
			if r.HTTPVersion != "" || r.TSentUs != nil || r.StatusCode != nil {
				t.Errorf("late join: version %q, sent %v, status %v", r.HTTPVersion, r.TSentUs, r.StatusCode)
			}
			continue
		}
		if !r.Stream || r.EventCount == nil || *r.EventCount != 2 || r.ChunkCount != nil || r.TFirstTokenUs != nil {
			t.Errorf("other stream: stream %v, events %v, chunks %v, first token %v", r.Stream, r.EventCount, r.ChunkCount, r.TFirstTokenUs)
		}
	}
}
