package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// The faults of the network are toxiproxy's, by its names.

var netLatency = kind{
	layer: Network, name: "latency",
	about: "each piece of the answer comes later by as much",
	params: []param{
		{name: "latency", unit: unitDuration, def: "500ms", about: "in whole milliseconds"},
		{name: "jitter", unit: unitDuration, def: "0s", about: "up to so much more or less; drawn by toxiproxy, without a seed"},
	},
}

var netBandwidth = kind{
	layer: Network, name: "bandwidth",
	about: "the answer passes at a limited rate, each connection by itself",
	params: []param{
		{name: "rate", unit: unitRate, low: 1000, about: "in whole KB/s, such as 64KB/s"},
	},
}

var netSlowClose = kind{
	layer: Network, name: "slow-close",
	about: "the end of the connection comes later",
	params: []param{
		{name: "delay", unit: unitDuration, def: "1s", about: "in whole milliseconds"},
	},
}

var netTimeout = kind{
	layer: Network, name: "timeout",
	about: "no byte of the answer passes; after so long without one the connection closes",
	params: []param{
		{name: "timeout", unit: unitDuration, def: "0s", about: "in whole milliseconds; 0s = it stays open"},
	},
}

var netResetPeer = kind{
	layer: Network, name: "reset-peer",
	about: "the connection is reset at the first bytes that come from the service",
	params: []param{
		{name: "timeout", unit: unitDuration, def: "0s", about: "how long after them, in whole milliseconds"},
	},
}

var netLimitData = kind{
	layer: Network, name: "limit-data",
	about: "the connection closes after so many bytes of the answer, head included",
	params: []param{
		{name: "bytes", unit: unitBytes, low: 1, about: "such as 500B"},
	},
}

// network is the connections of exchanges with faults of the network: for each
// set of faults that occurs a proxy of its own with their toxics, which are set
// before it accepts a connection and never changed. Toxics that are changed
// under traffic miss connections, or hang (Shopify/toxiproxy#148, #412); and a
// share of a toxic is of connections, not of requests.
type network struct {
	base     *http.Transport
	upstream string
	server   *toxiproxy.ApiServer

	mu     sync.Mutex
	routes map[uint64]*route
	closed bool
}

// route is one set of faults.
type route struct {
	proxy     *toxiproxy.Proxy
	dial      func(ctx context.Context) (net.Conn, error)
	transport *http.Transport
}

// dialTimeout bounds the look at an upstream.
const dialTimeout = 10 * time.Second

// newNetwork looks whether the upstream is there: a proxy in front of one that
// is not would only drop connections.
func newNetwork(ctx context.Context, base *http.Transport, upstream string) (*network, error) {
	if err := reach(ctx, upstream); err != nil {
		return nil, err
	}
	return &network{
		base: base, upstream: upstream, routes: make(map[uint64]*route),
		server: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()),
	}, nil
}

// cause is an error of a connection without the addresses around it.
func cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// route returns the way of a set of faults.
func (n *network) route(set uint64, calls []*call) (*route, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, net.ErrClosed
	}
	if r := n.routes[set]; r != nil {
		return r, nil
	}
	proxy := toxiproxy.NewProxy(n.server, fmt.Sprintf("%x", set), "127.0.0.1:0", n.upstream)
	for _, c := range calls {
		f := c.fault
		if _, err := proxy.Toxics.AddToxicJson(strings.NewReader(f.toxic())); err != nil {
			return nil, f.fail("", "toxiproxy refuses it: "+err.Error(), "see lambdac fault-proxy --help")
		}
	}
	if err := proxy.Start(); err != nil {
		return nil, fmt.Errorf("start proxy for faults of the network: %w", err)
	}
	r := &route{proxy: proxy, transport: n.base.Clone()}
	dial := n.base.DialContext
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	r.dial = func(ctx context.Context) (net.Conn, error) { return gentle(dial(ctx, "tcp", proxy.Listen)) }
	r.transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return r.dial(ctx) }
	for _, c := range calls {
		// A connection that the fault ends carries one exchange, so that it is
		// this one that is hit. Under a timeout none is used twice anyway, and a
		// service that is asked to close would end it before its time.
		switch c.fault.Type {
		case netSlowClose.name, netResetPeer.name, netLimitData.name:
			r.transport.DisableKeepAlives = true
		}
	}
	n.routes[set] = r
	return r, nil
}

func (n *network) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for _, r := range n.routes {
		r.transport.CloseIdleConnections()
		r.proxy.Stop()
	}
}

// toxic is the fault as toxiproxy reads it.
func (s *Spec) toxic() string {
	ms := func(name string) int64 { return s.duration(name).Milliseconds() }
	attributes := map[string]int64{}
	switch s.Type {
	case netLatency.name:
		attributes["latency"], attributes["jitter"] = ms("latency"), ms("jitter")
	case netBandwidth.name:
		attributes["rate"] = int64(math.Round(s.number("rate") / 1000))
	case netSlowClose.name:
		attributes["delay"] = ms("delay")
	case netTimeout.name, netResetPeer.name:
		attributes["timeout"] = ms("timeout")
	case netLimitData.name:
		attributes["bytes"] = int64(s.number("bytes"))
	}
	text, _ := json.Marshal(map[string]any{ // of strings and numbers: it cannot fail
		"name": s.Name, "type": strings.ReplaceAll(s.Type, "-", "_"), "stream": "downstream", "attributes": attributes,
	})
	return string(text)
}

// route is the way of an exchange with the faults of a set, and the calls of
// those.
func (in *Injector) route(ctx context.Context, x *Exchange, set uint64) (*route, []*call, error) {
	var calls []*call
	for i := range in.faults {
		if set&(1<<i) != 0 {
			calls = append(calls, &call{ctx: ctx, x: x, fault: &in.faults[i], in: in})
		}
	}
	r, err := in.net.route(set, calls)
	return r, calls, err
}

// overNetwork sends a request over connections with the faults of a set.
func (in *Injector) overNetwork(req *http.Request, x *Exchange, set uint64) (*http.Response, error) {
	r, calls, err := in.route(req.Context(), x, set)
	if err != nil {
		return nil, err
	}
	struck := func(ended bool) {
		for _, c := range calls {
			if ended || c.fault.Type != netLimitData.name {
				c.acted()
			}
		}
	}
	struck(false)
	resp, err := r.transport.RoundTrip(req)
	if err != nil {
		struck(true)
		return nil, err
	}
	resp.Body = reading{watched{resp.Body, func() { struck(true) }}, resp.Body}
	return resp, nil
}

// watched is a body that tells when it breaks off.
type watched struct {
	io.Reader
	broke func()
}

func (w watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil && err != io.EOF {
		w.broke()
	}
	return n, err
}
