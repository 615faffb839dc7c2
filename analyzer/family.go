package analyzer

import (
	"cmp"
	"math"
	"slices"

	"github.com/lambdac/lambdac/analyzer/stats"
)

// separableAbove is the difference in AICc from which a family counts as worse.
const separableAbove = 2

// ranked is one fitted family with its place.
type ranked struct {
	model    stats.Model
	aicc     float64
	delta    float64
	allowed  bool
	goodness *float64
	interval *stats.OpenInterval
}

// rank fits every family to all loads and sorts them by AICc, families that do
// not apply to the loop last. In closed loop the load is the number in flight,
// where a server that sheds has no 1 − c/λ. A loss system is a family only where
// no line of waiting requests was seen.
func (t *transition) rank() {
	t.families = nil
	shapes := stats.Shapes
	if !t.closed && !t.sample.line.seen {
		shapes = append(slices.Clip(shapes), stats.ShapeLoss)
	}
	for _, s := range shapes {
		m, err := stats.FitShape(t.counts, s)
		if err != nil {
			continue
		}
		allowed := !t.closed || !s.HasCapacity() && s != stats.ShapeStep
		t.families = append(t.families, ranked{model: m, allowed: allowed})
	}
	phi := t.commonDispersion()
	for i := range t.families {
		f := &t.families[i]
		f.aicc = f.model.AICc(len(t.counts.X), phi)
	}
	slices.SortStableFunc(t.families, func(a, b ranked) int {
		if a.allowed != b.allowed {
			return cmp.Compare(rankOf(a.allowed), rankOf(b.allowed))
		}
		return cmp.Compare(a.aicc, b.aicc)
	})
	for i := range t.families {
		t.families[i].delta = t.families[i].aicc - t.families[0].aicc
	}
}

func rankOf(allowed bool) int {
	if allowed {
		return 0
	}
	return 1
}

// commonDispersion is the φ̂ that all families are compared under: that between
// runs where most loads were run again, else with the least residual of any
// family, since a wrong family shows its misfit as dispersion.
func (t *transition) commonDispersion() float64 {
	within := t.sample.within()
	if 2*int(within.DF) >= len(t.counts.X) {
		return within.Phi
	}
	least := stats.Dispersion{Phi: math.Inf(1)}
	for _, f := range t.families {
		if d := stats.Residual(f.model, t.counts); d.DF >= 1 && d.Phi < least.Phi {
			least = d
		}
	}
	return within.Pool(least).Phi
}

// rivals are the families that the data cannot tell from the best, it
// included.
func (t *transition) rivals() []*ranked {
	var out []*ranked
	for i := range t.families {
		if f := &t.families[i]; f.allowed && f.delta <= separableAbove {
			out = append(out, f)
		}
	}
	return out
}

// fits tests the best family; the p-value is kept with it.
func (t *transition) fits() bool {
	best := &t.families[0]
	r := stats.Resampling{Seed: t.seed, Max: bootstraps, StopAfter: bootstrapsStop}
	test, err := stats.Goodness(t.counts, best.model, t.sample.replicated().Phi, r)
	if err != nil {
		return false
	}
	best.goodness = &test.P
	return test.P >= 0.01
}

// familyOf is the published form.
func familyOf(f ranked) Family {
	out := Family{
		Family: f.model.Shape.String(), AICc: f.aicc, DeltaAICc: f.delta, Deviance: f.model.Deviance,
		GoodnessP: f.goodness, Allowed: f.allowed, Epsilon0: finite(f.model.Epsilon0),
	}
	switch f.model.Shape {
	case stats.ShapeOnset:
		out.Link, out.Delta = f.model.Link.String(), finite(f.model.Width)
	case stats.ShapeLogLinear:
		out.Link = f.model.Link.String()
	}
	if f.model.Shape != stats.ShapeLogistic {
		out.Critical = finite(f.model.Lambda)
	}
	if f.interval != nil {
		out.Low, out.High = openEnds(*f.interval)
	}
	return out
}

// finite is a pointer to x, nil where x is no number.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// openEnds are the ends, nil where open.
func openEnds(i stats.OpenInterval) (low, high *float64) {
	if !i.LowOpen {
		low = finite(i.Low)
	}
	if !i.HighOpen {
		high = finite(i.High)
	}
	return low, high
}
