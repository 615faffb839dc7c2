package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambdac/lambdac/analyzer"
	"github.com/lambdac/lambdac/internal/leaktest"
	"github.com/lambdac/lambdac/internal/sim"
	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/internal/twin"
	"github.com/lambdac/lambdac/recorder"
)

// pipes is a network of net.Pipe, which virtual time can wait on.
type pipes struct {
	accepts chan net.Conn
	closed  chan struct{}
	once    sync.Once
	port    int
	mu      sync.Mutex
}

func newPipes() *pipes { return &pipes{accepts: make(chan net.Conn), closed: make(chan struct{})} }

// pipeConn has addresses, which a pipe lacks and a recorder wants.
type pipeConn struct {
	net.Conn
	local, remote net.Addr
}

func (c *pipeConn) LocalAddr() net.Addr  { return c.local }
func (c *pipeConn) RemoteAddr() net.Addr { return c.remote }

func (p *pipes) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	p.mu.Lock()
	p.port++
	from := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 10000 + p.port%50000}
	p.mu.Unlock()
	client, server := net.Pipe()
	select {
	case p.accepts <- &pipeConn{server, p.Addr(), from}:
		return &pipeConn{client, from, p.Addr()}, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepts:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8000} }

// demoRun is what one demo found, and how long it took on its own clock.
type demoRun struct {
	Took   time.Duration
	Result *demoResult
}

// childDir and childSeed tell TestDemoChild what to do.
const (
	childDir  = "LAMBDAC_DEMO_DIR"
	childSeed = "LAMBDAC_DEMO_SEED"
)

// demoInVirtualTime runs the whole demo, recording included, without waiting.
// It runs in a process of its own: pools of decoders inside the Parquet
// library outlive a bubble of virtual time and may not be used outside.
func demoInVirtualTime(t *testing.T, seed uint64) demoRun {
	t.Helper()
	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDemoChild$")
	child.Env = append(os.Environ(), childDir+"="+dir, childSeed+"="+strconv.FormatUint(seed, 10))
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("demo of seed %d: %v\n%s", seed, err, out)
	}
	hits, err := leaktest.Find(dir, [][]byte{[]byte(demoCredential)})
	if err != nil || len(hits) > 0 {
		t.Errorf("the demo's credential stands in %v (%v)", hits, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r demoRun
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if r.Took > 4*time.Minute {
		t.Errorf("the demo takes %v on its own clock, want under 4 minutes", r.Took)
	}
	return r
}

// TestDemoChild is the child process of the demo tests.
func TestDemoChild(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		return // not a child
	}
	seed, err := strconv.ParseUint(os.Getenv(childSeed), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		network, tap := newPipes(), recorder.NewTap()
		d := &demo{
			out: dir, seed: seed, ui: &ui{w: io.Discard, quiet: true},
			params: twin.DemoParams(seed), target: "http://127.0.0.1:8000", dial: network.Dial,
		}
		server, err := sim.New(sim.Config{Params: d.params, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		httpServer := &http.Server{Handler: server}
		serving := make(chan error, 1)
		go func() { serving <- httpServer.Serve(tap.Listener(network)) }()
		r := demoSteps(t, d, tap)
		_ = httpServer.Close()
		<-serving
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := writeFile(filepath.Join(dir, "result.json"), func(w io.Writer) error { return printJSON(w, r) }); err != nil {
			t.Error(err)
		}
	})
}

func demoSteps(t *testing.T, d *demo, src recorder.Source) demoRun {
	tracePath, runPath := filepath.Join(d.out, "trace"), filepath.Join(d.out, "run")
	begin := time.Now()
	if err := d.record(t.Context(), src, tracePath); err != nil {
		t.Fatal(err)
	}
	truth, err := d.truth(tracePath)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.replay(t.Context(), tracePath, runPath); err != nil {
		t.Fatal(err)
	}
	a, err := analyzeRun(runPath, analyzer.Options{Seed: d.seed, Version: version})
	if err != nil {
		t.Fatal(err)
	}
	return demoRun{time.Since(begin), newDemoResult(a, truth, src.Name(), tracePath, runPath)}
}

// covers runs a demo and reports whether its interval holds the truth.
func covers(t *testing.T, seed uint64) bool {
	t.Helper()
	r := demoInVirtualTime(t, seed).Result
	c := &r.LambdaC
	if c.Low == nil || c.High == nil {
		t.Logf("seed %d: truth %.2f, verdict %s (%s %s)", seed, r.TruePerS, c.Verdict, c.Reason, c.Missing)
		return false
	}
	t.Logf("seed %d: truth %.2f, interval [%.2f, %.2f], family %s", seed, r.TruePerS, *c.Low, *c.High, *c.Family)
	return r.Covered
}

// TestDemoFindsTheTruth runs the demo of two seeds, each with another
// capacity: a 95 % interval misses both with probability 0.0025.
func TestDemoFindsTheTruth(t *testing.T) {
	testenv.Long(t)
	if n := coverage(t, 2); n == 0 {
		t.Error("neither interval covers the true capacity")
	}
}

// coverage runs the demos of seeds 1 to n, two at a time, and returns how many
// intervals cover the truth.
func coverage(t *testing.T, n uint64) (found int) {
	var (
		mu    sync.Mutex
		slots = make(chan struct{}, 2)
	)
	t.Run("seeds", func(t *testing.T) {
		for seed := uint64(1); seed <= n; seed++ {
			t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
				t.Parallel()
				slots <- struct{}{}
				defer func() { <-slots }()
				if covers(t, seed) {
					mu.Lock()
					found++
					mu.Unlock()
				}
			})
		}
	})
	return found
}

// TestCalibrateDemo: over 10 seeds the interval covers the truth at least 9
// times.
func TestCalibrateDemo(t *testing.T) {
	testenv.Calibration(t)
	if n := coverage(t, 10); n < 9 {
		t.Errorf("%d of 10 intervals cover the true capacity, want 9", n)
	}
}
