package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// MeanInterval returns the mean of independent values and its t interval:
//
//	x̄ ± t_{ν}·s ÷ √n, ν = n − 1
//
// ok is false for fewer than two values.
func MeanInterval(xs []float64, confidence float64) (mean float64, i Interval, ok bool) {
	n := float64(len(xs))
	if n < 2 {
		return 0, Interval{}, false
	}
	mean = sum(xs) / n
	square := 0.0
	for _, x := range xs {
		square += (x - mean) * (x - mean)
	}
	t := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(1 - (1-confidence)/2)
	half := t * math.Sqrt(square/(n-1)/n)
	return mean, Interval{Low: mean - half, High: mean + half, Confidence: confidence}, true
}

// MeanTest returns the two-sided p-value of the t test that the mean of
// independent values is 0: P(|T_ν| ≥ |x̄|·√n ÷ s), ν = n − 1. Values without
// spread give 0, or 1 where they are 0. ok is false for fewer than two.
//
// Source: Student, Biometrika 6:1 (1908).
func MeanTest(xs []float64) (p float64, ok bool) {
	mean, i, ok := MeanInterval(xs, 0.95)
	half := (i.High - i.Low) / 2
	switch {
	case !ok:
		return 0, false
	case half == 0 && mean == 0:
		return 1, true
	case half == 0:
		return 0, true
	}
	d := distuv.StudentsT{Sigma: 1, Nu: float64(len(xs) - 1)}
	return 2 * d.Survival(math.Abs(mean)/half*d.Quantile(0.975)), true
}
