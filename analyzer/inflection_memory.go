package analyzer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lambdac/lambdac/analyzer/stats"
)

const (
	// cpuBelow is the utilisation below which a lack of memory is a surprise.
	cpuBelow = 0.6
	// fragmentedFrom is the index from which on a failure is put down to pieces.
	fragmentedFrom = 0.5
)

// memoryEvents looks for inflection II, out of memory while the CPU is below
// 60 %. An event is judged by five conditions, each with its own evidence:
//
//	event       the kernel or the server's allocator ran out of memory
//	cpu         of the 60 s before, the upper end of the interval is below 60 %
//	fragmented  the order asked for is known and above 0, no block of it was
//	            free though more than the zone's reserve was, index ≥ 0.5
//	severity    by the largest free block
//	crossover   windows before events are more fragmented than those of the
//	            same load without, p ≤ 5 % over their arrangements
//
// All five are fragmentation; an order of 0 or no memory left is exhaustion. The
// published rule, largest free block below 512 KB, only indicates.
func memoryEvents(loads []observedLoad, t *Telemetry, seed uint64) Inflection {
	out := newInflection("oom_below_cpu_60", "points")
	events := t.memoryEvents(loads)
	if len(events) == 0 && !t.seesMemoryEvents(loads) {
		return out.lacks("telemetry of the server's host that counts out-of-memory events, or of an allocator that counts its failures")
	}
	if len(events) == 0 {
		out.Verdict, out.Reason = NotFound, "no out-of-memory event while a load was held"
		out.Evidence = append(out.Evidence, Evidence{Name: "event", State: Fails, Point: new(0.0), Unit: "events", Text: "events of kernel, control group and allocator were counted; there was none"})
		return out
	}
	for i := range events {
		events[i].judge(t)
	}
	group := chooseEvents(events)
	first := group[0]
	cross := crossover(group, events, loads, t, seed)
	out.Evidence = []Evidence{first.evidence(len(events)), first.cpu, first.pieces, first.severity, cross.evidence(), first.publishedEvidence()}
	out.Competing = []Cause{first.exhaustion(), t.groupLimit(first)}
	out.Effect, out.PValue = cross.effect(), cross.p
	out.Indicated = first.published()
	return out.decideMemory(first, cross)
}

// decideMemory gives the verdict on the first of the events that were chosen.
func (i Inflection) decideMemory(first *memoryEvent, cross crossing) Inflection {
	switch {
	case first.cpu.State == Fails:
		i.Verdict, i.Reason = NotFound, "out of memory, but the CPU was not below 60 %"
		return i
	case first.pieces.State == Fails:
		i.Verdict, i.Reason = NotFound, "exhaustion, not fragmentation: "+first.pieces.Text
		return i
	}
	if limit := i.Competing[1]; limit.State == Holds && !first.byServer() {
		i.Verdict, i.Reason = NotFound, "exhaustion of the control group's limit: "+limit.Text
		return i
	}
	var missing []string
	for _, e := range i.Evidence[:len(i.Evidence)-1] {
		if e.State == Unknown {
			missing = append(missing, e.Text)
		}
	}
	if len(missing) > 0 {
		return i.lacks(strings.Join(missing, "; "))
	}
	if cross.state == Fails {
		i.Verdict, i.Reason = NotFound, "memory was no more in pieces before the event than at other times of the same load"
		return i
	}
	i.Verdict, i.Indicated = Found, true
	i.Reason = "out of memory by fragmentation: " + first.pieces.Text
	return i
}

// chooseEvents are the events that the verdict is on: those that show most, of
// the load with the most of them.
func chooseEvents(events []memoryEvent) []*memoryEvent {
	var best []*memoryEvent
	for i := range events {
		var alike []*memoryEvent
		for j := range events {
			if events[j].like(&events[i]) {
				alike = append(alike, &events[j])
			}
		}
		if best == nil || alike[0].shows() > best[0].shows() || alike[0].shows() == best[0].shows() && len(alike) > len(best) {
			best = alike
		}
	}
	return best
}

// shows orders events: in pieces before unknown before not, and so for the CPU.
func (e *memoryEvent) shows() int {
	grade := func(s State) int { return slices.Index([]State{Fails, Unknown, Holds}, s) }
	return 3*grade(e.pieces.State) + grade(e.cpu.State)
}

// crossing is the comparison of windows before events with windows without.
type crossing struct {
	state    State
	p        *float64
	cases    []float64
	controls []float64
	text     string
}

// crossover compares the windows before events with all others of the same load
// in which nothing happened, case with control of one system: what differs
// between systems or loads explains nothing.
func crossover(group []*memoryEvent, all []memoryEvent, loads []observedLoad, t *Telemetry, seed uint64) crossing {
	out := crossing{state: Unknown}
	for _, e := range group {
		if v, ok := e.pressure(t, e.at-windowNs, e.at); ok {
			out.cases = append(out.cases, v)
		}
	}
	out.controls = controlWindows(group[0], all, loads[group[0].load].runs, t)
	n, k := len(out.controls), len(out.cases)
	x := make([]float64, n+k)
	for i := n; i < n+k; i++ {
		x[i] = 1
	}
	if k == 0 {
		out.text = "free memory was not sampled in the 10 s before the event"
		return out
	}
	if least := 1 / stats.Arrangements(x); n == 0 || least > alpha {
		need := controlsNeeded(k)
		out.text = fmt.Sprintf("%d windows of 10 s at %.4g/s without an event, there are %d: hold that load %d s longer", need, loads[group[0].load].perS, n, 10*(need-n))
		return out
	}
	test, err := stats.SlopeTest(x, append(append([]float64(nil), out.controls...), out.cases...), nil, stats.Resampling{Seed: seed, Max: permutations})
	if err != nil {
		out.text = "the windows cannot be compared"
		return out
	}
	out.state, out.p = stateOf(test.P <= alpha), &test.P
	out.text = fmt.Sprintf("free memory in blocks too small, %d windows of 10 s before events against %d of the same load without", k, n)
	return out
}

// controlsNeeded is the number of controls from which on k cases can be told
// from them at 5 %.
func controlsNeeded(k int) int {
	ways := 1.0
	for n := 1; ; n++ {
		if ways = ways * float64(n+k) / float64(n); 1/ways <= alpha {
			return n
		}
	}
}

// controlWindows are the values of all windows of the runs that are not near an
// event.
func controlWindows(e *memoryEvent, all []memoryEvent, runs []*ObservedRun, t *Telemetry) []float64 {
	var out []float64
	for _, r := range runs {
		for from := r.Level.StartUnixNs; from+windowNs <= r.Level.EndUnixNs; from += windowNs {
			near := false
			for i := range all {
				near = near || from < all[i].at+afterNs && from+windowNs > all[i].at-windowNs
			}
			if v, ok := e.pressure(t, from, from+windowNs); ok && !near {
				out = append(out, v)
			}
		}
	}
	return out
}

func (c *crossing) evidence() Evidence {
	e := Evidence{Name: "case_crossover", State: c.state, PValue: c.p, Unit: "points", Text: c.text}
	effect := c.effect()
	e.Point, e.Low, e.High = effect.Point, effect.Low, effect.High
	return e
}

// effect is how much more of the free memory was too small before events than
// without; the interval is that of the windows without.
func (c *crossing) effect() Effect {
	out := Effect{Unit: "points"}
	if len(c.cases) == 0 || len(c.controls) < 2 {
		return out
	}
	at := mean(c.cases)
	sorted := slices.Sorted(slices.Values(c.controls))
	low, _ := stats.Quantile(sorted, (1-confidence)/2)
	high, _ := stats.Quantile(sorted, (1+confidence)/2)
	out.Point, out.Low, out.High = finite(100*(at-mean(sorted))), finite(100*(at-high)), finite(100*(at-low))
	return out
}
