package replayer

import (
	"context"
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
	ready <-chan *item // in order of due time
	// sendable hands the items over, one for each time Pace says go. It has
	// room for all that may be open, so that it never blocks.
	sendable chan *item
	limit    int32
	policy   CapPolicy
	// unsent takes what is never sent.
	unsent func(*item, trace.OutcomeDetail)

	open, peak atomic.Int32
	capHeld    atomic.Bool
	freed      chan struct{}
	timer      *time.Timer
	taken      int // items received from ready
}

func newPacer(ctx context.Context, ready <-chan *item, limit int, policy CapPolicy, unsent func(*item, trace.OutcomeDetail)) *pacer {
	p := &pacer{
		ctx: ctx, ready: ready, sendable: make(chan *item, limit+1), limit: int32(limit), policy: policy,
		unsent: unsent, freed: make(chan struct{}, 1), timer: time.NewTimer(time.Hour),
	}
	p.timer.Stop()
	return p
}

var _ vegeta.Pacer = (*pacer)(nil)

// Pace waits until the next request is due and may be sent; true ends the
// attack.
func (p *pacer) Pace(time.Duration, uint64) (time.Duration, bool) {
	for {
		it := p.next()
		if it == nil {
			return 0, true
		}
		if !p.wait(it.due) || !p.admit(it) {
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

func (p *pacer) next() *item {
	if p.ctx.Err() != nil {
		return nil
	}
	select {
	case it := <-p.ready:
		if it != nil {
			p.taken++
			it.due = p.start.Add(it.at)
		}
		return it
	case <-p.ctx.Done():
		return nil
	}
}

func (p *pacer) wait(due time.Time) bool {
	d := time.Until(due)
	if d <= 0 {
		return p.ctx.Err() == nil
	}
	p.timer.Reset(d)
	select {
	case <-p.timer.C:
		return true
	case <-p.ctx.Done():
		p.timer.Stop()
		return false
	}
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
