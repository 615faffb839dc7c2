package stats

import (
	"fmt"
	"math"
	"slices"
)

// ranks returns mid-ranks from 1.
func ranks(xs []float64) []float64 {
	order := make([]int, len(xs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		switch {
		case xs[i] < xs[j]:
			return -1
		case xs[i] > xs[j]:
			return 1
		}
		return 0
	})
	out := make([]float64, len(xs))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && xs[order[j]] == xs[order[i]] {
			j++
		}
		for k := i; k < j; k++ {
			out[order[k]] = float64(i+j+1) / 2
		}
		i = j
	}
	return out
}

// Spearman returns the rank correlation of x and y with ties at mid-ranks,
// in [−1, 1]; 0 where either is constant.
func Spearman(x, y []float64) float64 { return pearsonCorrelation(ranks(x), ranks(y)) }

func pearsonCorrelation(x, y []float64) float64 {
	n := float64(len(x))
	mx, my := sum(x)/n, sum(y)/n
	var xy, xx, yy float64
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		xy, xx, yy = xy+dx*dy, xx+dx*dx, yy+dy*dy
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return xy / math.Sqrt(xx*yy)
}

// Trend tests whether values rise or fall with their order beyond what
// their groups explain: |Spearman| of order and the value less its group's
// mean, against permutations of the values within the groups. Two-sided.
// Groups of one value carry no evidence. Errors match [ErrInput].
func Trend(order, values []float64, group []int, r Resampling) (TestResult, error) {
	if len(order) != len(values) || len(order) != len(group) || len(order) == 0 {
		return TestResult{}, fmt.Errorf("test trend: %w: %d orders, %d values, %d groups", ErrInput, len(order), len(values), len(group))
	}
	centred, members := centre(values, group)
	observed := math.Abs(Spearman(order, centred))
	rng := newRand(r.Seed, 4)
	hits, drawn := 0, 0
	for drawn < r.draws() {
		for _, g := range members {
			rng.Shuffle(len(g), func(i, j int) { centred[g[i]], centred[g[j]] = centred[g[j]], centred[g[i]] })
		}
		drawn++
		if math.Abs(Spearman(order, centred)) >= observed-tie {
			hits++
		}
		if r.StopAfter > 0 && hits >= r.StopAfter {
			return TestResult{Statistic: observed, P: float64(hits) / float64(drawn), Resamples: drawn}, nil
		}
	}
	return TestResult{Statistic: observed, P: float64(hits+1) / float64(drawn+1), Resamples: drawn}, nil
}

// centre subtracts group means; members are the places of groups of two and
// more, in order of group number, so that a seed always gives one result.
func centre(values []float64, group []int) (centred []float64, members [][]int) {
	places := make(map[int][]int)
	for i, g := range group {
		places[g] = append(places[g], i)
	}
	centred = slices.Clone(values)
	for g := range slices.Max(group) + 1 {
		mean := 0.0
		for _, i := range places[g] {
			mean += values[i] / float64(len(places[g]))
		}
		for _, i := range places[g] {
			centred[i] -= mean
		}
		if len(places[g]) > 1 {
			members = append(members, places[g])
		}
	}
	return centred, members
}

// sorted sorts in place and returns its argument.
func sorted(xs []float64) []float64 {
	slices.Sort(xs)
	return xs
}
