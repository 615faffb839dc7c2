package stats

import "math"

// RateRatio returns the ratio of two Poisson rates, (k1/n1) ÷ (k0/n0), with its
// exact conditional interval: given k1 + k0 their split is binomial,
//
//	k1 | k1+k0 ~ Bin(k1+k0, ρn1 ÷ (ρn1 + n0))
//
// so the Clopper–Pearson ends p of that share give ρ = p/(1−p) · n0/n1. The
// counts may be deflated. point is +Inf where k0 = 0, as is the upper end; ok is
// false where both are 0. Source: Przyborowski & Wilenski, Biometrika 31:313
// (1940).
func RateRatio(k1, n1, k0, n0, confidence float64) (point float64, i Interval, ok bool) {
	if k1+k0 <= 0 || !(n1 > 0) || !(n0 > 0) {
		return 0, Interval{}, false
	}
	share := ClopperPearson(k1, k1+k0, confidence)
	odds := func(p float64) float64 {
		if p >= 1 {
			return math.Inf(1)
		}
		return p / (1 - p) * n0 / n1
	}
	return odds(k1 / (k1 + k0)), Interval{Low: odds(share.Low), High: odds(share.High), Confidence: confidence}, true
}
