package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// MeanDifference returns the mean of a less that of b with Welch's interval,
// whose degrees of freedom are Satterthwaite's:
//
//	ā − b̄ ± t_ν·√(s²_a/n_a + s²_b/n_b)
//
// ok is false where either has fewer than two values. Source: Welch, Biometrika
// 34:28 (1947).
func MeanDifference(a, b []float64, confidence float64) (difference float64, i Interval, ok bool) {
	if len(a) < 2 || len(b) < 2 {
		return 0, Interval{}, false
	}
	meanA, va := meanVariance(a)
	meanB, vb := meanVariance(b)
	difference = meanA - meanB
	va, vb = va/float64(len(a)), vb/float64(len(b))
	half := 0.0
	if va+vb > 0 {
		t := distuv.StudentsT{Sigma: 1, Nu: satterthwaite(va, vb, len(a), len(b))}
		half = t.Quantile(1-(1-confidence)/2) * math.Sqrt(va+vb)
	}
	return difference, Interval{Low: difference - half, High: difference + half, Confidence: confidence}, true
}

// satterthwaite are the degrees of freedom of a difference of means whose
// variances are va and vb.
func satterthwaite(va, vb float64, na, nb int) float64 {
	return (va + vb) * (va + vb) / (va*va/float64(na-1) + vb*vb/float64(nb-1))
}
