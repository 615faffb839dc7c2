package analyzer

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
