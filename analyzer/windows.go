package analyzer

import (
	"fmt"
	"slices"
	"sort"
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

// windowValue is the value of a window with its 95 % interval, and the bound that
// a proof uses.
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
