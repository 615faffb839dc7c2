package stats

import "math"

// hinge fits η_i = a + b·(x_i − λc)₊ with b ≥ 0 to counts, for a given λc: a
// binomial GLM of two parameters. Its scratch is reused between calls, since a
// profile makes hundreds of fits.
type hinge struct {
	counts Counts
	link   Link
	z      []float64
}

// hingeFit is the maximum for one λc.
type hingeFit struct {
	a, b   float64
	logLik float64
}

func newHinge(c Counts, l Link) *hinge {
	return &hinge{counts: c, link: l, z: make([]float64, len(c.X))}
}

// at returns the maximum for λc = at. The constrained maximum is the constant
// wherever the score of b at b = 0 is not positive, since the likelihood is
// concave in (a, b) under the logit and, where p is below the cap, under the
// other two; else it is the free maximum, found by Fisher scoring.
func (h *hinge) at(lambda float64) hingeFit {
	for i, x := range h.counts.X {
		h.z[i] = max(0, x-lambda)
	}
	constant := h.constant()
	if h.slopeScore() <= 0 {
		return constant
	}
	fit := h.climb(h.start())
	if fit.logLik < constant.logLik || fit.b < 0 {
		return constant
	}
	return fit
}

func (h *hinge) constant() hingeFit {
	p := sum(h.counts.K) / sum(h.counts.N)
	a := h.link.apply(p)
	return hingeFit{a: a, logLik: h.logLik(a, 0)}
}

// slopeScore has the sign of the score of b at the constant fit:
// Σ z_i (k_i − n_i p̄).
func (h *hinge) slopeScore() float64 {
	p := sum(h.counts.K) / sum(h.counts.N)
	s := 0.0
	for i, z := range h.z {
		s += z * (h.counts.K[i] - h.counts.N[i]*p)
	}
	return s
}

// start joins the pooled rate below λc with that of the last level, both
// shrunk off 0 and 1.
func (h *hinge) start() hingeFit {
	k, n := 0.0, 0.0
	for i, z := range h.z {
		if z == 0 {
			k, n = k+h.counts.K[i], n+h.counts.N[i]
		}
	}
	last := len(h.z) - 1
	if n == 0 {
		k, n = h.counts.K[0], h.counts.N[0]
	}
	a := h.link.apply((k + 0.5) / (n + 1))
	top := h.link.apply((h.counts.K[last] + 0.5) / (h.counts.N[last] + 1))
	b := max((top-a)/h.z[last], 1e-9)
	return hingeFit{a: a, b: b, logLik: h.logLik(a, b)}
}

const scoringSteps = 60

// climb is Fisher scoring with step halving.
func (h *hinge) climb(f hingeFit) hingeFit {
	for range scoringSteps {
		da, db, ok := h.step(f.a, f.b)
		if !ok {
			return f
		}
		next, better := h.halve(f, da, db)
		if !better {
			return f
		}
		gain := next.logLik - f.logLik
		f = next
		if gain < 1e-11*(1+math.Abs(f.logLik)) && math.Abs(da)+math.Abs(db)*h.z[len(h.z)-1] < 1e-7 {
			return f
		}
	}
	return f
}

// halve shortens the step until the likelihood does not fall.
func (h *hinge) halve(f hingeFit, da, db float64) (hingeFit, bool) {
	for scale := 1.0; scale > 1e-6; scale /= 2 {
		a, b := f.a+scale*da, f.b+scale*db
		if ll := h.logLik(a, b); ll >= f.logLik {
			return hingeFit{a: a, b: b, logLik: ll}, true
		}
	}
	return f, false
}

// step solves the scoring equations: information · (da, db) = score.
func (h *hinge) step(a, b float64) (da, db float64, ok bool) {
	var sa, sb, iaa, iab, ibb float64
	for i, z := range h.z {
		p, q, slope := h.link.inverse(a + b*z)
		v := slope / (p * q)
		u := v * (h.counts.K[i] - h.counts.N[i]*p)
		w := v * slope * h.counts.N[i]
		sa, sb = sa+u, sb+u*z
		iaa, iab, ibb = iaa+w, iab+w*z, ibb+w*z*z
	}
	det := iaa*ibb - iab*iab
	if !(det > 1e-14*iaa*ibb) {
		return 0, 0, false
	}
	return (ibb*sa - iab*sb) / det, (iaa*sb - iab*sa) / det, true
}

func (h *hinge) logLik(a, b float64) float64 {
	ll := 0.0
	for i, z := range h.z {
		p, q, _ := h.link.inverse(a + b*z)
		k := h.counts.K[i]
		if k > 0 {
			ll += k * math.Log(p)
		}
		ll += (h.counts.N[i] - k) * math.Log(q)
	}
	return ll
}
