package recorder

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

// Conversations between real peers, of which any source can make a recording:
// the server takes a listener, the client an address, and what is right is
// checked on the exchanges alone.

// speaking is a server of streams, over HTTP/1 or HTTP/2 as the client wants.
type speaking struct {
	mu      sync.Mutex
	arrived int
	full    chan struct{} // closed when all of togetherStreams are there
	release chan struct{} // closed by a request to /release
}

const (
	togetherStreams = 100
	textEvents      = 5
	pace            = 20 * time.Millisecond
)

// speak serves connections of l until it is closed.
func speak(l net.Listener) {
	s := &speaking{full: make(chan struct{}), release: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/chat/completions", s.chat)
	mux.HandleFunc("/inference.GRPCInferenceService/ModelStreamInfer", s.infer)
	mux.HandleFunc("/release", func(http.ResponseWriter, *http.Request) { close(s.release) })
	mux.HandleFunc("/plain", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "plain") })
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: mux, Protocols: protocols, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 2 * togetherStreams}}
	_ = server.Serve(l)
}

// chat streams textEvents events of the caller's name, at its pace.
func (s *speaking) chat(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	name := r.Header.Get("X-Name")
	if strings.HasPrefix(name, "together") {
		s.mu.Lock()
		if s.arrived++; s.arrived == togetherStreams {
			close(s.full)
		}
		s.mu.Unlock()
		<-s.full
	}
	w.Header().Set("Content-Type", "text/event-stream")
	say := func(events string) {
		_, _ = io.WriteString(w, events)
		_ = http.NewResponseController(w).Flush()
	}
	say(roleEvent)
	for i := range textEvents {
		if i == 1 && name == "held" {
			<-s.release
		}
		if r.Context().Err() != nil {
			return
		}
		say(textEvent(fmt.Sprintf("%s.%d ", name, i)))
		time.Sleep(pace)
	}
	say(endEvent + doneEvent)
}

// infer is a stream of gRPC messages: 3 bytes each, the prefix apart from the
// second.
func (s *speaking) infer(w http.ResponseWriter, r *http.Request) {
	_, _ = io.CopyN(io.Discard, r.Body, 5)
	w.Header().Set("Content-Type", "application/grpc")
	send := func(part string) {
		_, _ = io.WriteString(w, part)
		_ = http.NewResponseController(w).Flush()
	}
	for i := range textEvents {
		if r.Context().Err() != nil {
			return
		}
		const message = "\x00\x00\x00\x00\x03abc"
		if i == 1 {
			send(message[:5])
			send(message[5:])
		} else {
			send(message)
		}
		time.Sleep(pace)
	}
	w.Header().Set(http.TrailerPrefix+"Grpc-Status", r.Header.Get("X-Status"))
	w.Header().Set(http.TrailerPrefix+"Grpc-Message", "secret")
}

// caller is a client that keeps to one connection.
type caller struct {
	t    *testing.T
	base string
	http *http.Client
	conn net.Conn
}

// call connects to addr, by HTTP/2 or else HTTP/1.
func call(t *testing.T, addr string, h2 bool) *caller {
	t.Helper()
	c := &caller{t: t, base: "http://" + addr, conn: dialTCP(t, addr)}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!h2)
	protocols.SetUnencryptedHTTP2(h2)
	c.http = &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return c.conn, nil },
		Protocols:   protocols, MaxConnsPerHost: 1,
	}}
	t.Cleanup(func() { c.conn.Close() })
	return c
}

func dialTCP(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// open begins a chat; its body is the stream.
func (c *caller) open(ctx context.Context, name string) io.ReadCloser {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/chat/completions", strings.NewReader(chatBody))
	if err != nil {
		c.t.Error(err)
		return http.NoBody
	}
	req.Header.Set("X-Name", name)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		c.t.Errorf("%s: %v", name, err)
		return http.NoBody
	}
	return resp.Body
}

// hearOut reads a stream to its end.
func (c *caller) hearOut(stream io.ReadCloser) {
	if _, err := io.Copy(io.Discard, stream); err != nil {
		c.t.Error(err)
	}
	stream.Close()
}

// hearUntil reads a stream until some text was in it.
func (c *caller) hearUntil(stream io.Reader, text string) {
	var heard []byte
	b := make([]byte, 4096)
	for !bytes.Contains(heard, []byte(text)) {
		n, err := stream.Read(b)
		heard = append(heard, b[:n]...)
		if err != nil {
			c.t.Errorf("%q did not come: %v", text, err)
			return
		}
	}
}

func (c *caller) get(path string) {
	resp, err := c.http.Get(c.base + path)
	if err != nil {
		c.t.Fatal(err)
	}
	c.hearOut(resp.Body)
}

// talkTogether: as many streams at once on one connection, each fourth given up
// after its second text (recorder.md (c) 18).
func talkTogether(t *testing.T, addr string) {
	c := call(t, addr, true)
	var all sync.WaitGroup
	for i := range togetherStreams {
		all.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			name := fmt.Sprint("together", i)
			stream := c.open(ctx, name)
			if i%4 == 3 {
				c.hearUntil(stream, name+".1 ")
				return
			}
			c.hearOut(stream)
		})
	}
	all.Wait()
	c.get("/plain")
	c.conn.Close()
}

func checkTogether(t *testing.T, list []*trace.Exchange) {
	t.Helper()
	if len(list) != togetherStreams+1 {
		t.Fatalf("exchanges: got %d, want %d", len(list), togetherStreams+1)
	}
	for _, x := range list {
		check(t, "connection, version", fmt.Sprint(x.Conn, " ", x.Record.HTTPVersion), fmt.Sprint(list[0].Conn, " 2"))
		name := fieldValue(x.ReqHeader, "x-name")
		if name == "" {
			check(t, "the last", summary(x), "GET 200 ok 0 5")
			continue
		}
		var i int
		if _, err := fmt.Sscanf(name, "together%d", &i); err != nil {
			t.Fatalf("name %q: %v", name, err)
		}
		want, most := "ok", textEvents
		if i%4 == 3 {
			want = "client_abort/recorded"
		}
		check(t, name, outcomeOf(x.Record), want)
		n := countKind(x.Record, trace.ChunkText)
		if want == "ok" && n != textEvents || n < 2 || int(n) > most {
			t.Errorf("%s: %d texts", name, n)
		}
		if len(x.Answer) != 1 || !strings.HasPrefix(texts(name), string(x.Answer[0].Text)) {
			t.Errorf("%s: texts of another stream: %q", name, x.Answer)
		}
		checkPace(t, name, x.Record, trace.ChunkText)
	}
}

func texts(name string) string {
	var b strings.Builder
	for i := range textEvents {
		fmt.Fprintf(&b, "%s.%d ", name, i)
	}
	return b.String()
}

// checkPace: the pauses between events are there. Each event may come late, so
// only their sum has a lower bound.
func checkPace(t *testing.T, name string, r *trace.Record, kind trace.ChunkKind) {
	t.Helper()
	sum, n := int64(0), 0
	for _, c := range r.Chunks {
		if c.Kind != kind {
			continue
		}
		if n++; n > 1 {
			sum += c.GapUs
		}
	}
	if least := int64(n-1) * (pace.Microseconds() - 1000); n > 2 && sum < least {
		t.Errorf("%s: %d events within %d µs, want %d at least: times are lost", name, n, sum, least)
	}
}

// talkGRPC: calls of Triton's streaming method that end well, fail, and are
// given up.
func talkGRPC(t *testing.T, addr string) {
	c := call(t, addr, true)
	for _, status := range []string{"0", "8", "gone"} {
		ctx, cancel := context.WithCancel(context.Background())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/inference.GRPCInferenceService/ModelStreamInfer", strings.NewReader("\x00\x00\x00\x00\x00"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}, "X-Status": {status}}
		resp, err := c.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if status != "gone" {
			c.hearOut(resp.Body)
			check(t, "status", resp.Trailer.Get("Grpc-Status"), status)
		} else if _, err := io.ReadFull(resp.Body, make([]byte, 17)); err != nil {
			t.Error(err)
		}
		cancel()
	}
	c.get("/plain")
	c.conn.Close()
}

func checkGRPC(t *testing.T, list []*trace.Exchange) {
	t.Helper()
	if len(list) != 4 {
		t.Fatalf("exchanges: %q", summaries(list))
	}
	// A call that is given up may end after the next one.
	slices.SortFunc(list, func(a, b *trace.Exchange) int { return int(a.Ordinal) - int(b.Ordinal) })
	for i, want := range []string{"ok ", "error_in_stream 8", "client_abort/recorded "} {
		x := list[i]
		check(t, fmt.Sprint("call ", i), outcomeOf(x.Record)+" "+x.Said.ErrorCode, want)
		n := countKind(x.Record, trace.ChunkOther)
		if i < 2 && n != textEvents || n < 2 {
			t.Errorf("call %d: %d messages", i, n)
		}
		checkPace(t, fmt.Sprint("call ", i), x.Record, trace.ChunkOther)
	}
	check(t, "the last", summary(list[3]), "GET 200 ok 0 5")
}

// talkJoined: a connection that has carried an exchange, and carries a stream,
// when join is called (recorder.md (c) 17).
func talkJoined(t *testing.T, addr string, h2 bool, join func()) {
	c := call(t, addr, h2)
	c.hearOut(c.open(context.Background(), "before"))
	held := c.open(context.Background(), "held")
	c.hearUntil(held, "held.0 ")
	join()
	other := call(t, addr, h2)
	other.get("/release")
	c.hearOut(held)
	c.hearOut(c.open(context.Background(), "before"))
	c.hearOut(c.open(context.Background(), "after"))
	other.hearOut(other.open(context.Background(), "new"))
	c.conn.Close()
	other.conn.Close()
}

// checkJoined: of the connection that was joined nothing is said that is not
// so, and of HTTP/1 the next exchange is whole; other connections are.
func checkJoined(t *testing.T, list []*trace.Exchange, h2 bool) {
	t.Helper()
	unasked := 0
	var lines []string
	for _, x := range list {
		if x.Record.TSentUs == nil {
			unasked++
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", x.Target, fieldValue(x.ReqHeader, "x-name"), outcomeOf(x.Record))))
		for _, f := range slices.Concat(x.ReqHeader, x.RespHeader) {
			values, known := joinedFields[strings.ToLower(f.Name)]
			if !known || values != nil && !slices.Contains(values, f.Value) {
				t.Errorf("a field that nobody sent: %s: %s", f.Name, f.Value)
			}
		}
	}
	check(t, "requests before", unasked, 1)
	whole := []string{"/release  ok", "/v1/chat/completions new ok"}
	if h2 {
		check(t, "exchanges", len(lines), 5)
		lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasSuffix(line, "cut_by_capture/late_join") })
	} else {
		whole = append(whole, "/v1/chat/completions after ok", "/v1/chat/completions before ok", "cut_by_capture/late_join")
	}
	slices.Sort(lines)
	slices.Sort(whole)
	if diff := cmp.Diff(whole, lines); diff != "" {
		t.Errorf("exchanges (-want +got):\n%s", diff)
	}
}

// joinedFields are the fields of the peers, with their values where those are
// fixed.
var joinedFields = map[string][]string{
	"host": nil, "content-length": nil, "date": nil,
	"user-agent": {"Go-http-client/1.1", "Go-http-client/2.0"}, "accept-encoding": {"gzip"},
	"content-type": {"application/json", "text/event-stream", "text/plain; charset=utf-8"},
	"x-name":       {"before", "held", "after", "new"}, "transfer-encoding": {"chunked"},
}
