package analyzer

import (
	"fmt"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// validityOf joins the replayer's verdict with what the rows show. A run with
// levels that cannot be judged is still valid if others can; its verdict is
// invalid where the replayer said so or no level is left.
func validityOf(v trace.Validity, runs []*run) Validity {
	out := Validity{Verdict: trace.Valid, Reasons: []string{}}
	for _, reason := range v.Reasons {
		// The replayer's words on levels stand in the levels too.
		if !strings.HasPrefix(reason, "level ") {
			out.Reasons = append(out.Reasons, reason)
		}
	}
	if v.Verdict != trace.Valid {
		out.Verdict = trace.Invalid
		if len(v.Reasons) == 0 {
			out.Reasons = append(out.Reasons, "the replay did not reach its own verdict: it was cut short")
		}
	}
	judged := 0
	for _, r := range runs {
		if len(r.reasons) == 0 {
			judged++
		}
		for _, reason := range r.reasons {
			out.Reasons = append(out.Reasons, ofLevel(r, reason))
		}
	}
	if judged == 0 {
		out.Verdict = trace.Invalid
		out.Reasons = append(out.Reasons, "no level can be judged")
	}
	return out
}

// dismiss leaves no load of a run that was marked invalid to be judged: they are
// shown.
func dismiss(loads []*load) {
	for _, l := range loads {
		l.judged = nil
		for _, r := range l.all {
			r.reasons = append(r.reasons, "the run is marked invalid")
		}
	}
}

// ofLevel is what is said of one level of a run.
func ofLevel(r *run, text string) string {
	return fmt.Sprintf("level %d (%.4g/s): %s", r.level.Index+1, r.level.OfferedPerS, text)
}
