package sim

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/lambdac/lambdac/internal/twin"
)

// fast costs next to nothing, so that a benchmark measures the code.
func fast() Config {
	p := twin.DefaultParams()
	p.StepFixed, p.PerSequence, p.PerPrefillToken = 0, 1, 0
	p.MaxRunning, p.TokenBudget, p.PrefixCaching = 1024, 1<<20, false
	return Config{Params: p}
}

// discard is a response that goes nowhere.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Flush()                      {}

const streamTokens = 50

func streamBody() string {
	return fmt.Sprintf(`{"stream":true,"max_tokens":%d,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":%q}]}`, streamTokens, filler(100))
}

// BenchmarkHandler is one request at a time without a network: what the
// simulator itself costs.
func BenchmarkHandler(b *testing.B) {
	s, err := New(fast())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	body := streamBody()
	b.ReportAllocs()
	for b.Loop() {
		r, err := http.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		s.ServeHTTP(&discard{header: http.Header{}}, r)
	}
	report(b, b.N)
}

// BenchmarkLoopback has 32 clients on TCP connections, which share the cores
// with the server.
func BenchmarkLoopback(b *testing.B) {
	s, err := New(fast())
	if err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	hs := &http.Server{Handler: s}
	go hs.Serve(l) //nolint:errcheck // ends with Close
	defer s.Close()
	defer hs.Close()
	request := fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: sim\r\nContent-Length: %d\r\n\r\n%s", len(streamBody()), streamBody())
	var clients sync.WaitGroup
	work := make(chan struct{})
	for range 32 {
		clients.Go(func() { drain(b, l.Addr().String(), request, work) })
	}
	n := 0
	for b.Loop() {
		work <- struct{}{}
		n++
	}
	close(work)
	clients.Wait()
	report(b, n)
}

func report(b *testing.B, n int) {
	seconds := b.Elapsed().Seconds()
	b.ReportMetric(float64(n)/seconds, "streams/s")
	b.ReportMetric(float64(n)*(streamTokens+4)/seconds, "events/s")
}

// drain sends the request once for each piece of work and reads the answer.
func drain(b *testing.B, addr, request string, work <-chan struct{}) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.Error(err)
		return
	}
	defer c.Close()
	r := bufio.NewReader(c)
	for range work {
		if _, err := io.WriteString(c, request); err != nil {
			b.Error(err)
			return
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			b.Error(err)
			return
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			b.Errorf("status %d, %v", resp.StatusCode, err)
		}
	}
}
