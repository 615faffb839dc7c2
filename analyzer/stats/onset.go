package stats

import (
	"fmt"
	"math"
)

// Onset is the maximum-likelihood onset model under one link g:
//
//	g(ε(λ)) = a + b·(λ − λc)₊, b ≥ 0
//
// with λc in [λ₁, λ_{m−1}]: between the last two levels the likelihood is
// flat.
type Onset struct {
	Link Link
	// Lambda is λc; Epsilon0 = g⁻¹(a) the rate below it; Delta = 1/b the load
	// over which the rate grows e-fold, +Inf where b = 0.
	Lambda, Epsilon0, Delta float64
	LogLik, Deviance        float64
	// Interval is the profile interval of λc, DeltaInterval that of Delta.
	Interval      OpenInterval
	DeltaInterval OpenInterval
	a, b          float64
}

// Rate returns ε(λ).
func (o Onset) Rate(lambda float64) float64 {
	p, _, _ := o.Link.inverse(o.a + o.b*max(0, lambda-o.Lambda))
	return p
}

const onsetPerGap = 8

// FitOnset fits the onset model to at least four levels. The interval of λc
// is {λ : D(λ) − D(λ̂c) ≤ cut} with D the binomial deviance; cut is
// φ̂·F.95(1, ν), or χ².95(1) = 3.8415 for counts that are coin tosses.
//
// Errors match [ErrInput].
func FitOnset(c Counts, l Link, cut float64) (Onset, error) {
	if err := c.Check(); err != nil {
		return Onset{}, err
	}
	if len(c.X) < 4 {
		return Onset{}, fmt.Errorf("fit onset: %w: %d levels, need 4", ErrInput, len(c.X))
	}
	h := newHinge(c, l)
	p := h.profile(onsetPerGap)
	lambda, top := p.peak()
	fit := h.at(lambda)
	out := Onset{
		Link: l, Lambda: lambda, LogLik: top, Deviance: 2 * (c.saturated() - top),
		Interval: p.interval(lambda, top, cut), a: fit.a, b: fit.b,
	}
	out.Epsilon0, _, _ = l.inverse(fit.a)
	out.Delta = 1 / fit.b
	out.DeltaInterval = h.deltaInterval(p, fit, top, cut)
	return out, nil
}

func (h *hinge) profile(perGap int) profile {
	knots := h.counts.X[:len(h.counts.X)-1]
	return scan(between(knots, perGap), func(x float64) float64 { return h.at(x).logLik })
}

// deltaInterval profiles b over a grid of λc: for each λc inside, the range of
// b within the cut, by bisection outward from its maximum.
func (h *hinge) deltaInterval(p profile, best hingeFit, top, cut float64) OpenInterval {
	if best.b <= 0 {
		return OpenInterval{Low: 0, High: math.Inf(1), LowOpen: true, HighOpen: true}
	}
	level := top - cut/2
	low, high := best.b, best.b
	for i, x := range p.grid {
		if p.values[i] < level {
			continue
		}
		fit := h.at(x)
		low = min(low, h.slopeBound(fit, -1, level))
		high = max(high, h.slopeBound(fit, +1, level))
	}
	out := OpenInterval{Low: 1 / high, High: 1 / max(low, 1e-300)}
	out.HighOpen = low <= best.b*1e-6
	out.LowOpen = high >= best.b*1e6
	return out
}

// slopeBound is the b farthest from fit.b, in one direction, whose likelihood
// maximized over a is at least level.
func (h *hinge) slopeBound(fit hingeFit, direction, level float64) float64 {
	inside, outside := math.Log(max(fit.b, 1e-300)), 0.0
	for step := 0.125; ; step *= 2 {
		outside = inside + direction*step
		if step > 16 || h.bestIntercept(fit.a, math.Exp(outside)) < level {
			break
		}
	}
	for range 24 {
		mid := (inside + outside) / 2
		if h.bestIntercept(fit.a, math.Exp(mid)) >= level {
			inside = mid
		} else {
			outside = mid
		}
	}
	return math.Exp(inside)
}

// bestIntercept maximizes over a for fixed b, at the z of the last at.
func (h *hinge) bestIntercept(a, b float64) float64 {
	ll := h.logLik(a, b)
	for range scoringSteps {
		var score, info float64
		for i, z := range h.z {
			p, q, slope := h.link.inverse(a + b*z)
			v := slope / (p * q)
			score += v * (h.counts.K[i] - h.counts.N[i]*p)
			info += v * slope * h.counts.N[i]
		}
		if !(info > 0) {
			return ll
		}
		step := score / info
		next := h.logLik(a+step, b)
		for scale := 0.5; next < ll && scale > 1e-6; scale /= 2 {
			next = h.logLik(a+step*scale, b)
			if next >= ll {
				step *= scale
			}
		}
		if next < ll {
			return ll
		}
		gain := next - ll
		a, ll = a+step, next
		if gain < 1e-9*(1+math.Abs(ll)) {
			return ll
		}
	}
	return ll
}

// OnsetUnion is the onset over all links: the point of the best link and the
// hull of the three intervals. Each single link covers as low as 0.76 when
// another is true; their union 0.94 to 0.99 (calibrated).
type OnsetUnion struct {
	Best  Onset
	Fits  []Onset
	Range OpenInterval
	Delta OpenInterval
}

// FitOnsetUnion fits the onset under every link.
func FitOnsetUnion(c Counts, cut float64) (OnsetUnion, error) {
	var u OnsetUnion
	for i, l := range Links {
		fit, err := FitOnset(c, l, cut)
		if err != nil {
			return OnsetUnion{}, err
		}
		u.Fits = append(u.Fits, fit)
		if i == 0 {
			u.Best, u.Range, u.Delta = fit, fit.Interval, fit.DeltaInterval
			continue
		}
		u.Range, u.Delta = u.Range.Union(fit.Interval), u.Delta.Union(fit.DeltaInterval)
		if fit.LogLik > u.Best.LogLik {
			u.Best = fit
		}
	}
	return u, nil
}

// OnsetInterval is the λc of the best link and the hull of the intervals of all
// three, as in [FitOnsetUnion], without Δ and at a quarter of its cost.
func OnsetInterval(c Counts, cut float64) (lambda float64, i OpenInterval, err error) {
	if err := c.Check(); err != nil {
		return 0, i, err
	}
	if len(c.X) < 4 {
		return 0, i, fmt.Errorf("fit onset: %w: %d levels, need 4", ErrInput, len(c.X))
	}
	best := math.Inf(-1)
	for at, l := range Links {
		p := newHinge(c, l).profile(onsetPerGap / 2)
		x, top := p.peak()
		if in := p.interval(x, top, cut); at == 0 {
			i = in
		} else {
			i = i.Union(in)
		}
		if top > best {
			lambda, best = x, top
		}
	}
	return lambda, i, nil
}

// SubSaturated returns the levels below the first whose observed rate exceeds
// threshold. Saturated levels carry the shape of the ceiling into λc: with
// them the interval of a log-link fit covers 0.00 (calibrated).
func (c Counts) SubSaturated(threshold float64) Counts {
	for i := range c.X {
		if c.K[i]/c.N[i] > threshold {
			return c.First(i)
		}
	}
	return c
}
