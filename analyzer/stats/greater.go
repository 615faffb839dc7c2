package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Greater tests whether the mean of a is above that of b: Welch's t-test with
// Satterthwaite's degrees of freedom, one-sided, each with at least two values. It
// returns the mean of b, that of a, and the p-value: 1 where neither varies and
// the means are equal.
func Greater(a, b []float64) (meanB, meanA, p float64) {
	meanA, va := meanVariance(a)
	meanB, vb := meanVariance(b)
	va, vb = va/float64(len(a)), vb/float64(len(b))
	t := (meanA - meanB) / math.Sqrt(va+vb)
	switch {
	case math.IsNaN(t):
		return meanB, meanA, 1
	case math.IsInf(t, 0):
		return meanB, meanA, max(0, -math.Copysign(1, t))
	}
	return meanB, meanA, distuv.StudentsT{Sigma: 1, Nu: satterthwaite(va, vb, len(a), len(b))}.Survival(t)
}

func meanVariance(xs []float64) (mean, variance float64) {
	mean = sum(xs) / float64(len(xs))
	for _, x := range xs {
		variance += (x - mean) * (x - mean)
	}
	return mean, variance / float64(len(xs)-1)
}
