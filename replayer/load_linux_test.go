package replayer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// resident is the memory of this process that is in RAM, bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kb := int64(0)
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

// TestOpenStreams: 10,000 streams open at once, each with its first token read,
// take less than 1 GiB of the client; the kill switch closes all of them, and
// each has its record.
func TestOpenStreams(t *testing.T) {
	testenv.Long(t) // the race detector's own memory is eight times as much
	const n, perS = 10_000, 4000
	if files, ok := maxOpenFiles(); ok && files < n+1000 {
		testenv.Missing(t, "leave for 11,000 open files", "ulimit -n 11000")
	}
	target, _ := startStub(t, "held")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cfg := Config{Target: target, Loads: []Load{{PerS: perS}}, Hold: n * time.Second / perS, Drain: time.Hour, MaxInFlight: n, Seed: 1}
	out, done := &memory{}, make(chan error, 1)
	go func() {
		_, err := Run(ctx, cfg, chatTrace(n, time.Second/perS), out)
		done <- err
	}()
	open := 0
	for deadline := time.Now().Add(2 * time.Minute); open < n; time.Sleep(50 * ms) {
		if askStub(t, target+"/open", &open); time.Now().After(deadline) {
			t.Fatalf("%d streams open after two minutes, want %d", open, n)
		}
	}
	rss := resident(t)
	t.Logf("%d streams open: %d MiB resident, %d goroutines", open, rss>>20, runtime.NumGoroutine())
	if rss > 1<<30 {
		t.Errorf("%d MiB of memory", rss>>20)
	}
	cancel()
	if err := <-done; !errors.Is(err, ErrStopped) {
		t.Errorf("error %v", err)
	}
	if killed := out.count(trace.OutcomeClientAbort, trace.DetailKill); killed != n || len(out.records) != n {
		t.Errorf("%d records, %d of them killed", len(out.records), killed)
	}
	for deadline := time.Now().Add(2 * time.Minute); open > 0; time.Sleep(50 * ms) {
		if askStub(t, target+"/open", &open); time.Now().After(deadline) {
			t.Fatalf("the service still has %d streams open", open)
		}
	}
}

// TestSoak is the short form of TestCalibrateSoak.
func TestSoak(t *testing.T) {
	testenv.Long(t)
	soak(t, 100, 12*time.Second)
}

// TestCalibrateSoak replays for ten minutes.
func TestCalibrateSoak(t *testing.T) {
	testenv.Calibration(t)
	soak(t, 200, 10*time.Minute)
}

// soakFacts is what a level keeps of each request for its verdict, bytes,
// generously: its lag and its TTFT, in slices that grow by doubling.
const soakFacts = 64

// soak replays into a trace directory, live as the program does it, and looks
// at what is reachable and at what is in RAM while the level runs: after the
// first third neither grows. Afterwards no goroutine is left, and the rows of
// all requests are there.
func soak(t *testing.T, perS float64, hold time.Duration) {
	target, _ := startStub(t, "fast")
	base, dir := runtime.NumGoroutine(), t.TempDir()+"/run"
	tr := chatTrace(1000, time.Duration(1e9/perS))
	out, err := tracedir.Create(dir, tr.Manifest, tracedir.Options{Live: true})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	var res *Result
	go func() {
		cfg := Config{Target: target, Loads: []Load{{PerS: perS}}, Hold: hold, Seed: 1}
		var err error
		res, err = Run(t.Context(), cfg, tr, out)
		done <- err
	}()
	watch := soakWatch{t: t, pause: hold / 60}
	if err := watch.until(done); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	watch.judge(soakFacts * res.Scheduled)
	if n := rows(t, dir); n != res.Scheduled {
		t.Errorf("%d rows of %d requests", n, res.Scheduled)
	}
	left := runtime.NumGoroutine()
	for deadline := time.Now().Add(2 * time.Minute); left > base && time.Now().Before(deadline); left = runtime.NumGoroutine() {
		time.Sleep(10 * ms)
	}
	if left > base {
		t.Errorf("%d goroutines, %d before", left, base)
	}
}

// rows counts the records of a trace directory.
func rows(t *testing.T, dir string) (n int64) {
	t.Helper()
	d, err := tracedir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range tracedir.Rows[trace.Record](d) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// soakWatch samples this process.
type soakWatch struct {
	t                   *testing.T
	pause               time.Duration
	heap, rss, routines []int64
}

func (w *soakWatch) until(done <-chan error) error {
	tick := time.NewTicker(w.pause)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		w.heap = append(w.heap, int64(m.HeapAlloc))
		w.rss = append(w.rss, resident(w.t))
		w.routines = append(w.routines, int64(runtime.NumGoroutine()))
	}
}

// judge compares the middle third of the samples with the last.
func (w *soakWatch) judge(facts int64) {
	n := len(w.heap)
	middle := func(v []int64) int64 { return quantile(slices.Clone(v[n/3:2*n/3]), 0.5) }
	last := func(v []int64) int64 { return quantile(slices.Clone(v[2*n/3:]), 0.5) }
	w.t.Logf("%d samples, middle and last third: reachable %d, %d KiB; resident %d, %d KiB; goroutines %d, %d", n,
		middle(w.heap)>>10, last(w.heap)>>10, middle(w.rss)>>10, last(w.rss)>>10, middle(w.routines), last(w.routines))
	room := int64(8 << 20) // that buffers of the files may still come to take
	if testenv.Calibrating() {
		room = middle(w.heap) / 10
		if was, is := middle(w.rss), last(w.rss); is > was*11/10+facts {
			w.t.Errorf("resident memory grew from %d to %d KiB", was>>10, is>>10)
		}
	}
	if was, is := middle(w.heap), last(w.heap); is > was+room+facts {
		w.t.Errorf("reachable memory grew from %d to %d KiB", was>>10, is>>10)
	}
}
