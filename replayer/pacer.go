package replayer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/lambdac/lambdac/trace"
)

// pacer decides when Vegeta may send: its Pace returns when a request is due,
// and never asks Vegeta to sleep, since that sleep could not be interrupted.
// The in-flight limit is kept here, below Vegeta's own number of workers:
// there a full pool makes the loop wait, and what was due meanwhile would be
// sent late or never, without a word.
//
// Pace is called by one goroutine (Vegeta's dispatch loop); done may be called
// by another.
type pacer struct {
	ctx   context.Context
	start time.Time    // of the window
	end   time.Time    // of the window
	ready <-chan *item // in order of the schedule
	// sendable hands the items over, one for each time Pace says go. It has
	// room for all that may be open, so that it never blocks.
	sendable chan *item
	limit    int32
	policy   CapPolicy
	// unsent takes what is never sent.
	unsent func(*item, trace.OutcomeDetail)

	// kept is the number that a closed loop keeps open from a moment on; 0 = an
	// open loop.
	kept int32
	from time.Time

	catchUp    CatchUp
	catchUpGap time.Duration // between overdue requests under CatchUpSmooth
	passed     time.Time     // when the last request was let go
	heldUntil  time.Time     // when the in-flight limit last gave way

	open, peak atomic.Int32
	capHeld    atomic.Bool
	freed      chan struct{}
	timer      *time.Timer
	taken      int  // items received from ready
	fed        bool // ready is used up

	mu     sync.Mutex // guards agenda
	agenda *agenda
	woken  chan struct{} // a turn has become free
}

func newPacer(ctx context.Context, ready <-chan *item, limit int, policy CapPolicy, unsent func(*item, trace.OutcomeDetail)) *pacer {
	p := &pacer{
		ctx: ctx, ready: ready, sendable: make(chan *item, limit+1), limit: int32(limit), policy: policy,
		unsent: unsent, freed: make(chan struct{}, 1), timer: time.NewTimer(time.Hour),
		agenda: newAgenda(), woken: make(chan struct{}, 1),
	}
	p.timer.Stop()
	return p
}

var _ vegeta.Pacer = (*pacer)(nil)

// Pace waits until the next request is due and may be sent; true ends the
// attack.
func (p *pacer) Pace(time.Duration, uint64) (time.Duration, bool) {
	if p.kept > 0 {
		it := p.refill()
		if it == nil {
			return 0, true
		}
		p.sendable <- it
		return 0, false
	}
	for {
		it := p.next()
		if it == nil {
			return 0, true
		}
		if !p.caughtUp(it) {
			continue
		}
		if !p.admit(it) {
			if context.Cause(p.ctx) != nil {
				p.unsent(it, unsentDetail(p.ctx, it.held))
				return 0, true
			}
			p.unsent(it, trace.DetailCap)
			continue
		}
		p.sendable <- it
		return 0, false
	}
}

// Rate is asked for by Vegeta's interface and by nobody else.
func (p *pacer) Rate(time.Duration) float64 { return 0 }

// target is a Vegeta Targeter: it passes the item on by its number. It never
// fails, as each call follows one item.
func (p *pacer) target(t *vegeta.Target, register func(*item) string) error {
	it := <-p.sendable
	t.Method, t.URL = "POST", itemURL+register(it)
	return nil
}

// next waits for the next item to be due. nil ends the level: everything was
// sent, the window is over for turns that still wait, or the context ended.
func (p *pacer) next() *item {
	for p.ctx.Err() == nil {
		it, until := p.look()
		switch {
		case it != nil:
			return it
		case until.IsZero():
			if !p.read() {
				return nil
			}
		case !p.sleep(until):
			return nil
		}
	}
	return nil
}

// look takes the item that is due now. Else it says until when there is
// nothing to do; a zero time = until the feed or a turn's end brings more.
func (p *pacer) look() (it *item, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.agenda
	if len(g.due) == 0 || g.stamped == 0 && !p.fed {
		return nil, time.Time{}
	}
	first := g.due[0]
	if first.waits.on.rec != noTurn && !first.due.Before(p.end) {
		return nil, p.end // turns that came free too late for this level
	}
	if time.Until(first.due) > 0 {
		return nil, first.due
	}
	return g.pop(), time.Time{}
}

// read takes one item from the feed, or waits for a turn to end where the feed
// is used up; false: nothing will come any more.
func (p *pacer) read() bool {
	if p.fed {
		p.mu.Lock()
		parked := len(p.agenda.parked)
		p.mu.Unlock()
		return parked > 0 && p.sleep(p.end)
	}
	select {
	case it := <-p.ready:
		if it == nil {
			p.fed = true
			return true
		}
		p.taken++
		it.due = p.start.Add(it.at)
		p.mu.Lock()
		p.agenda.add(it)
		p.mu.Unlock()
		return true
	case <-p.woken:
		return true
	case <-p.ctx.Done():
		return false
	}
}

// sleep waits until then or until a turn has become free; false at the end of
// the window for what could still come, or where the context ended.
func (p *pacer) sleep(until time.Time) bool {
	d := time.Until(until)
	if d <= 0 {
		return until.Before(p.end)
	}
	p.timer.Reset(d)
	defer p.timer.Stop()
	select {
	case <-p.timer.C:
		return until.Before(p.end)
	case <-p.woken:
		return true
	case <-p.ctx.Done():
		return false
	}
}

// ended says that a turn is over: those that follow it may go.
func (p *pacer) ended(it *item, at time.Time) {
	p.mu.Lock()
	freed := p.agenda.end(it.self, at)
	p.mu.Unlock()
	if !freed {
		return
	}
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

// rest returns what was taken from the feed and never came to be due.
func (p *pacer) rest() []*item {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.agenda.rest()
}

// admit counts the item as open; false if it may not be sent.
func (p *pacer) admit(it *item) bool {
	for p.open.Load() >= p.limit {
		p.capHeld.Store(true)
		if p.policy == CapDrop {
			return false
		}
		it.held = true
		select {
		case <-p.freed:
			p.heldUntil = time.Now()
		case <-p.ctx.Done():
			return false
		}
	}
	p.peak.Store(max(p.peak.Load(), p.open.Add(1)))
	return true
}

// done counts an item as closed.
func (p *pacer) done() {
	p.open.Add(-1)
	select {
	case p.freed <- struct{}{}:
	default:
	}
}
