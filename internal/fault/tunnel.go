package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Tunnel passes connections on to a service of any protocol, gRPC among them,
// with faults of the network alone. The share is one of connections. Safe for
// concurrent use.
type Tunnel struct {
	target   string
	injector *Injector
	clock    func() time.Duration // since the start

	conns, failed atomic.Int64

	mu   sync.Mutex
	open map[net.Conn]time.Duration // since the start, by the client's side
	late int64
	done sync.WaitGroup
}

// NewTunnel makes a tunnel to host:port; its windows begin now. Faults of other
// layers, targets that only HTTP has, and a service that accepts no connection
// are an [*Error].
func NewTunnel(ctx context.Context, target string, faults []Spec, seed uint64) (*Tunnel, error) {
	for i := range faults {
		f := &faults[i]
		if f.Layer != Network {
			return nil, f.fail("layer", fmt.Sprintf("%s needs HTTP, and tcp:// targets are only passed on", f.label()), "use a fault of layer network, or an http:// target")
		}
		if f.Target != (Target{}) {
			return nil, f.fail("target", "connections have no path, kind, model or session", "leave it out, or use an http:// target")
		}
	}
	if err := reach(ctx, target); err != nil {
		return nil, err
	}
	in, err := New(ctx, Config{Faults: faults, Seed: seed, Base: &http.Transport{}, Upstream: target})
	if err != nil {
		return nil, err
	}
	started := time.Now()
	clock := func() time.Duration { return time.Since(started) }
	return &Tunnel{target: target, injector: in, clock: clock, open: make(map[net.Conn]time.Duration)}, nil
}

// Serve passes connections on until ctx ends, and then ends what is open.
func (t *Tunnel) Serve(ctx context.Context, ln net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stop()
	defer t.close()
	for {
		conn, err := ln.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("accept connection: %w", err)
		}
		n := t.conns.Add(1)
		x := &Exchange{ID: strconv.FormatInt(n, 10), At: t.clock()}
		t.mu.Lock()
		t.open[conn] = x.At
		t.mu.Unlock()
		t.done.Go(func() {
			t.pass(ctx, conn, x)
			t.ended(conn)
		})
	}
}

// ended counts a connection that was open when a window began.
func (t *Tunnel) ended(conn net.Conn) {
	_ = conn.Close()
	now := t.clock()
	t.mu.Lock()
	defer t.mu.Unlock()
	since, ok := t.open[conn]
	if !ok {
		return
	}
	delete(t.open, conn)
	for i := range t.injector.faults {
		if w := t.injector.faults[i].Window; since < w.From && now >= w.From {
			t.late++
			break
		}
	}
}

// pass copies both directions until both have ended.
func (t *Tunnel) pass(ctx context.Context, client net.Conn, x *Exchange) {
	dial := func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", t.target)
	}
	if set := t.injector.choose(x); set != 0 {
		r, calls, err := t.injector.route(ctx, x, set)
		if err != nil {
			t.failed.Add(1)
			return
		}
		for _, c := range calls {
			c.acted()
		}
		dial = r.dial
	}
	service, err := dial(ctx)
	if err != nil {
		t.failed.Add(1)
		lingerNot(client)
		return
	}
	defer service.Close()
	stop := context.AfterFunc(ctx, func() {
		_ = client.Close()
		_ = service.Close()
	})
	defer stop()
	var up sync.WaitGroup
	up.Go(func() { oneWay(service, client) })
	oneWay(client, service)
	up.Wait()
}

// oneWay copies to the end, and passes the end on: a reset as a reset.
func oneWay(dst, src net.Conn) {
	_, err := io.Copy(dst, src)
	if half, ok := dst.(interface{ CloseWrite() error }); ok && err == nil {
		_ = half.CloseWrite() // the other direction may go on
		return
	}
	var broken *net.OpError
	if errors.As(err, &broken) {
		lingerNot(dst)
	}
	_ = dst.Close()
	_ = src.Close()
}

func (t *Tunnel) close() {
	t.mu.Lock()
	for conn := range t.open {
		_ = conn.Close()
	}
	t.mu.Unlock()
	t.done.Wait()
	t.injector.Close()
}

// Report says what the tunnel did so far.
func (t *Tunnel) Report() Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Report{Requests: t.conns.Load(), Failed: t.failed.Load(), Unreached: t.late, Faults: t.injector.Counts()}
}
