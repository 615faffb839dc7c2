package sim

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// pipeListener hands out in-memory connections, which virtual time can wait
// on.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// bench is a server and its client inside one bubble of virtual time.
type bench struct {
	server *Server
	client *http.Client
	stop   func()
}

func newBench(t *testing.T, cfg Config) *bench {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l := newPipeListener()
	hs := &http.Server{Handler: s}
	served := make(chan struct{})
	go func() { defer close(served); _ = hs.Serve(l) }()
	transport := &http.Transport{DialContext: l.dial, DisableCompression: true, MaxIdleConnsPerHost: 1000}
	return &bench{server: s, client: &http.Client{Transport: transport}, stop: func() {
		_ = s.Close()
		transport.CloseIdleConnections()
		_ = hs.Close()
		<-served
		time.Sleep(time.Second) // net/http lingers on a connection whose body it did not read
	}}
}

// filler returns n words.
func filler(n int) string { return strings.Repeat(" word", n) }
