package stats

import "math"

// OnsetDesign returns which of the candidate loads, held for one more level of
// n(x) requests, is expected to shrink the variance of λc most, and by which
// share.
//
// The utility is the mean of log Var(λc) over what the profile likelihood of λc
// leaves possible (weights exp(ℓ − ℓ̂), log link), with Var(λc) from the Fisher
// information of the onset model
//
//	I = Σ n·(dp/dη)² ÷ p(1−p) · ggᵀ, g = (1, (x−λc)₊, −b·1[x > λc])
//
// of the levels so far and the candidate: a c-optimal design in the mean
// (Chaloner & Verdinelli, Statist. Sci. 10:273, 1995). ok is false where the
// counts bear no onset with b > 0.
func OnsetDesign(c Counts, candidates []float64, n func(x float64) float64) (best, shrink float64, ok bool) {
	if c.Check() != nil || len(c.X) < 4 {
		return 0, 0, false
	}
	h := newHinge(c, LinkLog)
	worlds := h.worlds()
	if len(worlds) == 0 {
		return 0, 0, false
	}
	gain := math.Inf(-1)
	for _, x := range candidates {
		g := 0.0
		for _, w := range worlds {
			with := w.info
			with.add(w.fit, LinkLog, w.lambda, x, n(x))
			g += w.weight * math.Log(w.info.variance()/with.variance())
		}
		if g > gain {
			best, gain = x, g
		}
	}
	return best, 1 - math.Exp(-gain), gain > 0
}

// world is one onset that the data leave possible.
type world struct {
	lambda, weight float64
	fit            hingeFit
	info           onsetInfo
}

// worlds are the points of the profile of λc with their weights, those of which
// the levels so far give λc a finite variance.
func (h *hinge) worlds() []world {
	p := h.profile(onsetPerGap)
	_, top := p.peak()
	var out []world
	total := 0.0
	for i, x := range p.grid {
		weight := math.Exp(p.values[i] - top)
		if weight < 1e-4 {
			continue
		}
		w := world{lambda: x, weight: weight, fit: h.at(x)}
		for j, at := range h.counts.X {
			w.info.add(w.fit, h.link, x, at, h.counts.N[j])
		}
		if v := w.info.variance(); w.fit.b > 0 && v > 0 && !math.IsInf(v, 0) {
			out = append(out, w)
			total += weight
		}
	}
	for i := range out {
		out[i].weight /= total
	}
	return out
}

// onsetInfo is the symmetric Fisher information of (a, b, λc).
type onsetInfo struct{ aa, ab, al, bb, bl, ll float64 }

// add takes n requests at load x.
func (i *onsetInfo) add(f hingeFit, l Link, lambda, x, n float64) {
	z, g := max(0, x-lambda), 0.0
	if x > lambda {
		g = -f.b
	}
	p, q, slope := l.inverse(f.a + f.b*z)
	w := n * slope * slope / (p * q)
	i.aa, i.ab, i.al = i.aa+w, i.ab+w*z, i.al+w*g
	i.bb, i.bl, i.ll = i.bb+w*z*z, i.bl+w*z*g, i.ll+w*g*g
}

// variance is the element of the inverse for λc; +Inf where it is singular.
func (i *onsetInfo) variance() float64 {
	minor := i.aa*i.bb - i.ab*i.ab
	det := i.ll*minor - i.al*(i.al*i.bb-i.ab*i.bl) + i.bl*(i.al*i.ab-i.aa*i.bl)
	if !(det > 1e-12*i.aa*i.bb*i.ll) {
		return math.Inf(1)
	}
	return minor / det
}
