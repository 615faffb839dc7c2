package analyzer

import (
	"cmp"
	"slices"

	"github.com/lambdac/lambdac/analyzer/stats"
	"github.com/lambdac/lambdac/trace"
)

// load is one offered load with its runs.
type load struct {
	// perS is the nominal load; x the load of the fits.
	perS float64
	x    float64
	// judged are the runs that count; all of them where none does.
	judged []*run
	all    []*run
	// steady: all judged runs were; see settle.
	steady bool
	// grew: the halves of a run show growth, whether it moves the error rate or
	// not; unsteady says what was seen.
	grew     bool
	unsteady []string
}

// valid reports whether any run of the load is judged.
func (l *load) valid() bool { return len(l.judged) > 0 }

// shown are the runs whose counts are shown.
func (l *load) shown() []*run {
	if l.valid() {
		return l.judged
	}
	return l.all
}

// groupLoads pools runs of equal load, ascending.
func groupLoads(runs []*run, closed bool) []*load {
	var loads []*load
	for _, r := range runs {
		at := nominal(r, closed)
		i := slices.IndexFunc(loads, func(l *load) bool { return sameLoad(l.perS, at) })
		if i < 0 {
			i = len(loads)
			loads = append(loads, &load{perS: at})
		}
		loads[i].all = append(loads[i].all, r)
		if len(r.reasons) == 0 {
			loads[i].judged = append(loads[i].judged, r)
		}
	}
	slices.SortFunc(loads, func(a, b *load) int { return cmp.Compare(a.perS, b.perS) })
	place(loads, closed)
	settle(loads)
	return loads
}

// nominal is the load that was asked for: a rate, or in closed loop the number
// in flight.
func nominal(r *run, closed bool) float64 { return loadOf(&r.level, closed) }

func loadOf(l *trace.Level, closed bool) float64 {
	if closed && l.Concurrency != nil {
		return float64(*l.Concurrency)
	}
	return l.OfferedPerS
}

func sameLoad(a, b float64) bool { return max(a, b)-min(a, b) <= 1e-9*max(a, b) }

// place sets the load of the fits. In open loop that is what the schedule
// really held in the windows, Σ scheduled ÷ Σ seconds: a window of a few
// seconds holds a few percent more or less than the nominal rate, and taking
// that for noise of the service makes intervals half as wide again (measured
// on a simulated queue: 8.8 % instead of 5.9 % of the capacity). Where the
// order of loads would change, the nominal loads stay.
func place(loads []*load, closed bool) {
	for _, l := range loads {
		l.x = l.perS
	}
	if closed {
		return
	}
	real := make([]float64, len(loads))
	for i, l := range loads {
		var scheduled, seconds float64
		for _, r := range l.shown() {
			scheduled += float64(r.level.Scheduled)
			seconds += r.level.Seconds()
		}
		if !(scheduled > 0) || !(seconds > 0) {
			return
		}
		real[i] = scheduled / seconds
		if i > 0 && real[i] <= real[i-1] {
			return
		}
	}
	for i, l := range loads {
		l.x = real[i]
	}
}

// sample is what the fits take: the judged loads with their runs.
type sample struct {
	// x are the loads of the fits, loads the nominal ones.
	x, loads []float64
	runs     []stats.Run
	blocks   []stats.Run
	// of are the runs of the analysis that runs were counted from.
	of []*run
	// unsteady are the nominal loads left out because the service was still
	// filling.
	unsteady []float64
	// invalid counts the runs of loads of which none can be judged.
	invalid int
	line    line
}

// failures selects what is counted as failure.
type failures func(classTally) int64

func allFailures(t classTally) int64  { return t.errors + t.sheds }
func shedFailures(t classTally) int64 { return t.sheds }
func hardFailures(t classTally) int64 { return t.errors }

// sampleOf counts one kind of failure over the judged loads that were steady.
func sampleOf(loads []*load, count failures) sample {
	s := sample{line: lineOf(loads)}
	for _, l := range loads {
		if !l.valid() {
			s.invalid += len(l.all)
			continue
		}
		if !l.steady {
			s.unsteady = append(s.unsteady, l.perS)
			continue
		}
		for _, r := range l.judged {
			for _, b := range r.blocks {
				if b.n > 0 {
					s.blocks = append(s.blocks, stats.Run{Level: len(s.runs), N: float64(b.n), K: float64(count(b))})
				}
			}
			c := r.counts()
			s.runs = append(s.runs, stats.Run{Level: len(s.x), N: float64(c.n), K: float64(count(c))})
			s.of = append(s.of, r)
		}
		s.x, s.loads = append(s.x, l.x), append(s.loads, l.perS)
	}
	return s
}

// unsteadyAbove are the loads left out above a load.
func (s sample) unsteadyAbove(load float64) []float64 {
	var above []float64
	for _, x := range s.unsteady {
		if x > load {
			above = append(above, x)
		}
	}
	return above
}

func (s sample) pooled() stats.Counts { return stats.Pool(s.x, s.runs) }

// within is the dispersion between runs of one load, DF 0 without replicates.
func (s sample) within() stats.Dispersion { return stats.WithinLevels(len(s.x), s.runs) }

// inTime is the dispersion between the blocks of each run.
func (s sample) inTime() stats.Dispersion { return stats.WithinLevels(len(s.runs), s.blocks) }

// replicated is the dispersion that needs no model: between runs of one load
// where most loads were run again, else between the blocks of a run too.
func (s sample) replicated() stats.Dispersion {
	d := s.within()
	if 2*int(d.DF) >= len(s.x) {
		return d
	}
	return d.Pool(s.inTime())
}
