package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// maxExactRanks is the most values of which the exact distribution of rank sums
// is built, some 50 million additions.
const maxExactRanks = 100

// RankTest is a comparison of two independent samples.
type RankTest struct {
	// U counts the pairs in which the value of y is below that of x, ties half.
	U float64
	// P is two-sided: twice the smaller tail, at most 1. Exact, ties included, up
	// to 100 values; else normal with the correction for ties.
	P     float64
	Exact bool
	// Shift is the Hodges–Lehmann estimate of y − x: the median of all
	// differences.
	Shift float64
	// Interval of the shift; ok is false where no two order statistics of the
	// differences reach the confidence.
	Interval Interval
	Bounded  bool
}

// MannWhitney compares two samples, each of at least one value. Errors match
// [ErrInput].
//
// Source: Mann & Whitney, Ann. Math. Statist. 18:50 (1947); the shift and its
// interval: Hollander & Wolfe, Nonparametric Statistical Methods, §4.
func MannWhitney(x, y []float64, confidence float64) (RankTest, error) {
	if len(x) == 0 || len(y) == 0 {
		return RankTest{}, fmt.Errorf("compare ranks: %w: %d and %d values", ErrInput, len(x), len(y))
	}
	all := ranks(append(slices.Clone(x), y...))
	m, n := float64(len(x)), float64(len(y))
	u := sum(all[:len(x)]) - m*(m+1)/2
	t := RankTest{U: u}
	if len(all) <= maxExactRanks {
		t.P, t.Exact = exactRankP(all, len(x)), true
	} else {
		t.P = normalRankP(u, m, n, all)
	}
	d := make([]float64, 0, len(x)*len(y))
	for _, a := range x {
		for _, b := range y {
			d = append(d, b-a)
		}
	}
	slices.Sort(d)
	t.Shift, _ = Quantile(d, 0.5)
	if c := shiftRank(len(x), len(y), confidence); c >= 1 {
		t.Bounded, t.Interval = true, Interval{Low: d[c-1], High: d[len(d)-c], Confidence: confidence}
	}
	return t, nil
}

// rankSums is the number of ways, as a share of all, in which k of the ranks,
// doubled to be whole numbers, have each sum.
func rankSums(doubled []int, k int) []float64 {
	top := 0
	for _, r := range doubled {
		top += r
	}
	ways := make([][]float64, k+1)
	for i := range ways {
		ways[i] = make([]float64, top+1)
	}
	ways[0][0] = 1
	for seen, r := range doubled {
		for j := min(k, seen+1); j >= 1; j-- {
			for s := top; s >= r; s-- {
				ways[j][s] += ways[j-1][s-r]
			}
		}
	}
	total := sum(ways[k])
	for s := range ways[k] {
		ways[k][s] /= total
	}
	return ways[k]
}

func exactRankP(all []float64, k int) float64 {
	doubled := make([]int, len(all))
	observed := 0
	for i, r := range all {
		doubled[i] = int(math.Round(2 * r))
		if i < k {
			observed += doubled[i]
		}
	}
	below, above := 0.0, 0.0
	for s, w := range rankSums(doubled, k) {
		if s <= observed {
			below += w
		}
		if s >= observed {
			above += w
		}
	}
	return min(1, 2*min(below, above))
}

// normalRankP is the normal approximation with corrections for ties and
// continuity; 1 where all values are equal.
func normalRankP(u, m, n float64, all []float64) float64 {
	count := make(map[float64]float64)
	for _, r := range all {
		count[r]++
	}
	size, ties := m+n, 0.0
	for _, r := range slices.Sorted(slices.Values(all)) {
		if t := count[r]; t > 0 {
			ties += t*t*t - t
			count[r] = 0
		}
	}
	variance := m * n / 12 * (size + 1 - ties/(size*(size-1)))
	if variance <= 0 {
		return 1
	}
	z := max(0, math.Abs(u-m*n/2)-0.5) / math.Sqrt(variance)
	return 2 * distuv.UnitNormal.Survival(z)
}

// shiftRank is the rank, from either end of the differences, of the ends of the
// interval of the shift: the highest c with P(U ≤ c − 1) ≤ (1−confidence)/2; 0 =
// none.
func shiftRank(m, n int, confidence float64) int {
	tail := (1 - confidence) / 2
	if m+n > maxExactRanks {
		a, b := float64(m), float64(n)
		return int(max(0, math.Floor(a*b/2+normalQuantile(tail)*math.Sqrt(a*b*(a+b+1)/12))))
	}
	doubled := make([]int, m+n)
	for i := range doubled {
		doubled[i] = 2 * (i + 1)
	}
	at, p := 0, 0.0
	least := m * (m + 1) // of the doubled rank sum, where U = 0
	for s, w := range rankSums(doubled, m) {
		if s < least || s%2 == 1 {
			continue
		}
		if p += w; p > tail {
			break
		}
		at = (s-least)/2 + 1
	}
	return at
}
