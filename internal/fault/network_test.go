package fault

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// pacedStream is 10 events, 10 ms apart.
func pacedStream(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range 10 {
		if i > 0 {
			time.Sleep(10 * ms)
		}
		_, _ = fmt.Fprintf(w, "data: {\"n\":%d}\n\n", i)
		w.(http.Flusher).Flush()
	}
}

// stamps are when the events of an answer came, from the send.
type stamps struct {
	events []time.Duration
	reused bool
	faults []string
}

func stampsOf(t *testing.T, in *Injector, url, id string) (s stamps) {
	t.Helper()
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { s.reused = c.Reused }})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(chatBody(0)))
	if err != nil {
		t.Fatal(err)
	}
	x := &Exchange{ID: id}
	start := time.Now()
	resp, err := in.Do(req, x)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data:") {
			s.events = append(s.events, time.Since(start))
		}
	}
	s.faults = x.Faults()
	return s
}

func newInjector(t *testing.T, service string, seed uint64, flags ...string) *Injector {
	t.Helper()
	base := &http.Transport{}
	in, err := New(t.Context(), Config{Faults: parseAll(t, flags...), Seed: seed, Base: base, Upstream: strings.TrimPrefix(service, "http://")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); base.CloseIdleConnections() })
	return in
}

// TestLatencyOfTheNetwork: over kept connections each request that the share
// falls on, and no other, is 100 ms late, once for the stream and not for each
// event.
func TestLatencyOfTheNetwork(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(pacedStream))
	defer service.Close()
	in := newInjector(t, service.URL, 1, "network.latency,latency=100ms,share=50%")
	var late, other []stamps
	for i := range 24 {
		s := stampsOf(t, in, service.URL, fmt.Sprint("r", i))
		if len(s.faults) > 0 {
			late = append(late, s)
		} else {
			other = append(other, s)
		}
		if len(s.events) != 10 {
			t.Errorf("request %d: %d events", i, len(s.events))
		}
	}
	if len(late) < 4 || len(other) < 4 {
		t.Fatalf("%d late, %d not", len(late), len(other))
	}
	for _, s := range late {
		if s.events[0] < 100*ms {
			t.Errorf("first event at %v, want 100 ms or more", s.events[0])
		}
	}
	fastest := func(all []stamps, of func(stamps) time.Duration) time.Duration {
		return of(slices.MinFunc(all, func(a, b stamps) int { return int(of(a) - of(b)) }))
	}
	first := func(s stamps) time.Duration { return s.events[0] }
	rest := func(s stamps) time.Duration { return s.events[9] - s.events[0] }
	// Of many, the quickest: a machine can be slow, but not for all of them.
	if d := fastest(other, first); d >= 100*ms {
		t.Errorf("the quickest without the fault took %v", d)
	}
	if d := fastest(late, rest); d >= 9*100*ms {
		t.Errorf("the quickest stream took %v after its first event, want about 90 ms: the gaps are the service's", d)
	}
	for name, all := range map[string][]stamps{"late": late, "other": other} {
		reused := 0
		for _, s := range all {
			if s.reused {
				reused++
			}
		}
		if reused != len(all)-1 {
			t.Errorf("%s: %d of %d over a connection used before, want all but the first", name, reused, len(all))
		}
	}
	t.Logf("first event: %v with the fault, %v without; rest of the stream %v and %v", fastest(late, first), fastest(other, first), fastest(late, rest), fastest(other, rest))
}

// TestProxyWithoutToxic: what a proxy in between costs by itself is said, and
// not judged.
func TestProxyWithoutToxic(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "data: x\n\n") }))
	defer service.Close()
	var medians []time.Duration
	for _, flag := range []string{"network.latency,latency=0s", "delay,model=none"} {
		in := newInjector(t, service.URL, 1, flag)
		var first []time.Duration
		for i := range 200 {
			first = append(first, stampsOf(t, in, service.URL, fmt.Sprint(i)).events[0])
		}
		slices.Sort(first)
		medians = append(medians, first[len(first)/2])
	}
	t.Logf("median of 200: %v past an idle proxy, %v without", medians[0], medians[1])
}

// TestTwoToxics: faults of the network that fall on one exchange share its
// connection; others go by their own.
func TestTwoToxics(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", 4000))
	}))
	defer service.Close()
	in := newInjector(t, service.URL, 1, "network.latency,latency=50ms,share=50%", "network.bandwidth,rate=40KB/s,share=50%")
	seen := map[string]time.Duration{}
	for i := range 40 {
		req, _ := http.NewRequest(http.MethodPost, service.URL, nil)
		x := &Exchange{ID: fmt.Sprint(i)}
		start := time.Now()
		resp, err := in.Do(req, x)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || len(body) != 4000 {
			t.Fatalf("%d bytes, %v", len(body), err)
		}
		key := strings.Join(x.Faults(), "+")
		if d := time.Since(start); seen[key] == 0 || d < seen[key] {
			seen[key] = d
		}
	}
	if len(seen) != 4 || seen["latency"] < 50*ms || seen["bandwidth"] < 90*ms || seen["latency+bandwidth"] < 140*ms {
		t.Errorf("the quickest of each set: %v", seen)
	}
	if n := len(in.net.routes); n != 3 {
		t.Errorf("%d proxies for three sets of faults", n)
	}
}

// echo answers each line by itself.
func echo(t *testing.T) (address string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return ln.Addr().String()
}

// say sends a line and returns what comes back.
func say(conn net.Conn, line string) (string, error) {
	if _, err := io.WriteString(conn, line); err != nil {
		return "", err
	}
	_ = conn.SetReadDeadline(time.Now().Add(2 * time.Minute))
	got := make([]byte, len(line))
	n, err := io.ReadFull(conn, got)
	return string(got[:n]), err
}

// TestTunnel: any protocol, a share of the connections.
func TestTunnel(t *testing.T) {
	target := echo(t)
	var arms [2][]bool
	for arm := range arms {
		tunnel, err := NewTunnel(t.Context(), target, parseAll(t, "limit-data,bytes=10B,share=40%"), 3)
		if err != nil {
			t.Fatal(err)
		}
		address := strings.TrimPrefix(serving(t, tunnel), "http://")
		for range 30 {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			got, err := say(conn, "\x00\x01binary\xff, 18 bytes")
			cut := err != nil
			if cut && !strings.HasPrefix("\x00\x01binary\xff, 18 bytes", got) || !cut && len(got) != 19 {
				t.Errorf("%q came back, %v", got, err)
			}
			arms[arm] = append(arms[arm], cut)
			_ = conn.Close()
		}
		hit := 0
		for _, cut := range arms[arm] {
			if cut {
				hit++
			}
		}
		if c := tunnel.Report(); c.Requests != 30 || c.Faults[0].Acted != int64(hit) || hit < 2 || hit > 22 {
			t.Errorf("%d of 30 cut, report %+v", hit, c)
		}
	}
	if !slices.Equal(arms[0], arms[1]) {
		t.Errorf("one seed cut %v and %v", arms[0], arms[1])
	}
}

// TestTunnelKeepsItsConnections: one that was open when a window began passes
// without the fault, and that is said. The peer's half that ends first leaves
// the other open.
func TestTunnelKeepsItsConnections(t *testing.T) {
	tunnel, err := NewTunnel(t.Context(), echo(t), parseAll(t, "network.timeout,from=1ns"), 1)
	if err != nil {
		t.Fatal(err)
	}
	var now atomic.Int64
	tunnel.clock = func() time.Duration { return time.Duration(now.Load()) }
	address := strings.TrimPrefix(serving(t, tunnel), "http://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := say(conn, "before\n"); got != "before\n" || err != nil {
		t.Fatalf("%q, %v", got, err)
	}
	now.Store(1)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(conn); len(rest) != 0 || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
	_ = conn.Close()
	for deadline := time.Now().Add(2 * time.Minute); tunnel.Report().Unreached == 0; time.Sleep(ms) {
		if time.Now().After(deadline) {
			t.Fatal("the connection is not counted")
		}
	}
}

func TestTunnelRefuses(t *testing.T) {
	target := echo(t)
	gone, _ := net.Listen("tcp", "127.0.0.1:0")
	_ = gone.Close()
	for flag, want := range map[string]string{
		"delay":                      "integration.delay needs HTTP",
		"network.latency,path=/x":    "connections have no path",
		"network.latency,sessions=1": "connections have no path",
	} {
		if _, err := NewTunnel(t.Context(), target, parseAll(t, flag), 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", flag, err, want)
		}
	}
	var told *Error
	if _, err := NewTunnel(t.Context(), gone.Addr().String(), parseAll(t, "slow-close"), 1); !errors.As(err, &told) || !strings.Contains(err.Error(), "accepts no connection") {
		t.Errorf("nobody there: %v", err)
	}
	_, err := New(context.Background(), Config{Faults: parseAll(t, "slow-close"), Base: &http.Transport{}, Upstream: gone.Addr().String()})
	if !errors.As(err, &told) || told.Hint == "" {
		t.Errorf("an upstream that is down: %v", err)
	}
}

// TestClientsThatGiveUp: none leaves anything of toxiproxy's behind.
func TestClientsThatGiveUp(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("x", 2000)); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			time.Sleep(ms)
		}
	}))
	defer service.Close()
	in := newInjector(t, service.URL, 1, "network.latency,latency=20ms")
	before := runtime.NumGoroutine()
	for i := range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, service.URL, nil)
		resp, err := in.Do(req, &Exchange{ID: fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadFull(resp.Body, make([]byte, 10000))
		cancel()
		_ = resp.Body.Close()
	}
	in.Close()
	for deadline := time.Now().Add(2 * time.Minute); runtime.NumGoroutine() > before+5; time.Sleep(10 * ms) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before 20 clients gave up", runtime.NumGoroutine(), before)
		}
	}
}

// TestNetworkOverHTTP2: requests of one connection are hit by their share, and
// those beside them are not, with TLS from end to end.
func TestNetworkOverHTTP2(t *testing.T) {
	service := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, r.Proto)
	}))
	service.EnableHTTP2 = true
	service.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that a fault ends
	service.StartTLS()
	defer service.Close()
	base := service.Client().Transport.(*http.Transport)
	for _, flag := range []string{"network.latency,latency=50ms,share=50%", "reset-peer,share=50%"} {
		in, err := New(t.Context(), Config{Faults: parseAll(t, flag), Base: base, Upstream: strings.TrimPrefix(service.URL, "https://")})
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range 30 {
			all.Go(func() {
				req, _ := http.NewRequest(http.MethodPost, service.URL, strings.NewReader("{}"))
				req.GetBody = nil
				x := &Exchange{ID: fmt.Sprint(i)}
				start := time.Now()
				resp, err := in.Do(req, x)
				text := []byte{}
				if err == nil {
					text, err = io.ReadAll(resp.Body)
					_ = resp.Body.Close()
				}
				hit := len(x.Faults()) > 0
				if reset := flag[0] == 'r'; reset && hit != (err != nil) || !reset && (err != nil || hit && time.Since(start) < 50*ms) {
					t.Errorf("%s: request %d: faults %v, error %v, after %v", flag, i, x.Faults(), err, time.Since(start))
				}
				if err == nil && string(text) != "HTTP/2.0" {
					t.Errorf("%s: request %d by %s", flag, i, text)
				}
			})
		}
		all.Wait()
		if c := in.Counts()[0]; c.Acted != c.Chosen || c.Acted < 4 || c.Acted > 26 {
			t.Errorf("%s: %+v", flag, c)
		}
		in.Close()
	}
}
