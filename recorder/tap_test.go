package recorder

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipeListener accepts the connections given to it.
type pipeListener struct{ conns chan net.Conn }

func (l *pipeListener) Accept() (net.Conn, error) {
	c, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (l *pipeListener) Close() error   { close(l.conns); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

// In virtual time every stamp is exact: bytes read when Read returned, bytes
// written when Write was called.
func TestTapTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		client, server := net.Pipe()
		tap := NewTap()
		l := &pipeListener{make(chan net.Conn, 1)}
		l.conns <- server
		conn, err := tap.Listener(l).Accept()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(time.Second)
			fmt.Fprint(client, "ask")
			io.Copy(io.Discard, client)
		}()
		buf := make([]byte, 16)
		n, err := conn.Read(buf)
		if n != 3 || err != nil {
			t.Fatalf("Read = %d, %v", n, err)
		}
		for range 3 {
			time.Sleep(time.Minute)
			fmt.Fprint(conn, "tok")
		}
		conn.Close()
		tap.Close()
		log, _, err := readAll(tap)
		if err != nil {
			t.Fatal(err)
		}
		var times []time.Duration
		for _, at := range []int{0, 3, 6} {
			times = append(times, time.Unix(0, log.conns[1].dirs[ToClient].times[at]).Sub(start))
		}
		want := []time.Duration{61 * time.Second, 121 * time.Second, 181 * time.Second}
		for i := range want {
			if times[i] != want[i] {
				t.Errorf("write %d at %v, want %v", i, times[i], want[i])
			}
		}
		if log.text(1, ToServer) != "ask" || log.conns[1].dirs[ToServer].times[0] != start.Add(time.Second).UnixNano() {
			t.Errorf("events %v", log.events)
		}
	})
}

func TestTapTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tap := NewTap()
		before := time.Now()
		seg, err := tap.Next()
		if !errors.Is(err, ErrTick) || seg.Time != before.Add(tickEvery).UnixNano() {
			t.Errorf("Next = %v, %v", seg.Time, err)
		}
		go func() {
			time.Sleep(time.Millisecond)
			tap.Close()
		}()
		if _, err := tap.Next(); !errors.Is(err, io.EOF) || time.Since(before) > 2*tickEvery {
			t.Errorf("Next after Close = %v", err)
		}
	})
}

// A real server behind the tap: what its clients got is what the tap saw.
func TestTapHTTP(t *testing.T) {
	tap := NewTap()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Write(body)
	}))
	server.Listener = tap.Listener(server.Listener)
	server.Start()
	const n = 5
	for i := range n {
		resp, err := http.Post(server.URL, "text/plain", strings.NewReader(strings.Repeat("x", i*100000)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(resp.Body); err != nil || len(got) != i*100000 {
			t.Errorf("answer of %d bytes, %v", len(got), err)
		}
		resp.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	server.Close()
	tap.Close()
	log, stats, err := readAll(tap)
	if err != nil || stats.DuplicateBytes != 0 {
		t.Fatalf("%v, %+v", err, stats)
	}
	var up, down string
	for id := range log.conns {
		up += log.text(id, ToServer)
		down += log.text(id, ToClient)
		if log.conns[id].end != "closed" || !log.conns[id].info.Client.IsValid() {
			t.Errorf("connection %d: %+v", id, log.conns[id].info)
		}
	}
	const total = (0 + 1 + 2 + 3 + 4) * 100000
	if strings.Count(up, "POST / HTTP/1.1") != n || strings.Count(down, "HTTP/1.1 200 OK") != n ||
		strings.Count(up, "x") < total || strings.Count(down, "x") < total {
		t.Errorf("%d bytes up, %d down", len(up), len(down))
	}
}

// A reader that does not keep up costs bytes, which are counted and placed,
// and never holds the server up.
func TestTapDrops(t *testing.T) {
	tap := NewTap()
	client, server := net.Pipe()
	conn := tap.newConn(server)
	go io.Copy(io.Discard, client)
	block := []byte(strings.Repeat("x", 1<<20))
	const writes = 70
	for range writes {
		if _, err := conn.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	dropped := int64(writes<<20 - tapBytes)
	if s := tap.Stats(); s.DroppedBytes != dropped || s.KernelDrops != dropped>>20 {
		t.Errorf("stats %+v", s)
	}
	conn.Close()
	tap.Close()
	log := newStreamLog()
	log.quiet = true
	r := newReassembler(log)
	for {
		seg, err := tap.Next()
		if err != nil {
			break
		}
		r.add(&seg)
	}
	r.flush()
	dir := log.conns[1].dirs[ToClient]
	want := fmt.Sprintf("%d+%d cap", tapBytes, dropped)
	if len(dir.gaps) != 1 || dir.gaps[0] != want || !dir.fin {
		t.Errorf("gaps %v, want %q", dir.gaps, want)
	}
}

// The segments of many small writes are bounded too.
func TestTapSegmentsAreBounded(t *testing.T) {
	tap := NewTap()
	conn := tap.newConn(nopConn{})
	for range tapSegments + 100 {
		if _, err := conn.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if len(tap.queue) > tapSegments+1 || tap.Stats().DroppedBytes == 0 {
		t.Errorf("%d segments wait", len(tap.queue))
	}
}

type nopConn struct{ net.Conn }

func (nopConn) Write(p []byte) (int, error) { return len(p), nil }
func (nopConn) RemoteAddr() net.Addr        { return nil }
func (nopConn) LocalAddr() net.Addr         { return nil }
func (nopConn) Close() error                { return nil }
