package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// McNemar returns the exact two-sided p-value of b against c discordant pairs,
// b, c ≥ 0: 2·P(X ≥ max(b, c)), X ~ Binomial(b+c, ½), at most 1. Fractional
// counts (deflated by a dispersion) go through the incomplete beta function. It
// holds where pairs are independent of each other.
//
// Source: McNemar, Psychometrika 12:153 (1947), in its exact form.
func McNemar(b, c float64) float64 {
	most, least := max(b, c), min(b, c)
	if most <= 0 {
		return 1
	}
	return min(1, 2*mathext.RegIncBeta(most, least+1, 0.5))
}

// DifferenceInterval returns p1 − p0 for k1 of n1 and k0 of n0, n > 0, with the
// interval from both Wilson intervals: method 10 of Newcombe, Statist. Med.
// 17:873 (1998). For paired outcomes, which agree more often than not, it is
// wider than it has to be.
func DifferenceInterval(k1, n1, k0, n0, confidence float64) (difference float64, i Interval) {
	p1, p0 := k1/n1, k0/n0
	w1, w0 := Wilson(k1, n1, confidence), Wilson(k0, n0, confidence)
	difference = p1 - p0
	return difference, Interval{
		Low:        difference - math.Hypot(p1-w1.Low, w0.High-p0),
		High:       difference + math.Hypot(w1.High-p1, p0-w0.Low),
		Confidence: confidence,
	}
}

// RatioInterval returns the exact conditional interval of the ratio of two
// rates, k1 of n1 to k0 of n0: given k1 + k0, k1 is Binomial with share
// n1·R ÷ (n1·R + n0). The lower end is above 0 where k1 > 0, also at k0 = 0,
// where the ratio itself does not exist; the upper end is +Inf there.
//
// Source: Lehmann & Romano, Testing Statistical Hypotheses, §4.5.
func RatioInterval(k1, n1, k0, n0, confidence float64) Interval {
	if k1+k0 <= 0 {
		return Interval{Low: 0, High: math.Inf(1), Confidence: confidence}
	}
	share := ClopperPearson(k1, k1+k0, confidence)
	odds := func(p float64) float64 { return p / (1 - p) * n0 / n1 }
	return Interval{Low: odds(share.Low), High: odds(share.High), Confidence: confidence}
}

// RateTest returns the two-sided p-value of equal rates for k1 of n1 and k0 of
// n0 independent requests, n > 0: twice the smaller tail of k1 given k1 + k0,
// at most 1. Failures may be fractional (deflated by a dispersion).
//
// Source: Przyborowski & Wilenski, Biometrika 31:313 (1940).
func RateTest(k1, n1, k0, n0 float64) float64 {
	if k1+k0 <= 0 {
		return 1
	}
	share := n1 / (n1 + n0)
	above, below := 1.0, 1.0
	if k1 > 0 {
		above = mathext.RegIncBeta(k1, k0+1, share)
	}
	if k0 > 0 {
		below = mathext.RegIncBeta(k0, k1+1, 1-share)
	}
	return min(1, 2*min(above, below))
}
