package analyzer

import (
	"fmt"
	"strings"
)

// findTransitions fills lambda_c and first_to_break. Where the environment
// drifted during the run nothing is fitted.
func (a *Analysis) findTransitions(loads []*load, objectives []Objective) {
	d := drift(loads, a.Methods.Seed)
	switch {
	case d.found:
		a.LambdaC = LambdaC{Verdict: Insufficient, Confidence: confidence, NotSeparable: []string{}, Missing: d.advice}
		a.FirstToBreakReason = d.advice
		a.Warnings = append(a.Warnings, d.advice)
		return
	case !d.tested:
		a.Warnings = append(a.Warnings, "drift of the environment was not tested: no load has two runs that can be judged")
	}
	t := a.findTransition(loads)
	a.placeSLO(t, objectives)
	a.findFirstToBreak(loads, objectives)
}

// findTransition fills lambda_c with its families, curve and methods.
func (a *Analysis) findTransition(loads []*load) *transition {
	s := sampleOf(loads, allFailures)
	if len(s.unsteady) > 0 {
		a.Warnings = append(a.Warnings, fmt.Sprintf(
			"left out of the fits: %s/s, where more requests were open at the end of the window than at its start: the service was still filling, or completes less than that; warm up and hold longer to tell",
			listLoads(s.unsteady)))
	}
	t := judgeTransition(s, a.closed(), a.Methods.Seed)
	strange := deviants(loads)
	for _, d := range strange {
		a.Warnings = append(a.Warnings, d.text+"; repeat it")
	}
	if names := t.restsOn(strange); names != nil {
		t = t.withdrawn("the rise rests on a single run: " + strings.Join(names, "; ") + "; repeat it")
	}
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
	return t
}

// withdrawn is the transition without what it found.
func (t *transition) withdrawn(why string) *transition {
	return &transition{sample: t.sample, counts: t.counts, closed: t.closed, seed: t.seed, c: LambdaC{
		Verdict: Insufficient, Confidence: confidence, PValue: t.c.PValue, NotSeparable: []string{}, Missing: why,
	}}
}

// closed reports whether the load is a number in flight.
func (a *Analysis) closed() bool { return a.Run.Loop == "closed" }

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
