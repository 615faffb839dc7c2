package telemetry

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// reasonBusy is the reason of a tick at which a source was still being read.
const reasonBusy = "the reading before it has not ended"

// worker reads one source in a goroutine of its own, at each tick that finds it
// idle.
type worker struct {
	row
	sampler sampler
	session *Session

	// wake has room for one: a tick is only given to an idle worker.
	wake chan struct{}
	busy atomic.Bool
	done chan struct{}

	mu    sync.Mutex // guards what follows
	known map[seriesKey]bool
	state Source
}

func newWorker(s *Session, r row, opened sampler) *worker {
	return &worker{
		row: r, sampler: opened, session: s, wake: make(chan struct{}, 1), done: make(chan struct{}), known: make(map[seriesKey]bool),
		state: Source{Name: r.name, Source: r.source, Reasons: make(map[string]int64)},
	}
}

// tick has the source read, or records that it could not be.
func (w *worker) tick(at int64) {
	if !w.busy.CompareAndSwap(false, true) {
		w.hole(at, reasonBusy)
		return
	}
	w.wake <- struct{}{}
}

// run reads at each tick until wake is closed.
func (w *worker) run(ctx context.Context) {
	defer close(w.done)
	for range w.wake {
		w.read(ctx)
		w.busy.Store(false)
	}
	_ = w.sampler.close() // it was only read from
}

func (w *worker) read(ctx context.Context) {
	b := &batch{at: w.session.clock.now(), source: w.source}
	err := w.sample(ctx, b)
	took := time.Duration(w.session.clock.now() - b.at)
	if ctx.Err() != nil && err != nil {
		return // cut by the end of the run: no word about the source
	}
	w.finish(b, err, took)
}

// sample turns a panic of a parser or a library into an error: one source never
// ends a run.
func (w *worker) sample(ctx context.Context, b *batch) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the sampler panicked (%T)", p)
		}
	}()
	return w.sampler.sample(ctx, b)
}

// finish hands on what a reading gave, and a hole for each series that it did
// not give because of err.
func (w *worker) finish(b *batch, err error, took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Readings++
	w.state.Slowest = max(w.state.Slowest, took)
	given := make(map[seriesKey]bool, len(b.rows))
	for i := range b.rows {
		given[keyOf(&b.rows[i])] = true
	}
	if err != nil {
		w.holes(b.at, err.Error(), given)
	} else {
		b.source = w.source
		b.add(trace.MetricScrapeTime, w.name, took.Seconds())
		given[keyOf(&b.rows[len(b.rows)-1])] = true
		w.known = given
	}
	w.session.write(b.rows)
	w.session.write(b.events)
	w.state.Samples += int64(len(b.rows) + len(b.events))
}

// hole records a tick without a reading.
func (w *worker) hole(at int64, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holes(at, reason, nil)
}

// holes writes a sample without a value for each known series that is not in
// given; of a source that has given nothing yet, for the metrics it is for.
func (w *worker) holes(at int64, reason string, given map[seriesKey]bool) {
	w.state.Holes++
	w.state.Reasons[reason]++
	var rows []trace.Sample
	for k := range w.known {
		if !given[k] {
			rows = append(rows, k.hole(at, &reason))
		}
	}
	if len(w.known) == 0 {
		rows = absent(w.row, at, reason)
	}
	w.session.write(rows)
}

// absent says of each metric of a source why it is not there.
func absent(r row, at int64, reason string) []trace.Sample {
	var rows []trace.Sample
	for _, metric := range append([]string{trace.MetricScrapeTime}, r.metrics...) {
		k := seriesKey{source: r.source, metric: metric}
		if metric == trace.MetricScrapeTime {
			k.instance = r.name
		}
		rows = append(rows, k.hole(at, &reason))
	}
	return rows
}

// summary is the state of the source so far.
func (w *worker) summary() Source {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.state
	out.Reasons = make(map[string]int64, len(w.state.Reasons))
	maps.Copy(out.Reasons, w.state.Reasons)
	return out
}
