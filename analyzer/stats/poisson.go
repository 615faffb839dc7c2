package stats

import "gonum.org/v1/gonum/stat/distuv"

// PoissonInterval returns the exact equal-tail interval of the mean of a Poisson
// count of which k ≥ 0 were seen:
//
//	[χ²(α/2; 2k) ÷ 2, χ²(1−α/2; 2k+2) ÷ 2], α = 1 − confidence
//
// The low end is 0 at k = 0. Source: Garwood, Biometrika 28:437 (1936).
func PoissonInterval(k, confidence float64) Interval {
	tail := (1 - confidence) / 2
	i := Interval{Confidence: confidence, High: distuv.ChiSquared{K: 2*k + 2}.Quantile(1-tail) / 2}
	if k > 0 {
		i.Low = distuv.ChiSquared{K: 2 * k}.Quantile(tail) / 2
	}
	return i
}
