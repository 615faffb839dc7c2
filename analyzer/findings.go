package analyzer

import (
	"slices"

	"github.com/lambdac/lambdac/analyzer/stats"
)

// findTransition fills lambda_c with its families, curve and methods.
func (a *Analysis) findTransition(loads []*load, runs []*run, closed bool) {
	s := sampleOf(loads, allFailures)
	if d := drift(loads, a.Methods.Seed); d.found {
		a.LambdaC = LambdaC{Verdict: Insufficient, Confidence: confidence, NotSeparable: []string{}, Missing: d.advice}
		a.Warnings = append(a.Warnings, d.advice)
		return
	} else if !d.tested {
		a.Warnings = append(a.Warnings, "drift of the environment was not tested: no load was run twice")
	}
	t := judgeTransition(s, closed, a.Methods.Seed)
	a.LambdaC = t.c
	for _, f := range t.families {
		a.Families = append(a.Families, familyOf(f))
	}
	a.Curve = t.curve()
	a.Methods.Truncated = t.truncated
	if t.from != "" {
		a.Methods.Dispersion, a.Methods.DispersionDF = finite(t.dispersion.Phi), finite(t.dispersion.DF)
		a.Methods.DispersionFrom = t.from
	}
}

const curvePoints = 121

// curve samples the published model from the lowest load on.
func (t *transition) curve() []CurvePoint {
	out := []CurvePoint{}
	if t.model == nil {
		return out
	}
	from := t.counts.X[0]
	for i := range curvePoints {
		x := from + (t.upTo-from)*float64(i)/(curvePoints-1)
		out = append(out, CurvePoint{OfferedPerS: x, ErrorRate: t.model(x)})
	}
	return out
}

// candidate is something that may break first.
type candidate struct {
	name      string
	broke     bool
	low, high *float64
}

// findFirstToBreak compares the onsets of sheds, of other errors and of the
// objectives.
func (a *Analysis) findFirstToBreak(loads []*load) {
	closed := a.Run.Loop == "closed"
	candidates := []candidate{
		breaking("sheds", judgeTransition(sampleOf(loads, shedFailures), closed, a.Methods.Seed).c),
		breaking("errors", judgeTransition(sampleOf(loads, hardFailures), closed, a.Methods.Seed).c),
	}
	for _, o := range a.Objectives {
		candidates = append(candidates, candidate{name: *o.SLO, broke: o.High != nil, low: o.Low, high: o.High})
	}
	a.FirstToBreak, a.FirstToBreakReason = firstOf(candidates)
}

func breaking(name string, c LambdaC) candidate {
	return candidate{name: name, broke: c.Verdict == Found, low: c.Low, high: c.High}
}

// firstOf returns the candidate whose bracket lies wholly below all others.
func firstOf(candidates []candidate) (*FirstToBreak, string) {
	var first *candidate
	for i, c := range candidates {
		switch {
		case !c.broke:
		case c.low == nil || c.high == nil:
			return nil, "the onset of " + c.name + " has an open end"
		case first == nil || *c.high < *first.high:
			first = &candidates[i]
		}
	}
	if first == nil {
		return nil, "nothing is proven to break at the loads that were run"
	}
	for _, c := range candidates {
		if c.broke && c.name != first.name && *c.low <= *first.high {
			return nil, "the onsets of " + first.name + " and " + c.name + " overlap"
		}
	}
	return &FirstToBreak{Name: first.name, Low: *first.low, High: *first.high}, ""
}

// driftResult says whether the environment moved during the run.
type driftResult struct {
	tested, found bool
	advice        string
}

const driftAlpha = 0.01

// drift tests the error rates and the P99s of runs of one load against the
// order in which they were run.
func drift(loads []*load, seed uint64) driftResult {
	var order, rates, tails []float64
	var group []int
	repeated := false
	for i, l := range loads {
		repeated = repeated || len(l.judged) > 1
		for _, r := range l.judged {
			c := r.counts()
			order = append(order, float64(r.level.Order))
			group = append(group, i)
			rates = append(rates, float64(c.errors+c.sheds)/float64(max(1, c.n)))
			tails = append(tails, r.tail())
		}
	}
	if !repeated {
		return driftResult{}
	}
	const advice = "randomise the order of loads, replicate them, or restart the service between them"
	for name, values := range map[string][]float64{"error rate": rates, "P99": tails} {
		test, err := stats.Trend(order, values, group, stats.Resampling{Seed: seed, StopAfter: permutationsStop})
		if err == nil && test.P < driftAlpha {
			return driftResult{tested: true, found: true, advice: "the environment drifted: the " + name + " follows the order of the runs; " + advice}
		}
	}
	return driftResult{tested: true}
}

// tail is the run's P99 of time to first token, of what there is; 0 = none.
func (r *run) tail() float64 {
	us := make([]float64, len(r.ttft))
	for i, t := range r.ttft {
		us[i] = float64(t)
	}
	slices.Sort(us)
	p99, _ := stats.Quantile(us, 0.99)
	return p99
}
