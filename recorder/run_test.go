package recorder

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/lambdac/lambdac/trace"
)

// fakeSource yields what it is given, then ticks until it is closed.
type fakeSource struct {
	segments []Segment
	closed   chan struct{}
	err      error
}

func (s *fakeSource) Next() (Segment, error) {
	if len(s.segments) > 0 {
		seg := s.segments[0]
		s.segments = s.segments[1:]
		return seg, nil
	}
	if s.err != nil {
		return Segment{}, s.err
	}
	<-s.closed
	return Segment{}, errors.New("use of closed source")
}

func (s *fakeSource) Stats() SourceStats { return SourceStats{} }
func (s *fakeSource) Name() string       { return "live" }
func (s *fakeSource) Close() error {
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	return nil
}

func openRequest() []Segment {
	info := &ConnInfo{ID: 1, Client: netip.MustParseAddrPort("10.0.0.1:1"), Server: netip.MustParseAddrPort("10.0.0.2:80"), SawSYN: true}
	data := []byte(get("/"))
	return []Segment{{Conn: info, Data: data, Want: len(data), Time: captureStart}}
}

// TestStop: a recording that is told to stop hands over what is open.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		src := &fakeSource{segments: openRequest(), closed: make(chan struct{})}
		go func() {
			synctest.Wait() // the request was read, the source waits
			cancel()
		}()
		var c collector
		if _, err := Run(ctx, src, &c, Config{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"GET NULL cut_by_capture/recorder_stop 0 0"}, summaries(c.list)); diff != "" {
			t.Fatalf("exchanges (-want +got):\n%s", diff)
		}
		check(t, "open", c.totals.OpenAtEnd, 0)
		check(t, "source", c.list[0].Record.CaptureSource, "live")
	})
}

// TestSourceError: what was good before the error is handed over.
func TestSourceError(t *testing.T) {
	broken := errors.New("cut in the middle")
	src := &fakeSource{segments: openRequest(), closed: make(chan struct{}), err: broken}
	var c collector
	_, err := Run(context.Background(), src, &c, Config{})
	if !errors.Is(err, broken) || len(c.list) != 1 {
		t.Errorf("error %v, %d exchanges", err, len(c.list))
	}
}

type fullSink struct{ collector }

var errFull = errors.New("no space left")

func (s *fullSink) Take(*trace.Exchange) error { return errFull }

func TestSinkError(t *testing.T) {
	src := &fakeSource{segments: openRequest(), closed: make(chan struct{}), err: errors.New("never seen")}
	src.segments = append(src.segments, Segment{Conn: src.segments[0].Conn, Dir: ToClient, FIN: true, Time: captureStart + 1})
	if _, err := Run(context.Background(), src, &fullSink{}, Config{}); !errors.Is(err, errFull) {
		t.Errorf("got %v, want %v", err, errFull)
	}
}

// TestTap records a server of this process, without a packet.
func TestTap(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tap := NewTap()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range []string{roleEvent, textEvent("a"), textEvent("b"), endEvent, doneEvent} {
			_, _ = io.WriteString(w, event)
			_ = http.NewResponseController(w).Flush()
		}
	})}
	go func() { _ = server.Serve(tap.Listener(listener)) }()
	defer server.Close()
	ctx, cancel := context.WithCancel(context.Background())
	var c collector
	done := make(chan error, 1)
	go func() {
		_, err := Run(ctx, tap, &c, Config{KeepText: true})
		done <- err
	}()
	for range 3 {
		res, err := http.Post("http://"+listener.Addr().String()+"/v1/chat/completions", "application/json", strings.NewReader(chatBody))
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		for scan := bufio.NewScanner(res.Body); scan.Scan(); {
			lines++
		}
		_ = res.Body.Close()
		check(t, "lines", lines, 10)
	}
	http.DefaultClient.CloseIdleConnections()
	_ = server.Shutdown(context.Background())
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, x := range c.list {
		if s := shapeOf(x); s.Outcome != "ok" || s.Text != 2 || s.Events != "5" {
			t.Errorf("got %+v", s)
		}
	}
	check(t, "exchanges", len(c.list), 3)
}
