package replayer

import (
	"context"
	"errors"

	"github.com/lambdac/lambdac/trace"
)

// causeOf is why a level's or request's context ended. A cause that is not
// ours came from the caller: the kill switch.
func causeOf(ctx context.Context) error {
	cause := context.Cause(ctx)
	if cause == nil {
		return nil
	}
	for _, known := range []error{errFirstToken, errIdle, errTotal, errPlan, errDrain, errBudget} {
		if errors.Is(cause, known) {
			return known
		}
	}
	return errKill
}

// unsentDetail says why an item was not sent before the context ended.
func unsentDetail(ctx context.Context, held bool) trace.OutcomeDetail {
	switch {
	case held:
		return trace.DetailCap
	case errors.Is(causeOf(ctx), errDrain):
		// The drain is over and it was due long before: we were asleep.
		return trace.DetailClientFault
	default:
		return trace.DetailStop
	}
}

// cutOutcome is the outcome of a request that we gave up.
func cutOutcome(ctx context.Context) (trace.Outcome, trace.OutcomeDetail) {
	switch {
	case errors.Is(causeOf(ctx), errFirstToken):
		return trace.OutcomeTimeout, trace.DetailTTFT
	case errors.Is(causeOf(ctx), errIdle):
		return trace.OutcomeTimeout, trace.DetailIdle
	case errors.Is(causeOf(ctx), errTotal):
		return trace.OutcomeTimeout, trace.DetailTotal
	case errors.Is(causeOf(ctx), errPlan):
		return trace.OutcomeClientAbort, trace.DetailPlan
	case errors.Is(causeOf(ctx), errDrain):
		return trace.OutcomeClientAbort, trace.DetailDrain
	default:
		return trace.OutcomeClientAbort, trace.DetailKill
	}
}
