package analyzer

import (
	"fmt"

	"github.com/lambdac/lambdac/analyzer/stats"
)

// publish says as much about λc as the data bear: a capacity, an onset, a
// jump, or only a bracket.
func (t *transition) publish() {
	best := t.families[0].model.Shape
	for _, f := range t.rivals()[1:] {
		t.c.NotSeparable = append(t.c.NotSeparable, f.model.Shape.String())
	}
	if !t.fits() {
		t.c.Reason = "no family fits the error rates: only the loads between which it rises are given"
		t.bracket()
		return
	}
	switch {
	case best == stats.ShapeStep:
		t.jump()
	case best.HasCapacity() && !t.onsetInstead():
		t.publishCapacity()
	default:
		t.publishOnset()
	}
	t.suggestNext()
}

// extrapolateAbove is how much worse in AICc the onset must be before a
// capacity is published that no load has reached.
const extrapolateAbove = 10

// onsetInstead reports whether an onset is published although a capacity
// family is best: where no load is saturated the capacity would be
// extrapolated from the foot of the curve, which takes strong evidence.
func (t *transition) onsetInstead() bool {
	if t.saturated() {
		return false
	}
	for _, f := range t.families {
		if f.model.Shape == stats.ShapeOnset || f.model.Shape == stats.ShapeLogistic {
			return f.delta <= extrapolateAbove
		}
	}
	return false
}

func (t *transition) saturated() bool {
	for i := range t.counts.X {
		if t.rate(i) > saturatedAbove {
			return true
		}
	}
	return false
}

// dispersionOf is the φ̂ of a published interval. Without replicates it is the
// model's residual, whose few degrees of freedom widen the interval; with few
// (one load run twice) it is both together; with many, a residual above theirs
// adds the misfit of a family that is only nearly true.
func (t *transition) dispersionOf(m stats.Model, c stats.Counts) (d stats.Dispersion, from string) {
	residual := stats.Residual(m, c)
	within := t.sample.within()
	if within.DF < 1 {
		return residual, "residual of the model"
	}
	if within.DF < residual.DF {
		return within.Pool(residual), "between runs of one load and residual of the model"
	}
	if residual.Phi > within.Phi {
		return stats.Dispersion{Phi: residual.Phi, DF: within.DF}, "residual of the model, degrees of freedom of the runs"
	}
	return within, "between runs of one load"
}

// capacity is the profile interval of a shed or queue family.
func (t *transition) capacity(f ranked) stats.OpenInterval {
	d, from := t.dispersionOf(f.model, t.counts)
	t.dispersion, t.from = d, from
	fit, err := stats.FitCapacity(t.counts, f.model.Shape, d.Cut(confidence))
	if err != nil {
		return stats.OpenInterval{LowOpen: true, HighOpen: true}
	}
	return fit.Interval
}

// publishCapacity publishes the capacity of the best family with the hull of
// the intervals of all capacity families that fit as well, and of the queue in
// any case: a queue of unknown length contains the server that sheds, and
// AICc at nine loads charges 4.8 for that length, so "shed" often wins where a
// short queue is true, with intervals that cover 0.7 (measured). Where no line was
// seen, a service without any waiting room joins: its capacity is a few percent
// above what the queue's curve says and below what Erlang's says, so that the
// point is their mean.
func (t *transition) publishCapacity() {
	best := t.families[0]
	hull := t.capacity(best)
	var joined []*ranked
	without := false
	for i := range t.families {
		f := &t.families[i]
		if !t.joins(f) {
			continue
		}
		interval := t.capacity(*f)
		f.interval = &interval
		if f.model.Shape == stats.ShapeLoss {
			without = true
			interval.High *= t.sample.line.turn()
		}
		hull = hull.Union(interval)
		joined = append(joined, f)
	}
	point := best.model.Lambda
	if without {
		point = averaged(joined, t.sample.line.turn())
	}
	t.dispersion, t.from = t.dispersionOf(best.model, t.counts)
	t.c.Family = new(best.model.Shape.String())
	t.c.Epsilon0 = finite(best.model.Epsilon0)
	t.c.Point = finite(point)
	t.c.Low, t.c.High = openEnds(hull)
	t.fitted, t.fit = t.counts, &best.model
	t.model, t.upTo = best.model.Rate, t.counts.X[len(t.counts.X)-1]
	t.c.Reason = "the capacity beyond which requests are refused"
	if without {
		t.c.Reason += ", be it with a queue or, since requests were not seen to wait in one, with none: the interval holds both"
	}
	if last := t.upTo; best.model.Lambda > last || best.model.Lambda < t.counts.X[0] {
		t.c.Reason += ", extrapolated beyond the loads that were run"
	}
	if best.model.Lambda < t.counts.X[1] {
		// The base rate then is that of one load, which may be above the capacity.
		t.c.Point, t.c.Epsilon0 = nil, nil
		t.c.Reason += "; fewer than two loads lie below it, so that the base rate and the capacity cannot be told apart and no point is given: run lower loads"
	}
	if t.c.High == nil || *t.c.High > t.upTo {
		t.c.Point = nil
		t.c.Reason += fmt.Sprintf("; its interval reaches beyond the highest load, %.4g/s, so no point is given: run loads above it, for longer", t.upTo)
	}
}

// publishOnset publishes λc of the onset model on the loads that are not
// saturated.
func (t *transition) publishOnset() {
	t.c.Family = new(stats.ShapeOnset.String())
	if best := t.families[0].model.Shape; best == stats.ShapeLogistic {
		t.c.Family = new(best.String())
	}
	sub := t.counts.SubSaturated(saturatedAbove)
	t.truncated = len(t.counts.X) - len(sub.X)
	if len(sub.X) < 4 {
		t.c.Reason = fmt.Sprintf("only %d loads are not saturated, an onset needs 4", len(sub.X))
		t.bracket()
		return
	}
	if t.cleanBelow(sub) {
		return
	}
	model, err := stats.FitShape(sub, stats.ShapeOnset)
	if err != nil {
		t.c.Reason = err.Error()
		t.bracket()
		return
	}
	t.dispersion, t.from = t.dispersionOf(model, sub)
	u, err := stats.FitOnsetUnion(sub, t.dispersion.Cut(confidence))
	if err != nil {
		t.c.Reason = err.Error()
		t.bracket()
		return
	}
	t.fitted, t.fit = sub, &model
	t.model, t.upTo = u.Best.Rate, sub.X[len(sub.X)-1]
	t.c.Epsilon0 = finite(u.Best.Epsilon0)
	t.c.Low, t.c.High = openEnds(u.Range)
	for i := range t.families {
		if t.families[i].model.Shape == stats.ShapeOnset {
			t.families[i].interval = &u.Range
		}
	}
	t.pointOf(u, sub)
}

// pointOf publishes the point where the interval is closed and no wider than
// 2Δ, and Δ where enough levels above λc carry it.
func (t *transition) pointOf(u stats.OnsetUnion, sub stats.Counts) {
	above, carrying := 0, 0
	for i, x := range sub.X {
		if x > u.Best.Lambda {
			above++
			if sub.K[i] >= 3 {
				carrying++
			}
		}
	}
	if carrying >= 3 {
		t.c.Delta = finite(u.Best.Delta)
	}
	switch {
	case u.Range.LowOpen || u.Range.HighOpen:
		t.c.Reason = fmt.Sprintf("the interval of λc is open: %.0f failures below it, 16 or better 40 are needed", t.below(u.Best.Lambda))
	case u.Range.Width() > 2*u.Best.Delta:
		t.c.Reason = "the interval of λc is wider than twice the load over which errors grow e-fold: no point is given"
	default:
		t.c.Point = finite(u.Best.Lambda)
		t.c.Reason = "the load from which errors grow"
	}
	if above == 1 && t.truncated == 0 || above == 0 {
		t.jumpAt(u.Best.Lambda)
	}
}

// below is Σ failures at loads up to x.
func (t *transition) below(x float64) float64 {
	sum := 0.0
	for i, at := range t.counts.X {
		if at <= x {
			sum += t.counts.K[i]
		}
	}
	return sum
}

// cleanBelow publishes a bracket where no failure at all was seen below the
// onset: a rate of zero has no floor to leave.
func (t *transition) cleanBelow(sub stats.Counts) bool {
	first := 0
	for first < len(sub.K) && sub.K[first] == 0 {
		first++
	}
	last := first
	for last < len(sub.K) && sub.K[last] > 0 {
		last++
	}
	if first == 0 || last < len(sub.K) {
		return false
	}
	t.between(first - 1)
	t.c.Epsilon0 = nil
	t.c.Reason = "no failure was seen below the onset: it lies between the last clean load and the first with failures"
	return true
}

// between publishes the gap after load i.
func (t *transition) between(i int) {
	i = min(max(i, 0), len(t.counts.X)-2)
	t.c.Low, t.c.High = new(t.sample.loads[i]), new(t.sample.loads[i+1])
}

// jump publishes the two loads of a step.
func (t *transition) jump() {
	m := t.families[0].model
	t.c.Family = new(m.Shape.String())
	t.c.Epsilon0 = finite(m.Epsilon0)
	t.jumpAt(m.Lambda)
	t.c.Low, t.c.High = t.c.JumpLow, t.c.JumpHigh
	t.model, t.upTo = m.Rate, t.counts.X[len(t.counts.X)-1]
	t.dispersion, t.from = t.dispersionOf(m, t.counts)
	t.c.Reason = "the error rate jumps between two neighbouring loads"
}

func (t *transition) jumpAt(x float64) {
	for i := range len(t.counts.X) - 1 {
		if t.counts.X[i] <= x && x < t.counts.X[i+1] {
			t.c.JumpLow, t.c.JumpHigh = new(t.sample.loads[i]), new(t.sample.loads[i+1])
		}
	}
}

// bracket publishes the gap before the first load whose rate is proven above
// that of all loads below it.
func (t *transition) bracket() {
	phi := max(1, t.sample.replicated().Phi)
	k, n := t.counts.K[0], t.counts.N[0]
	for i := 1; i < len(t.counts.X); i++ {
		base := stats.ClopperPearson(k/phi, n/phi, confidence)
		here := stats.ClopperPearson(t.counts.K[i]/phi, t.counts.N[i]/phi, confidence)
		if here.Low > base.High {
			t.between(i - 1)
			return
		}
		k, n = k+t.counts.K[i], n+t.counts.N[i]
	}
	t.c.Verdict = Insufficient
	t.c.Missing = "no load is proven worse than those below it: repeat the loads near the rise"
}

// suggestNext proposes the middle of the widest gap inside the interval.
func (t *transition) suggestNext() {
	xs := t.sample.loads
	low, high := xs[0], xs[len(xs)-1]
	if t.c.Low != nil {
		low = *t.c.Low
	}
	if t.c.High != nil {
		high = *t.c.High
	}
	switch last := xs[len(xs)-1]; {
	case low < xs[0]:
		t.c.NextPerS = new(xs[0] / 2)
		return
	case high > last:
		t.c.NextPerS = new(1.25 * last)
		return
	}
	widest := 0.0
	for i := range len(xs) - 1 {
		if gap := xs[i+1] - xs[i]; xs[i+1] >= low && xs[i] <= high && gap > widest {
			widest = gap
			t.c.NextPerS = new((xs[i] + xs[i+1]) / 2)
		}
	}
}
