package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Similarity is how alike vectors of one thing are.
type Similarity struct {
	// Mean is the mean cosine of all pairs; Low its one-sided jackknife bound.
	Mean, Low float64
	N         int
}

// PairwiseCosine returns the mean cosine of all pairs of W vectors u of length 1:
//
//	s = (‖Σ u‖² − W) ÷ (W(W − 1))
//
// with the lower bound of the jackknife over vectors, s − t_{W−1}·SE. Vectors of
// length 0 are left out; ok is false for fewer than three others. All have the
// same number of elements.
func PairwiseCosine(vectors [][]float64, confidence float64) (s Similarity, ok bool) {
	var units [][]float64
	for _, v := range vectors {
		if u := unit(v); u != nil {
			units = append(units, u)
		}
	}
	w := float64(len(units))
	if w < 3 {
		return Similarity{}, false
	}
	total := make([]float64, len(units[0]))
	for _, u := range units {
		for i, x := range u {
			total[i] += x
		}
	}
	all := dot(total, total)
	s.N, s.Mean = len(units), (all-w)/(w*(w-1))
	mean, square := 0.0, 0.0
	for _, u := range units {
		one := (all - 2*dot(u, total) + 1 - (w - 1)) / ((w - 1) * (w - 2))
		mean, square = mean+one/w, square+one*one/w
	}
	se := math.Sqrt(max(0, (w-1)*(square-mean*mean)))
	s.Low = s.Mean - distuv.StudentsT{Sigma: 1, Nu: w - 1}.Quantile(confidence)*se
	return s, true
}

// unit is a vector of length 1, nil for one of length 0.
func unit(v []float64) []float64 {
	length := math.Sqrt(dot(v, v))
	if length == 0 {
		return nil
	}
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = x / length
	}
	return out
}

func dot(a, b []float64) float64 {
	s := 0.0
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}
