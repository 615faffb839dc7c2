package analyzer

import (
	"fmt"
	"math"
	"slices"

	"github.com/lambdac/lambdac/analyzer/stats"
)

// The limits are published ones; the numbers needed are those at which they can
// be told.
const (
	shiftLimit     = 1.4   // P99 over that of the baseline
	slowLimitUs    = 800e3 // P95
	wrongLimit     = 0.08  // share of wrong answers above that of the baseline
	wrongBelow     = 0.3   // a score below is a wrong answer
	cutLimit       = 0.12  // share of answers that are cut for want of context
	tokenLimit     = 0.05  // nats
	tokensNeeded   = 50_000
	p99Needed      = 300
	wrongNeeded    = 100
	cutNeeded      = 200
	baselineNeeded = 368 // for the upper bound of a P99
)

// answersOf are values of the answered requests of a run, in order of time.
func answersOf(value func(*Answer) float64) func(*run) []windowEvent {
	return func(r *run) []windowEvent {
		out := make([]windowEvent, len(r.answers))
		for i := range r.answers {
			out[i] = windowEvent{r.answers[i].StartUnixNs, value(&r.answers[i])}
		}
		return inTime(out)
	}
}

func inTime(events []windowEvent) []windowEvent {
	slices.SortFunc(events, func(a, b windowEvent) int { return int(min(max(a.at-b.at, -1), 1)) })
	return events
}

func latencyUs(a *Answer) float64 { return float64(a.LatencyUs) }

// values of events, ascending.
func values(events []windowEvent) []float64 {
	out := make([]float64, len(events))
	for i, e := range events {
		out[i] = e.value
	}
	slices.Sort(out)
	return out
}

// p99Shift compares the P99 of each minute with that of the baseline: beyond
// 1.4 where the lower bound over the baseline's upper bound is.
func p99Shift(loads []*load) watcher {
	w := watcher{
		target: Target{Name: "p99_shift", Limit: shiftLimit, Unit: "ratio", WindowS: 60},
		lenNs:  minuteNs, needed: p99Needed, events: answersOf(latencyUs),
	}
	var base []float64
	if len(loads) > 0 {
		for _, r := range loads[0].judged {
			for i := range r.answers {
				base = append(base, latencyUs(&r.answers[i]))
			}
		}
	}
	slices.Sort(base)
	if len(base) < baselineNeeded {
		w.target.Missing = fmt.Sprintf("%d answered requests at the lowest load, there are %d", baselineNeeded, len(base))
		return w
	}
	at, _ := stats.Quantile(base, 0.99)
	ranks, _ := stats.QuantileRanks(len(base), 0.99, confidence)
	at, low, high := max(at, 1), max(base[ranks.Low-1], 1), max(base[ranks.High-1], 1)
	w.value = func(events []windowEvent, tail float64) windowValue {
		us := values(events)
		p99, _ := stats.Quantile(us, 0.99)
		lowest := us[max(stats.LowRank(len(us), 0.99, (1-confidence)/2), 1)-1]
		v := windowValue{point: p99 / at, low: lowest / high, high: math.Inf(1), changed: lowest > high}
		if rank := stats.HighRank(len(us), 0.99, (1-confidence)/2); rank <= len(us) {
			v.high = us[rank-1] / low
		}
		if rank := stats.LowRank(len(us), 0.99, tail); rank > 0 {
			v.bound = us[rank-1] / high
		}
		return v
	}
	return w
}

// slowP95 watches that 95 % of the answers begin within 800 ms.
func slowP95() watcher {
	return watcher{
		target: Target{Name: "p95_latency", Limit: slowLimitUs / 1e3, Unit: "ms", WindowS: 60},
		lenNs:  minuteNs, needed: 2 * wrongNeeded, events: answersOf(latencyUs),
		value: func(events []windowEvent, tail float64) windowValue {
			us := values(events)
			rank := func(r int) float64 { return us[min(max(r, 1), len(us))-1] / 1e3 }
			p95, _ := stats.Quantile(us, 0.95)
			v := windowValue{
				point: p95 / 1e3, low: rank(stats.LowRank(len(us), 0.95, (1-confidence)/2)), high: rank(stats.HighRank(len(us), 0.95, (1-confidence)/2)),
				bound: rank(stats.LowRank(len(us), 0.95, tail)),
			}
			v.changed = v.low > slowLimitUs/1e3
			return v
		},
	}
}

// shareOfEvents counts what is 1 among the events.
func shareOfEvents(events []windowEvent) (k, n float64) {
	for _, e := range events {
		k += e.value
	}
	return k, float64(len(events))
}

// cutAnswers watches the share of answers that were cut for want of context.
func cutAnswers() watcher {
	return watcher{
		target: Target{Name: "truncation", Limit: cutLimit, Unit: "share", WindowS: 60},
		lenNs:  minuteNs, needed: cutNeeded,
		events: answersOf(func(a *Answer) float64 {
			if a.Cut {
				return 1
			}
			return 0
		}),
		value: func(events []windowEvent, tail float64) windowValue {
			k, n := shareOfEvents(events)
			i := stats.ClopperPearson(k, n, confidence)
			return windowValue{
				point: k / n, low: i.Low, high: i.High, changed: i.Low > cutLimit,
				bound: stats.ClopperPearson(k, n, 1-2*tail).Low,
			}
		},
	}
}

// probesOf are the scored probes of a run, 1 where the answer was wrong.
func probesOf(r *run) []windowEvent {
	var out []windowEvent
	for _, p := range r.probes {
		if p.Score == nil || p.Cut {
			continue
		}
		e := windowEvent{at: p.StartUnixNs}
		if *p.Score < wrongBelow {
			e.value = 1
		}
		out = append(out, e)
	}
	return inTime(out)
}

// wrongAnswers compares the share of wrong answers in five minutes with that at
// the baseline, by Newcombe's interval of a difference.
func wrongAnswers(loads []*load) watcher {
	w := watcher{
		target: Target{Name: "wrong_answers", Limit: wrongLimit, Unit: "share", WindowS: 300},
		lenNs:  5 * minuteNs, needed: wrongNeeded, events: probesOf,
	}
	var k0, n0 float64
	if len(loads) > 0 {
		for _, r := range loads[0].judged {
			k, n := shareOfEvents(probesOf(r))
			k0, n0 = k0+k, n0+n
		}
	}
	if n0 < wrongNeeded {
		w.target.Missing = fmt.Sprintf("%d scored probes at the lowest load, there are %.0f", wrongNeeded, n0)
		return w
	}
	w.value = func(events []windowEvent, tail float64) windowValue {
		k, n := shareOfEvents(events)
		d, i := stats.DifferenceInterval(k, n, k0, n0, confidence)
		_, proof := stats.DifferenceInterval(k, n, k0, n0, 1-2*tail)
		return windowValue{point: d, low: i.Low, high: i.High, changed: i.Low > 0, bound: proof.Low}
	}
	return w
}

// tokenShift compares the tokens of the answers at each load with those at the
// baseline.
func tokenShift(loads []*load) Target {
	t := Target{Name: "token_shift", Limit: tokenLimit, Unit: "nats", State: TooFew, Loads: []LoadTarget{}}
	if len(loads) == 0 {
		t.Missing = "a judged load"
		return t
	}
	base, tokens := binsOf(loads[0].judged)
	if tokens < tokensNeeded {
		t.Missing = fmt.Sprintf("%d tokens of answers (out_token_bins) at the lowest load, there are %.0f", tokensNeeded, tokens)
		return t
	}
	for _, l := range loads[1:] {
		groups, n := binsOf(l.judged)
		if n < tokensNeeded {
			continue
		}
		d, ok := stats.KullbackLeibler(groups, base, confidence)
		if !ok {
			continue
		}
		at := LoadTarget{
			OfferedPerS: l.perS, State: Within, Windows: 1, N: int(n),
			Worst: Effect{Point: finite(d.Point), Low: finite(d.Low), High: finite(d.High), Unit: t.Unit},
		}
		switch {
		case d.Low > tokenLimit:
			at.State, at.Breached = Breach, 1
		case d.Point > tokenLimit && d.Low > 0:
			at.State, at.Indicated = BreachIndicated, 1
		}
		t.Loads = append(t.Loads, at)
	}
	if t.State = worstState(t.Loads); len(t.Loads) == 0 {
		t.Missing = fmt.Sprintf("%d tokens of answers (out_token_bins) at a load above the lowest", tokensNeeded)
	}
	return t
}
