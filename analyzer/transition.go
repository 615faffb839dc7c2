package analyzer

import (
	"fmt"
	"math"
	"strings"

	"github.com/lambdac/lambdac/analyzer/stats"
)

const (
	// alpha of the existence test.
	alpha = 0.05
	// permutations is B of the existence test, stopped early once the verdict
	// is beyond doubt; bootstraps is B of the goodness of fit.
	permutations     = 999
	permutationsStop = 100
	bootstraps       = 199
	bootstrapsStop   = 10
	// A transition is judged on at least minFailures failures at minLoads
	// loads in minRuns runs.
	minFailures = 5
	minLoads    = 5
	minRuns     = 6
)

// transition is what a sample says about where its error rate leaves the floor.
type transition struct {
	sample   sample
	counts   stats.Counts
	closed   bool
	seed     uint64
	c        LambdaC
	families []ranked
	// model and upTo draw the published curve; model is nil where none is.
	model func(x float64) float64
	upTo  float64
	// fit is the model that the published one was taken from, fitted to these
	// counts; nil where no family was published.
	fit    *stats.Model
	fitted stats.Counts
	// dispersion is that of the published interval.
	dispersion stats.Dispersion
	from       string
	truncated  int
}

// judgeTransition asks whether the failures of a sample rise with load, with
// which shape, and from which load on.
func judgeTransition(s sample, closed bool, seed uint64) *transition {
	t := &transition{
		sample: s, counts: s.pooled(), closed: closed, seed: seed,
		c: LambdaC{Verdict: Insufficient, Confidence: confidence, NotSeparable: []string{}},
	}
	if t.c.Missing = t.missing(); t.c.Missing != "" {
		if len(s.unsteady) > 0 {
			t.c.Missing += fmt.Sprintf("; %s/s were still filling the service, or overload it: warm up and hold longer", listLoads(s.unsteady))
		}
		t.c.Missing += t.indication()
		return t
	}
	test, err := stats.Existence(s.x, s.runs, stats.Resampling{Seed: seed, Max: permutations, StopAfter: permutationsStop})
	if err != nil {
		t.c.Missing = err.Error()
		return t
	}
	t.c.PValue = &test.P
	failing := t.rate(0) > saturatedAbove
	switch {
	case test.P >= alpha && failing:
		t.failingThroughout()
	case test.P >= alpha:
		t.absent()
	case failing:
		t.belowFirst()
	default:
		t.c.Verdict = Found
		t.rank()
		t.publish()
	}
	return t
}

func (t *transition) rate(i int) float64 { return t.counts.K[i] / t.counts.N[i] }

// missing says what the sample lacks to be judged, with the requests that it
// takes; empty = nothing.
func (t *transition) missing() string {
	var needs []string
	for _, need := range []string{t.missingRuns(), t.missingFailures()} {
		if need != "" {
			needs = append(needs, need)
		}
	}
	return strings.Join(needs, "; ")
}

func (t *transition) missingRuns() string {
	loads, runs := len(t.sample.x), len(t.sample.runs)
	perRun := t.trials() / float64(max(1, runs))
	switch {
	case loads < minLoads && t.sample.invalid > 0:
		return fmt.Sprintf("%s can be judged, %d are needed: %s invalid for the reasons given with the run; mend these and run again",
			count(loads, "load"), minLoads, countAre(t.sample.invalid, "run"))
	case loads < minLoads && runs == 0:
		return fmt.Sprintf("no load can be judged, %d are needed", minLoads)
	case loads < minLoads:
		return fmt.Sprintf("%s can be judged, %d are needed: %d more, about %.0f requests",
			count(loads, "load"), minLoads, minLoads-loads, math.Ceil(perRun*float64(minLoads-loads)))
	case runs < minRuns:
		return fmt.Sprintf("%s can be judged, %d are needed: %d more, about %.0f requests",
			count(runs, "run"), minRuns, minRuns-runs, math.Ceil(perRun*float64(minRuns-runs)))
	}
	return ""
}

func (t *transition) missingFailures() string {
	failed, total := t.failures(), t.trials()
	switch {
	case total == 0 || failed >= minFailures:
		return ""
	case failed == 0:
		bound := stats.ClopperPearson(0, total, 2*oneSided-1).High
		return fmt.Sprintf("no failure in %.0f requests (so fewer than %.2g %% fail, at 97.5 %% confidence), %d are needed: raise the load",
			total, 100*bound, minFailures)
	}
	return fmt.Sprintf("%s in %.0f requests, %d are needed: about %.0f more requests, or a higher load",
		count(int(failed), "failure"), total, minFailures, math.Ceil(total*(minFailures-failed)/failed))
}

// indication says what too few loads or runs suggest, if requests fail
// independently of each other.
func (t *transition) indication() string {
	if len(t.sample.x) < 2 || t.failures() < minFailures {
		return ""
	}
	p, err := stats.ExactTrend(t.counts)
	if err != nil || p >= alpha {
		return ""
	}
	return fmt.Sprintf("; a rise is indicated (p = %.2g if requests fail independently)", p)
}

func (t *transition) failures() float64 {
	sum := 0.0
	for _, k := range t.counts.K {
		sum += k
	}
	return sum
}

// failingThroughout: even the lowest load is above the cut, and no load is
// worse: a service that fails whatever the load looks like one that is
// overloaded at every load.
func (t *transition) failingThroughout() {
	first := t.sample.loads[0]
	t.c.NextPerS = new(first / 2)
	t.c.Missing = fmt.Sprintf(
		"%.1f %% fail already at %s/s, and no more at higher loads: overloaded by all of them, or failing whatever the load; run lower loads, such as %.4g/s",
		100*t.rate(0), formatNumber(first), first/2)
}

// belowFirst: even the lowest load is above the cut, and higher ones are worse.
// λc is below the lowest, unless a capacity stands clear of the two lowest
// loads: then what fails there fails whatever the load.
func (t *transition) belowFirst() {
	t.c.Verdict = Found
	t.rank()
	best := t.families[0]
	var capacity stats.OpenInterval
	if best.model.Shape.HasCapacity() && best.allowed {
		capacity = t.capacity(best)
		t.families[0].interval = &capacity
		if !capacity.LowOpen && capacity.Low > t.counts.X[1] && t.fits() {
			t.publishCapacity()
			t.c.Reason += fmt.Sprintf("; %.1f %% fail whatever the load", 100*best.model.Epsilon0)
			return
		}
	}
	first := t.sample.loads[0]
	t.c.High, t.c.NextPerS = new(first), new(first/2)
	t.c.Reason = fmt.Sprintf("λc is below the lowest load: %.1f %% fail at %s", 100*t.rate(0), formatNumber(first))
	if t.families[0].interval == nil || capacity.HighOpen || capacity.LowOpen || capacity.Low > first {
		return
	}
	t.c.Reason += fmt.Sprintf("; extrapolated by the %s family, the capacity is %.4g (%.4g to %.4g)",
		best.model.Shape, best.model.Lambda, capacity.Low, capacity.High)
}

// absent: the rate does not rise with load beyond chance. What could have been
// found is part of the answer.
func (t *transition) absent() {
	t.c.Verdict = NotFound
	t.c.Family = new(stats.ShapeConst.String())
	t.c.Epsilon0 = new(t.failures() / t.trials())
	last := t.sample.loads[len(t.sample.loads)-1]
	t.c.NextPerS = new(1.5 * last)
	t.c.Reason = fmt.Sprintf("the error rate does not rise with load up to %s", formatNumber(last))
	if above := t.sample.unsteadyAbove(last); len(above) > 0 {
		t.c.NextPerS = nil
		t.c.Reason += fmt.Sprintf("; at %s/s the service did not keep up within the window, which errors do not show", listLoads(above))
	}
	ratio, ok := stats.DetectableRatio(t.sample.x, t.sample.runs, t.sample.replicated().Phi, t.seed)
	if !ok {
		t.c.Reason += "; too few failures to tell what rise would have been found"
		return
	}
	t.c.DetectableRatio = &ratio
	t.c.Reason += fmt.Sprintf("; a rise to %.3g times the base rate would have been found with 80 %% power", ratio)
}

func (t *transition) trials() float64 {
	sum := 0.0
	for _, n := range t.counts.N {
		sum += n
	}
	return sum
}
