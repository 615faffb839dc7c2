package replayer

import (
	"time"

	"github.com/lambdac/lambdac/trace"
)

// A closed loop keeps a number of requests in flight: the next one of the trace
// is due at the moment that one ends. Recorded arrivals say nothing there, and
// neither do waiting times: a slow service is asked less often.

// closed reports whether the loads are numbers in flight.
func (c *Config) closed() bool {
	for _, l := range c.Loads {
		if l.InFlight != 0 {
			return c.Planner == nil
		}
	}
	return false
}

// checkClosed returns an ErrInput for what a closed loop cannot do.
func (c *Config) checkClosed() error {
	if !c.closed() {
		return nil
	}
	for _, l := range c.Loads {
		switch {
		case l.PerS != 0 || l.Scale != 0:
			return inputError("give --concurrency, or --rate, --levels or --scale", "a load of %d in flight and one of %v/s or scale %v: one run has one kind", l.InFlight, l.PerS, l.Scale)
		case l.InFlight < 1 || l.InFlight > c.MaxInFlight:
			return inputError("give 1 or more, up to --max-in-flight", "%d in flight: want 1 to %d", l.InFlight, c.MaxInFlight)
		}
	}
	const hint = "leave it out, or give --levels"
	switch {
	case c.Scaling != Superpose:
		return inputError(hint, "a closed loop has no arrivals to scale by %s", c.Scaling)
	case c.Sessions != SessionsStrict:
		return inputError(hint, "a closed loop keeps no conversation together: sessions cannot be %s", c.Sessions)
	case c.Ramp != 0:
		return inputError(hint, "a closed loop has no ramp")
	case c.Shard.Count > 1:
		return inputError("give each process a part of the number in flight, and analyze them apart", "a closed loop cannot be sharded")
	}
	return nil
}

// closedPlan is [fixedPlan] for numbers in flight.
type closedPlan struct{ fixedPlan }

func newClosedPlan(c *Config) closedPlan {
	loads := make([]float64, len(c.Loads))
	for i, l := range c.Loads {
		loads[i] = float64(l.InFlight)
	}
	return closedPlan{newFixedPlan(loads, c.Replicates, !c.NoRepeat, c.Seed)}
}

// Next implements Planner.
func (p closedPlan) Next(done []trace.Level) (trace.Level, bool) {
	l, ok := p.fixedPlan.Next(done)
	if !ok {
		return l, false
	}
	return trace.Level{Concurrency: new(int32(l.OfferedPerS))}, true
}

// sameLoad reports whether two levels are replicates.
func sameLoad(a, b *trace.Level) bool {
	if a.Concurrency != nil && b.Concurrency != nil {
		return *a.Concurrency == *b.Concurrency
	}
	return a.OfferedPerS == b.OfferedPerS
}

// arrival is the request of a place in the schedule; in a closed loop, of the
// trace gone through again and again.
func (lv *level) arrival(i int) arrival {
	if lv.Concurrency == nil {
		return lv.arrivals[i]
	}
	n := len(lv.run.recs)
	return arrival{rec: int32(i % n), instance: int64(i / n)}
}

// ahead is about how many requests a second may want.
func (lv *level) ahead() float64 {
	if lv.Concurrency == nil {
		return lv.OfferedPerS
	}
	return 4 * float64(*lv.Concurrency)
}

// drawn is the number of requests of which each must have a record.
func (lv *level) drawn() int64 {
	if lv.Concurrency == nil {
		return int64(len(lv.arrivals))
	}
	return int64(lv.pacer.taken)
}

// hold makes the pacer keep so many open, from a moment to the end of the
// window.
func (p *pacer) hold(n int32, from time.Time) { p.kept, p.from = n, from }

// refill waits until less are open than are to be kept, and takes the next
// request, due now. nil ends the level.
func (p *pacer) refill() *item {
	for time.Now().Before(p.from) {
		if !p.waitFor(p.from) {
			return nil
		}
	}
	for p.open.Load() >= p.kept {
		if !p.waitFor(p.end) {
			return nil
		}
	}
	if !time.Now().Before(p.end) {
		return nil
	}
	select {
	case it := <-p.ready:
		if it == nil { // the budget is used up
			return nil
		}
		p.taken++
		it.due = time.Now()
		p.peak.Store(max(p.peak.Load(), p.open.Add(1)))
		return it
	case <-p.ctx.Done():
		return nil
	}
}

// waitFor waits until a request ends or a moment comes; false where that was
// the window's end, or the context ended.
func (p *pacer) waitFor(until time.Time) bool {
	p.timer.Reset(max(time.Until(until), 0))
	defer p.timer.Stop()
	select {
	case <-p.freed:
		return true
	case <-p.timer.C:
		return until.Before(p.end)
	case <-p.ctx.Done():
		return false
	}
}
