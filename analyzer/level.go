package analyzer

import (
	"fmt"
	"slices"

	"github.com/lambdac/lambdac/analyzer/stats"
	"github.com/lambdac/lambdac/trace"
)

// confidence of every interval.
const confidence = 0.95

// saturatedAbove is the error rate above which a level is left out of the
// onset fit and flagged.
const saturatedAbove = 0.25

// levelOf makes the row of the levels table.
func levelOf(l *load) Level {
	out := Level{OfferedPerS: l.perS, Judged: l.valid(), Reasons: []string{}, Flags: []string{}, Runs: len(l.shown())}
	var met, unmeasured, tokens, tokenRows int64
	var ttft []float64
	for _, r := range l.shown() {
		out.Requests += r.tally.Total() + r.faulted
		out.N += r.tally.Offered()
		out.Errors += r.tally.Failed()
		out.Sheds += r.tally.Sheds
		out.Excluded += r.tally.Excluded
		out.Faulted += r.faulted
		out.Seconds += r.level.Seconds()
		out.AchievedPerS += r.level.AchievedPerS / float64(len(l.shown()))
		unmeasured += r.unmeasured
		met, tokens, tokenRows = met+r.met, tokens+r.outputTokens, tokenRows+r.tokenRows
		for _, us := range r.ttft {
			ttft = append(ttft, float64(us))
		}
	}
	for _, r := range l.all {
		for _, reason := range r.reasons {
			out.Reasons = append(out.Reasons, fmt.Sprintf("replicate %d: %s", r.level.Replicate, reason))
		}
	}
	out.ErrorRate = proportionOf(out.Errors, out.N, l.failing())
	out.TTFTUserUs = latencyOf(ttft)
	if out.Seconds > 0 {
		if answered := out.N - out.Errors; unmeasured == 0 || unmeasured < answered {
			out.GoodputPerS = new(float64(met) / out.Seconds)
		}
		if tokenRows > 0 {
			out.OutputTokensPerS = new(float64(tokens) / out.Seconds)
		}
	}
	out.addEvents(l)
	out.flag()
	if unmeasured > 0 && out.GoodputPerS != nil {
		out.Flags = append(out.Flags, "goodput_not_all_measured")
	}
	if !l.steady {
		out.Flags = append(out.Flags, "not_steady")
	}
	if l.grew {
		out.Flags = append(out.Flags, "in_flight_grew")
	}
	out.Reasons = append(out.Reasons, l.unsteady...)
	return out
}

// addEvents tells what the replayer counted by the time of events, and of
// prefixes.
func (l *Level) addEvents(of *load) {
	var within trace.WindowEvents
	var prefix trace.PrefixReuse
	for _, r := range of.shown() {
		if p := r.level.Prefix; p != nil {
			prefix.Add(p)
		}
		w := r.level.Within
		if w == nil {
			return
		}
		within.Answered, within.OutputTokens = within.Answered+w.Answered, within.OutputTokens+w.OutputTokens
	}
	l.PrefixExpectedShare, l.PrefixUsageShare = prefix.Expected(), prefix.Observed()
	if l.Seconds > 0 {
		l.AnsweredPerS = new(float64(within.Answered) / l.Seconds)
		if l.OutputTokensPerS != nil || within.OutputTokens > 0 {
			l.OutputTokensPerS = new(within.OutputTokens / l.Seconds)
		}
	}
}

// flag marks what a reader must know before trusting the level's numbers.
func (l *Level) flag() {
	if l.N == 0 {
		return
	}
	rate := float64(l.Errors) / float64(l.N)
	if rate > saturatedAbove {
		l.Flags = append(l.Flags, "saturated")
	}
	if rate > 0.5 {
		l.Flags = append(l.Flags, "under_half_answered")
	}
}

// proportionOf is a share with its Wilson interval, on counts deflated where
// failures come together in time.
func proportionOf(k, n int64, c clustering) Proportion {
	if n == 0 {
		return Proportion{}
	}
	phi := 1.0
	if d := c.dispersion(runEffect([]clustering{c})); d.Phi > 1 {
		phi = d.Deflation(confidence)
	}
	i := stats.Wilson(float64(k)/phi, float64(n)/phi, confidence)
	return Proportion{Point: new(float64(k) / float64(n)), Low: new(i.Low), High: new(i.High)}
}

// latencyOf summarizes latencies in microseconds; it sorts them. The P99 needs
// ten values beyond it, its interval 368 values.
func latencyOf(us []float64) Latency {
	slices.Sort(us)
	out := Latency{N: int64(len(us))}
	p50, ok := stats.Quantile(us, 0.5)
	if !ok {
		out.Reason = "no answered request has a time to first token"
		return out
	}
	out.P50 = &p50
	if ranks, ok := stats.QuantileRanks(len(us), 0.99, confidence); ok {
		out.P99Low, out.P99High = new(us[ranks.Low-1]), new(us[ranks.High-1])
	}
	if need := stats.MinPointN(0.99); len(us) < need {
		out.Reason = fmt.Sprintf("p99 needs %d answered requests, there are %d", need, len(us))
		return out
	}
	p99, _ := stats.Quantile(us, 0.99)
	out.P99 = &p99
	return out
}
