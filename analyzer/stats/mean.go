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
