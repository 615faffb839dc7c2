package replayer

import (
	"slices"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// CatchUp says what becomes of the requests that are overdue because this
// client was stalled: stopped, suspended, or without a CPU.
type CatchUp string

const (
	// CatchUpBurst sends them at once. It is the default: the schedule is kept,
	// and the lag shows.
	CatchUpBurst CatchUp = "burst"
	// CatchUpSmooth sends them at twice the level's rate until none is overdue.
	CatchUpSmooth CatchUp = "smooth"
	// CatchUpDrop records them as not sent (client_fault).
	CatchUpDrop CatchUp = "drop"
)

// overdueAfter is the delay from which a request is overdue.
const overdueAfter = 10 * time.Millisecond

// checkCatchUp returns an ErrInput for an unknown policy.
func (c *Config) checkCatchUp() error {
	if !slices.Contains([]CatchUp{CatchUpBurst, CatchUpSmooth, CatchUpDrop}, c.CatchUp) {
		return inputError("use burst, smooth or drop", "unknown policy %q for overdue requests", c.CatchUp)
	}
	return nil
}

// caughtUp applies the policy to a request that is due; false: it is not sent.
// What waited for the in-flight limit is not overdue by a stall.
func (p *pacer) caughtUp(it *item) bool {
	now := time.Now()
	since := it.due
	if p.heldUntil.After(since) {
		since = p.heldUntil
	}
	if now.Sub(since) <= overdueAfter {
		p.passed = now
		return true
	}
	switch p.catchUp {
	case CatchUpDrop:
		p.unsent(it, trace.DetailClientFault)
		return false
	case CatchUpSmooth:
		pause(p.ctx, p.passed.Add(p.catchUpGap).Sub(now))
		now = time.Now()
	}
	p.passed = now
	return true
}
