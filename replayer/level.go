package replayer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/lambdac/lambdac/trace"
)

// lead is the time between the end of the preparations and a level's start.
const lead = 10 * time.Millisecond

// level is one level under way.
type level struct {
	run *run
	trace.Level
	facts    facts
	arrivals []arrival
	waits    []wait // of each arrival; nil = none waits
	leads    map[turn]bool
	key      uint64
	first    bool

	ctx    context.Context // ends the level: kill, safety stop, end of drain
	cancel context.CancelCauseFunc
	pacer  *pacer
	sink   *collector
	fuse   *fuse
	clock  clockWatch

	overBudget atomic.Bool
	handled    atomic.Int64 // with an outcome
	errors     atomic.Int64
	sheds      atomic.Int64

	mu         sync.Mutex // guards what timers write, and recent
	recent     recent
	cpu0, cpu1 *time.Duration
	openAtEnd  int32
}

// recent is what ended since the last report.
type recent struct {
	ttfts            []int64
	failed, answered int64
}

// stopError is a safety stop.
type stopError struct{ why string }

func (e *stopError) Error() string { return e.why }

// level runs one level to the end of its drain and appends it to the result.
func (r *run) level(ctx context.Context, l trace.Level) error {
	p := r.plan(l.OfferedPerS, l.Replicate)
	lv := &level{run: r, Level: l, key: p.key(), first: l.Order == 0}
	drift := 0.0
	if l.Concurrency == nil {
		var err error
		if lv.arrivals, drift, err = r.timeline.schedule(r.cfg.Scaling, p); err != nil {
			return err
		}
		lv.arrivals = r.cfg.Shard.keep(lv.arrivals, r.timeline.unit)
		lv.link(p)
	}
	lv.facts = facts{
		level: &lv.Level, hold: r.cfg.Hold, drift: drift, cores: runtime.GOMAXPROCS(0),
		shared: r.cfg.SharedProcess, maxConns: r.cfg.MaxConns, policy: r.cfg.CapPolicy, maxLag: r.cfg.MaxLag, refused: make(map[int32]int64),
	}
	lv.ctx, lv.cancel = context.WithCancelCause(ctx)
	defer lv.cancel(nil)
	err := lv.hold()
	if lv.pacer == nil {
		return err // it never began
	}
	r.result.Levels = append(r.result.Levels, lv.Level)
	lv.report(true)
	return err
}

// hold prepares, sends, drains and judges.
func (lv *level) hold() error {
	ready := make(chan *item, lookAhead(lv.run.recs, lv.ahead()))
	primed := make(chan struct{})
	fed := make(chan error, 1)
	go func() { fed <- lv.feed(ready, primed) }()
	<-primed
	dialled, faults := lv.run.dialled.Load(), lv.run.faultCounts()
	if err := lv.begin(ready); err != nil {
		lv.cancel(err)
		<-fed
		return err
	}
	reports := lv.startReports()
	lv.attack()
	lv.DrainedUnixNs = time.Now().UnixNano()
	lv.leftOver()
	cause := context.Cause(lv.ctx)
	lv.cancel(nil)
	feedErr := <-fed
	lv.sink.close()
	reports()
	lv.ConnsOpened = lv.run.dialled.Load() - dialled
	lv.mark(faults)
	counted := lv.run.features.flush(lv.run.out.WriteFeatures)
	return cmp.Or(lv.conclude(cause, feedErr), counted)
}

// begin sets the level's start and everything that runs from it.
func (lv *level) begin(ready <-chan *item) error {
	r := lv.run
	begins, err := r.cfg.Shard.begins(lv.ctx, r.cfg, int(lv.Index))
	if err != nil {
		return err
	}
	start := begins.Add(r.cfg.Warmup)
	end := start.Add(r.cfg.Hold)
	lv.StartUnixNs, lv.EndUnixNs = start.UnixNano(), end.UnixNano()
	lv.BeginUnixNs = lv.StartUnixNs
	if lv.Concurrency != nil {
		lv.BeginUnixNs = start.Add(-r.cfg.Warmup).UnixNano()
	} else if len(lv.arrivals) > 0 {
		lv.BeginUnixNs = start.Add(lv.arrivals[0].at).UnixNano()
	}
	lv.fuse = newFuse(r.cfg.Breaker, lv.first, start.Add(-r.cfg.Warmup), r.streak)
	lv.clock = watchClock(r.cfg.wallClock)
	lv.sink = newCollector(r.out.Write, lv.see, func(err error) {
		lv.cancel(fmt.Errorf("%w: %w", ErrOutput, err))
	})
	lv.pacer = newPacer(lv.ctx, ready, r.cfg.MaxInFlight, r.cfg.CapPolicy, lv.unsent)
	lv.pacer.start, lv.pacer.end = start, end
	lv.pacer.catchUp = r.cfg.CatchUp
	if lv.OfferedPerS > 0 {
		lv.pacer.catchUpGap = time.Duration(float64(time.Second) / (2 * lv.OfferedPerS))
	}
	if lv.Concurrency != nil {
		lv.pacer.hold(*lv.Concurrency, start.Add(-r.cfg.Warmup))
	}
	s := r.sender
	s.ctx, s.start, s.finish = lv.ctx, start, lv.finish
	s.info = stampInfo{
		level: lv.Index, port: int32(portOf(r.target)), tls: r.target.Scheme == "https",
		http: askedHTTP(r.cfg.HTTP2), seal: *r.trace.Manifest.Seal, version: r.cfg.Version,
		headers: map[string]string{"content-type": "application/json"},
	}
	return nil
}

// attack lets Vegeta send until the schedule is done and all answers have
// ended or were cut, but not before the window is over.
func (lv *level) attack() {
	r := lv.run
	limit := uint64(r.cfg.MaxInFlight)
	attacker := vegeta.NewAttacker(
		vegeta.Client(r.client), vegeta.MaxBody(0),
		vegeta.Workers(min(limit, 64)), vegeta.MaxWorkers(limit+1),
	)
	over, stop := lv.startTimers()
	defer stop()
	target := func(t *vegeta.Target) error { return lv.pacer.target(t, r.sender.register) }
	for range attacker.Attack(target, lv.pacer, 0, "") {
		lv.pacer.done()
	}
	select {
	case <-over:
	case <-lv.ctx.Done():
	}
}

// startTimers reads the client's health at the window's borders and ends the
// drain. over is closed when the window is over; stop stops the timers.
func (lv *level) startTimers() (over <-chan struct{}, stop func()) {
	closed := make(chan struct{})
	start := time.Until(lv.pacer.start)
	end := start + lv.run.cfg.Hold
	read := func() *time.Duration {
		if d, ok := lv.run.cfg.cpuTime(); ok {
			return &d
		}
		return nil
	}
	timers := []*time.Timer{
		time.AfterFunc(start, func() { lv.locked(func() { lv.cpu0 = read() }) }),
		time.AfterFunc(end, func() {
			defer close(closed)
			lv.locked(func() { lv.cpu1, lv.openAtEnd = read(), lv.pacer.open.Load() })
		}),
		time.AfterFunc(end+lv.run.cfg.Drain, func() { lv.cancel(errDrain) }),
	}
	return closed, func() {
		for _, t := range timers {
			t.Stop()
		}
	}
}

func (lv *level) locked(f func()) {
	lv.mu.Lock()
	defer lv.mu.Unlock()
	f()
}

// unsent records an item that is never sent.
func (lv *level) unsent(it *item, why trace.OutcomeDetail) {
	rec := lv.run.sender.info.record(it)
	rec.SetOutcome(trace.OutcomeNotSent, why)
	lv.sink.add(&outcome{it: it, rec: rec})
	lv.release(it, it.due)
}

// finish takes what became of an item that was sent.
func (lv *level) finish(o *outcome) {
	lv.release(o.it, time.Now())
	lv.sink.add(o)
}

// release lets the turns go that waited for an item.
func (lv *level) release(it *item, end time.Time) {
	if it.leads {
		lv.pacer.ended(it, end)
	}
}

// leftOver records the arrivals that the pacer never came to.
func (lv *level) leftOver() {
	lv.leftWaiting()
	held := lv.run.cfg.CapPolicy == CapQueue && lv.pacer.capHeld.Load()
	why := unsentDetail(lv.ctx, held)
	if lv.overBudget.Load() {
		why = trace.DetailBudget
	}
	if lv.Concurrency != nil {
		return // nothing is due that was not sent
	}
	for i := range lv.arrivals[lv.pacer.taken:] {
		it := lv.item(lv.pacer.taken + i)
		it.due = lv.pacer.start.Add(it.at)
		lv.unsent(it, why)
	}
}

// leftWaiting records the turns that were not due before the window was over.
// Those whose predecessor was still open then have no due time: they get the
// window's end, outside of what is measured.
func (lv *level) leftWaiting() {
	for _, it := range lv.pacer.rest() {
		if cause := causeOf(lv.ctx); cause != nil && !errors.Is(cause, errDrain) || it.waits.on.rec == noTurn {
			lv.unsent(it, unsentDetail(lv.ctx, it.held))
			continue
		}
		if it.due.Before(lv.pacer.end) {
			it.due = lv.pacer.end
		}
		lv.unsent(it, trace.DetailSession)
	}
}

// see counts one outcome. It runs in the collector's goroutine.
func (lv *level) see(o *outcome) {
	lv.facts.add(o)
	lv.run.result.Scheduled++
	lv.run.result.Outcomes[o.rec.Outcome]++
	lv.handled.Add(1)
	lv.run.budget.answered(&o.it.prompt, o.rec)
	if w, ok := lv.run.planner.(Watcher); ok && lv.InWindow(o.rec.StartUnixNs) {
		w.See(&lv.Level, o.rec)
	}
	switch o.rec.Class() {
	case trace.ClassError:
		lv.errors.Add(1)
	case trace.ClassShed:
		lv.sheds.Add(1)
	}
	if lv.run.cfg.Progress != nil {
		lv.locked(func() { lv.recent.add(o.rec) })
	}
	if len(o.rec.Faults) > 0 {
		return // what was done to it says nothing of the service
	}
	lv.run.fits.add(&o.it.prompt, o.rec)
	if why := lv.fuse.add(time.Now(), &o.rec.Result); why != "" {
		lv.cancel(&stopError{why})
	}
}

func (r *recent) add(rec *trace.Record) {
	switch rec.Class() {
	case trace.ClassError, trace.ClassShed:
		r.failed++
	case trace.ClassOK:
		r.answered++
		if d, ok := rec.TTFTUser(); ok {
			r.ttfts = append(r.ttfts, d.Microseconds())
		}
	}
}

// conclude judges the level and says what ends the run, if anything.
func (lv *level) conclude(cause, feedErr error) error {
	if n := lv.drawn(); lv.facts.records != n {
		return fmt.Errorf("level %d: %d requests scheduled, %d recorded", lv.Index+1, n, lv.facts.records)
	}
	why := lv.stopReason(cause)
	lv.facts.stopped, lv.facts.capHeld, lv.facts.clockMoved = why, lv.pacer.capHeld.Load(), lv.clock.moved()
	lv.InFlightMax = lv.pacer.peak.Load()
	lv.locked(func() {
		lv.InFlightAtEnd = lv.openAtEnd
		if lv.cpu0 != nil && lv.cpu1 != nil {
			lv.facts.cpu = new((*lv.cpu1 - *lv.cpu0).Seconds() / (lv.facts.hold.Seconds() * float64(lv.facts.cores)))
		}
	})
	lv.facts.judge()
	switch {
	case feedErr != nil:
		return feedErr
	case errors.Is(cause, ErrOutput):
		return cause
	case why != "":
		return stopped(why)
	}
	return nil
}

// stopReason is why the run ends with this level; "" = it goes on.
func (lv *level) stopReason(cause error) string {
	if lv.overBudget.Load() {
		return errBudget.Error()
	}
	if cause == nil || errors.Is(cause, errDrain) {
		lv.run.streak = lv.fuse.streak
		return lv.fuse.end()
	}
	var safety *stopError
	if errors.As(cause, &safety) || errors.Is(cause, ErrOutput) {
		return cause.Error()
	}
	return errKill.Error()
}
