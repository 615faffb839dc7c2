package analyzer

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/lambdac/lambdac/analyzer/stats"
)

// Windows are the service-level targets watched during the run, in windows of
// time within each level.
type Windows struct {
	// BaselinePerS is the load that stands for normal: the lowest judged.
	BaselinePerS *float64 `json:"baseline_per_s"`
	// Targets are always all, in one order.
	Targets []Target `json:"targets"`
}

// TargetState is what a window, or all of a load, says of a target.
type TargetState string

const (
	// Breach: the bound is beyond the limit, with 5 % for all windows of the run.
	Breach TargetState = "breach"
	// BreachIndicated: the point is beyond the limit, and the 95 % interval
	// excludes no change.
	BreachIndicated TargetState = "indicated"
	// Within: neither.
	Within TargetState = "ok"
	// TooFew: too few requests to say.
	TooFew TargetState = "insufficient"
)

// Target is one service-level target with what became of it.
type Target struct {
	Name string `json:"name"`
	// Limit of the value, in Unit; WindowS is the length of a window.
	Limit   float64 `json:"limit"`
	Unit    string  `json:"unit"`
	WindowS float64 `json:"window_s"`
	// State is the worst of the loads'.
	State TargetState  `json:"state"`
	Loads []LoadTarget `json:"loads"`
	// Missing says why nothing can be said.
	Missing string `json:"missing,omitempty"`
}

// LoadTarget is a target at one load.
type LoadTarget struct {
	OfferedPerS float64     `json:"offered_per_s"`
	State       TargetState `json:"state"`
	// Windows were looked at; Breached and Indicated of them are beyond.
	Windows   int `json:"windows"`
	Breached  int `json:"breached"`
	Indicated int `json:"indicated"`
	// Worst is the highest value with its 95 % interval, of N requests; WorstS is
	// the start of its window in seconds from the start of its level's.
	Worst  Effect  `json:"worst"`
	WorstS float64 `json:"worst_s"`
	N      int     `json:"n"`
}

// The published targets, domain by domain.
const (
	shiftLimit     = 1.4   // P99 over that of the baseline
	slowLimitUs    = 800e3 // P95
	wrongLimit     = 0.08  // share of wrong answers above that of the baseline
	wrongBelow     = 0.3   // a score below is a wrong answer
	cutLimit       = 0.12  // share of answers that end at their token limit
	tokenLimit     = 0.05  // nats
	tokensNeeded   = 50_000
	p99Needed      = 300
	wrongNeeded    = 100
	cutNeeded      = 200
	baselineNeeded = 368 // for the upper bound of a P99
)

// judged window: value with its 95 % interval, and the bound that the proof uses.
type windowValue struct {
	point, low, high float64
	// changed: the interval excludes no change; bound is compared with the limit.
	changed bool
	bound   float64
}

// watcher judges the windows of one target.
type watcher struct {
	target Target
	lenNs  int64
	needed int
	// events are what is counted of a run, in order of time.
	events func(*run) []windowEvent
	// value of a window; tail is the probability that its bound may miss.
	value func(events []windowEvent, tail float64) windowValue
}

// windowEvent is one request: a latency, or 1 where it counts.
type windowEvent struct {
	at    int64
	value float64
}

// windowsOf watches the targets over all judged runs.
func windowsOf(loads []*load) *Windows {
	out := &Windows{Targets: []Target{}}
	var judged []*load
	for _, l := range loads {
		if l.valid() {
			judged = append(judged, l)
		}
	}
	if len(judged) > 0 {
		out.BaselinePerS = new(judged[0].perS)
	}
	for _, w := range []watcher{p99Shift(judged), slowP95(), wrongAnswers(judged), cutAnswers()} {
		out.Targets = append(out.Targets, w.watch(judged))
	}
	out.Targets = append(out.Targets, tokenShift(judged))
	return out
}

// watch cuts the runs into windows and judges each; the proofs of all windows
// share 5 %.
func (w *watcher) watch(loads []*load) Target {
	t := w.target
	t.State, t.Loads = TooFew, []LoadTarget{}
	if t.Missing != "" {
		return t
	}
	cut := make([][]eventWindow, len(loads))
	n := 0
	for i, l := range loads {
		for _, r := range l.judged {
			cut[i] = append(cut[i], w.cut(r)...)
		}
		n += len(cut[i])
	}
	for i, l := range loads {
		if len(cut[i]) > 0 {
			t.Loads = append(t.Loads, w.load(l, cut[i], alpha/2/float64(max(n, 1))))
		}
	}
	t.State = worstState(t.Loads)
	if n == 0 {
		t.Missing = fmt.Sprintf("%d requests that tell of it in a run", w.needed)
	}
	return t
}

// eventWindow is one window of a run, begun so many seconds after its start.
type eventWindow struct {
	events []windowEvent
	beginS float64
}

// cut makes windows of one length, longer where they hold too few requests; what
// is left over at the end belongs to the last.
func (w *watcher) cut(r *run) []eventWindow {
	events := w.events(r)
	var out []eventWindow
	begin, first := r.level.StartUnixNs, 0
	for begin < r.level.EndUnixNs && first < len(events) {
		end := begin + w.lenNs
		last := sort.Search(len(events), func(i int) bool { return events[i].at >= end })
		for last-first < w.needed && end < r.level.EndUnixNs {
			end += w.lenNs
			last = sort.Search(len(events), func(i int) bool { return events[i].at >= end })
		}
		if end+w.lenNs > r.level.EndUnixNs {
			end, last = r.level.EndUnixNs, len(events)
		}
		if last-first < w.needed {
			if n := len(out); n > 0 {
				out[n-1].events = append(slices.Clip(out[n-1].events), events[first:last]...)
			}
			return out
		}
		out = append(out, eventWindow{events[first:last], float64(begin-r.level.StartUnixNs) / 1e9})
		begin, first = end, last
	}
	return out
}

// load judges the windows of one load.
func (w *watcher) load(l *load, windows []eventWindow, tail float64) LoadTarget {
	out := LoadTarget{OfferedPerS: l.perS, State: Within, Windows: len(windows), Worst: Effect{Unit: w.target.Unit}}
	for _, at := range windows {
		v := w.value(at.events, tail)
		switch {
		case v.bound > w.target.Limit:
			out.Breached++
		case v.point > w.target.Limit && v.changed:
			out.Indicated++
		}
		if out.Worst.Point == nil || v.point > *out.Worst.Point {
			out.Worst.Point, out.Worst.Low, out.Worst.High = finite(v.point), finite(v.low), finite(v.high)
			out.WorstS, out.N = at.beginS, len(at.events)
		}
	}
	switch {
	case out.Breached > 0:
		out.State = Breach
	case out.Indicated > 0:
		out.State = BreachIndicated
	}
	return out
}

func worstState(loads []LoadTarget) TargetState {
	order := []TargetState{TooFew, Within, BreachIndicated, Breach}
	worst := 0
	for _, l := range loads {
		worst = max(worst, slices.Index(order, l.State))
	}
	return order[worst]
}

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

// cutAnswers watches the share of answers that were cut at their token limit.
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
