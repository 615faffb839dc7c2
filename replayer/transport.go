package replayer

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lambdac/lambdac/internal/fault"
)

// itemURL and an item's number are the address of the request that Vegeta
// builds. It never leaves the process: our transport sends one of its own, so
// that no header of Vegeta (X-Vegeta-Seq) reaches the service. The number
// could travel in a header as well, for three more allocations.
const itemURL = "http://item/"

// idleConnTimeout is below the 5 s after which uvicorn and Node close an idle
// connection: whoever closes first decides whether a request can get lost.
const idleConnTimeout = 4 * time.Second

// dialTimeout bounds one connection attempt.
const dialTimeout = 30 * time.Second

// readBuffer is small on purpose: ten thousand open streams hold one each.
const readBuffer = 4 << 10

// newTransport is HTTP without anything that net/http would do by itself:
// no proxy from the environment, no decompression, no limit of connections
// (which would read as the service's capacity).
func newTransport(cfg *Config, dialled *atomic.Int64) *http.Transport {
	dial := cfg.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	}
	var protocols http.Protocols
	protocols.SetHTTP1(!cfg.HTTP2)
	protocols.SetHTTP2(cfg.HTTP2)
	protocols.SetUnencryptedHTTP2(cfg.HTTP2)
	return &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dialled.Add(1)
			return dial(ctx, network, addr)
		},
		Protocols:           &protocols,
		DisableCompression:  true,
		MaxIdleConns:        0,
		MaxIdleConnsPerHost: cfg.MaxInFlight + 1,
		MaxConnsPerHost:     cfg.MaxConns,
		DisableKeepAlives:   cfg.Connections == ConnFresh,
		IdleConnTimeout:     idleConnTimeout,
		TLSHandshakeTimeout: dialTimeout,
		TLSClientConfig:     &tls.Config{RootCAs: cfg.RootCAs},
		ReadBufferSize:      readBuffer,
		WriteBufferSize:     readBuffer,
	}
}

// sender is the http.RoundTripper under Vegeta: it finds the item that a
// request stands for, runs that item's own exchange to its end and tells
// Vegeta no more than that it is over.
//
// The whole exchange runs inside RoundTrip. A body of our own that Vegeta
// reads (through io.WriterTo) would do as well, but then the record could only
// be closed in Close, on paths that differ by error.
type sender struct {
	base http.RoundTripper
	// fresh is for requests that get a connection of their own; nil = none does.
	fresh  http.RoundTripper
	target *url.URL
	header http.Header
	limits Timeouts
	// keep are the fields of answers that records keep.
	keep []string
	// patient: no answer is given up because the recorded client did.
	patient bool

	// faults are injected on the way; nil = none.
	faults *fault.Injector
	// quality scores the answers to probes; nil = there are none.
	quality *quality
	// features are taken of answers; nil = none.
	features *features

	// By level:
	ctx    context.Context
	start  time.Time // of its window
	info   stampInfo
	finish func(*outcome)

	mu    sync.Mutex
	items map[string]*item
	next  uint64
}

// register keeps an item until its request comes by.
func (s *sender) register(it *item) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.items == nil {
		s.items = make(map[string]*item)
	}
	s.next++
	id := strconv.FormatUint(s.next, 36)
	s.items[id] = it
	return id
}

func (s *sender) claim(id string) *item {
	s.mu.Lock()
	defer s.mu.Unlock()
	it := s.items[id]
	delete(s.items, id)
	return it
}

// RoundTrip sends the item and answers with an empty 204, whatever happened.
func (s *sender) RoundTrip(req *http.Request) (*http.Response, error) {
	if it := s.claim(strings.TrimPrefix(req.URL.Path, "/")); it != nil {
		s.finish(s.exchange(it))
	}
	return &http.Response{
		StatusCode: http.StatusNoContent, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: http.NoBody, Request: req,
	}, nil
}

// trimBase cuts the part of a base URL's path that the API paths repeat.
func trimBase(path string) string {
	return strings.TrimSuffix(strings.TrimRight(path, "/"), "/v1")
}

// targetHeader are the fields sent with each request. Idempotency-Key is left
// out: with it net/http would send a request again by itself, and gateways
// would answer a copy from memory.
func targetHeader(extra http.Header) http.Header {
	h := extra.Clone()
	if h == nil {
		h = make(http.Header)
	}
	h.Del("Idempotency-Key")
	h.Del("X-Idempotency-Key")
	h.Set("Content-Type", "application/json")
	if h.Get("User-Agent") == "" {
		h.Set("User-Agent", "lambdac")
	}
	return h
}

// askedHTTP is the version of HTTP that requests ask for.
func askedHTTP(two bool) string {
	if two {
		return "2"
	}
	return "1.1"
}
