package fault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/trace"
)

// ProxyConfig is what a proxy stands in front of, and what it does.
type ProxyConfig struct {
	// Target is the service: http or https; what is beside scheme, host and
	// path is ignored.
	Target *url.URL
	Faults []Spec
	Seed   uint64
	Rules  []Rule
	// IDHeader is the header field that tells exchanges apart; "" = X-Request-Id.
	// An exchange without it is told by its content: by method, path and body,
	// and how often that came before.
	IDHeader string
}

// Proxy passes HTTP exchanges on to a service, with faults. What no fault falls
// on passes as it came, but for what HTTP changes at each hop. Safe for
// concurrent use.
type Proxy struct {
	cfg      ProxyConfig
	injector *Injector
	base     *http.Transport
	reverse  *httputil.ReverseProxy
	started  time.Time
	models   bool // some fault looks at the model

	requests, failed atomic.Int64

	mu   sync.Mutex
	seen map[uint64]uint32 // how often each content came
}

// maxSeen bounds the contents that are told apart by how often they came; then
// counting starts anew.
const maxSeen = 1 << 20

// NewProxy makes a proxy; its windows begin now. A target that does not accept
// a connection is an [*Error].
func NewProxy(ctx context.Context, cfg ProxyConfig) (*Proxy, error) {
	if cfg.IDHeader == "" {
		cfg.IDHeader = "X-Request-Id"
	}
	upstream := HostPort(cfg.Target)
	if err := reach(ctx, upstream); err != nil {
		return nil, err
	}
	p := &Proxy{cfg: cfg, seen: make(map[uint64]uint32), started: time.Now(), base: &http.Transport{
		DialContext:        (&net.Dialer{Timeout: dialTimeout}).DialContext,
		DisableCompression: true, ForceAttemptHTTP2: false,
		MaxIdleConnsPerHost: 1 << 12, IdleConnTimeout: 4 * time.Second, TLSHandshakeTimeout: dialTimeout,
	}}
	var err error
	p.injector, err = New(ctx, Config{Faults: cfg.Faults, Seed: cfg.Seed, Base: p.base, Upstream: upstream, Rules: cfg.Rules})
	if err != nil {
		return nil, err
	}
	p.models = slices.ContainsFunc(cfg.Faults, func(s Spec) bool { return s.Target.Model != "" })
	p.reverse = &httputil.ReverseProxy{
		Rewrite: p.rewrite, Transport: p, FlushInterval: -1, ErrorHandler: p.fail,
		ErrorLog: log.New(io.Discard, "", 0), BufferPool: &buffers{},
	}
	return p, nil
}

// HostPort is the address of a URL, with the port of its scheme where it has
// none.
func HostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		if port = "80"; u.Scheme == "https" {
			port = "443"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// reach looks whether somebody listens at an address.
func reach(ctx context.Context, address string) *Error {
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", address)
	if err != nil {
		return &Error{Message: fmt.Sprintf("the service at %s accepts no connection: %v", address, cause(err)), Hint: "start it, or check --target"}
	}
	_ = conn.Close()
	return nil
}

// buffers are those through which answers are copied.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if buf, ok := b.pool.Get().(*[]byte); ok {
		return *buf
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(buf []byte) { b.pool.Put(&buf) }

func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(p.cfg.Target)
	r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"] // as it came: a proxy that nobody sees
}

// connKey is the key of a request's connection.
type connKey struct{}

// exchangeKey is the key of a request's Exchange.
type exchangeKey struct{}

// ServeHTTP passes one exchange on.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.requests.Add(1)
	x := &Exchange{At: time.Since(p.started), Path: r.URL.Path}
	if err := p.identify(x, r); err != nil {
		http.Error(w, "the request ended early", http.StatusBadRequest)
		return
	}
	if conn, ok := r.Context().Value(connKey{}).(net.Conn); ok {
		x.Reset = func() { lingerNot(conn) }
	}
	p.reverse.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
}

// identify reads what tells an exchange from others.
func (p *Proxy) identify(x *Exchange, r *http.Request) error {
	var body []byte
	if r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0 {
		var err error
		if body, err = io.ReadAll(io.LimitReader(r.Body, maxBody+1)); err != nil {
			return fmt.Errorf("read request: %w", err)
		}
		// A body of our own where it is all here: the server closes its own when
		// the answer begins, and a transport that just then looks whether there is
		// more of it breaks the connection off.
		if len(body) <= maxBody {
			r.Body = io.NopCloser(bytes.NewReader(body))
		} else {
			r.Body = reading{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
		}
	}
	x.Kind = llmwire.Recognize(r.Method, x.Path, body)
	if p.models {
		var rec trace.Record
		var said trace.Said
		_ = llmwire.ParseRequest(x.Kind, x.Path, body, &rec, &said) // a body that cannot be read names no model
		x.Model = said.RequestModel
	}
	if x.ID = r.Header.Get(p.cfg.IDHeader); x.ID != "" {
		return nil
	}
	content := hash(hash(0, 0, r.Method, r.URL.RequestURI()), 0, string(body), "")
	x.ID = strconv.FormatUint(content, 16) + "#" + strconv.FormatUint(uint64(p.count(content)), 10)
	return nil
}

// count returns how often a content came, this time included.
func (p *Proxy) count(content uint64) uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.seen) >= maxSeen {
		clear(p.seen)
	}
	p.seen[content]++
	return p.seen[content]
}

// RoundTrip sends the request that ReverseProxy made of an incoming one.
func (p *Proxy) RoundTrip(req *http.Request) (*http.Response, error) {
	x, ok := req.Context().Value(exchangeKey{}).(*Exchange)
	if !ok {
		return nil, errors.New("round trip without an exchange")
	}
	return p.injector.Do(req, x)
}

// fail answers an exchange that got no answer. One that a fault fell on ends
// as it would without a proxy: its connection is reset.
func (p *Proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	x, _ := r.Context().Value(exchangeKey{}).(*Exchange)
	if x != nil && len(x.Faults()) > 0 {
		if x.Reset != nil {
			x.Reset()
		}
		panic(http.ErrAbortHandler)
	}
	if r.Context().Err() == nil {
		p.failed.Add(1)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = fmt.Fprintf(w, "lambdac fault-proxy: the service gave no answer: %v\n", cause(err))
}

// lingerNot makes the end of a connection a reset.
func lingerNot(conn net.Conn) {
	if tcp, ok := conn.(interface{ SetLinger(sec int) error }); ok {
		_ = tcp.SetLinger(0) // at worst its end is not a reset
	}
}

// Serve passes exchanges on until ctx ends, and then ends what is open.
func (p *Proxy) Serve(ctx context.Context, ln net.Listener) error {
	server := &http.Server{
		Handler: p, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(ln) }()
	defer p.base.CloseIdleConnections()
	defer p.injector.Close()
	select {
	case err := <-done:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	err := server.Close()
	<-done
	if err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	return nil
}

// Report is what a proxy did.
type Report struct {
	// Requests came in (connections, below HTTP); Failed are those that the
	// service itself gave no answer to.
	Requests int64 `json:"requests"`
	Failed   int64 `json:"failed"`
	// Unreached are connections that were open before the window of a fault
	// below HTTP began, and which it therefore cannot fall on.
	Unreached int64    `json:"unreached"`
	Faults    []Counts `json:"faults"`
}

// Report says what the proxy did so far.
func (p *Proxy) Report() Report {
	return Report{Requests: p.requests.Load(), Failed: p.failed.Load(), Faults: p.injector.Counts()}
}
