package replayer

import (
	"time"

	"github.com/lambdac/lambdac/trace"
)

// cancelPlan says where the recorded client gave up: after so many pieces of
// output, or, where it had none yet, after so long.
type cancelPlan struct {
	pieces int32
	after  time.Duration
}

// plannedCancel is nil for an exchange that its client did not give up.
func plannedCancel(r *trace.Record) *cancelPlan {
	if r.Outcome != trace.OutcomeClientAbort {
		return nil
	}
	if r.Stream && r.ChunkCount != nil && *r.ChunkCount > 0 {
		return &cancelPlan{pieces: *r.ChunkCount}
	}
	if r.TEndUs == nil {
		return nil
	}
	return &cancelPlan{after: time.Duration(*r.TEndUs) * time.Microsecond}
}

// cancels counts the exchanges that their clients gave up.
func (r *run) cancels() (n int) {
	for _, rec := range r.recs {
		if plannedCancel(rec) != nil {
			n++
		}
	}
	return n
}

// giveUp gives up on the answer after the plan's pieces.
func (x *exchange) giveUp(pieces int32) {
	if x.plan != nil && x.plan.pieces > 0 && pieces >= x.plan.pieces {
		x.cancel(errPlan)
	}
}

// giveUpLater gives up after the plan's time; stop takes that back.
func (x *exchange) giveUpLater() (stop func() bool) {
	if x.plan == nil || x.plan.pieces > 0 {
		return func() bool { return false }
	}
	return time.AfterFunc(x.plan.after, func() { x.cancel(errPlan) }).Stop
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
