package stats

import (
	"math"
	"sort"
)

// Quantile returns the p-quantile, 0 ≤ p ≤ 1, of ascending values by linear
// interpolation between order statistics at (n−1)p (type 7 of Hyndman & Fan,
// American Statistician 50:361, 1996: the default of R and NumPy); ok is
// false for no values.
func Quantile(ascending []float64, p float64) (value float64, ok bool) {
	n := len(ascending)
	if n == 0 {
		return 0, false
	}
	h := float64(n-1) * p
	low := min(int(h), n-1)
	high := min(low+1, n-1)
	return ascending[low] + (h-float64(low))*(ascending[high]-ascending[low]), true
}

// OrderInterval holds the ranks, from 1, of the order statistics that enclose
// a quantile.
type OrderInterval struct {
	Low, High int
	// Confidence is the exact coverage for a continuous distribution.
	Confidence float64
}

// QuantileRanks returns the equal-tail order-statistic interval of the
// q-quantile of n independent values: the narrowest ranks l < u with
//
//	P(B < l) ≤ (1−confidence)/2 and P(B ≥ u) ≤ (1−confidence)/2, B ~ Bin(n, q)
//
// ok is false where n is too small for either end: for the P99 at 95 % below
// 368.
func QuantileRanks(n int, q, confidence float64) (r OrderInterval, ok bool) {
	tail, size := (1-confidence)/2, float64(n)
	low, high := LowRank(n, q, tail), HighRank(n, q, tail)
	if low < 1 || high > n {
		return OrderInterval{}, false
	}
	covered := BinomialCDF(float64(high-1), size, q) - BinomialCDF(float64(low-1), size, q)
	return OrderInterval{Low: low, High: high, Confidence: covered}, true
}

// LowRank is the highest rank, from 1, whose order statistic is above the
// q-quantile with a probability of at most tail; 0 where there is none.
func LowRank(n int, q, tail float64) int {
	// low−1 is the highest k with P(B ≤ k) ≤ tail.
	return sort.Search(n, func(k int) bool { return BinomialCDF(float64(k), float64(n), q) > tail })
}

// HighRank is the lowest rank whose order statistic is below the q-quantile with
// a probability of at most tail; n + 1 where there is none.
func HighRank(n int, q, tail float64) int {
	return sort.Search(n+1, func(k int) bool { return BinomialSurvival(float64(k), float64(n), q) <= tail })
}

// MinPointN is the least n at which a q-quantile is printed as a point: ten
// values beyond it.
func MinPointN(q float64) int { return int(math.Ceil(10/(1-q) - 1e-9)) }
