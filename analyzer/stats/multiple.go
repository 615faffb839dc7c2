package stats

import (
	"cmp"
	"slices"
)

// BenjaminiHochberg returns p-values adjusted for the rate of false
// discoveries, in the order given:
//
//	q_(i) = min over j ≥ i of min(1, p_(j)·m ÷ j)
//
// Source: Benjamini & Hochberg, JRSS B 57:289 (1995).
func BenjaminiHochberg(ps []float64) []float64 {
	order := ascending(ps)
	out := make([]float64, len(ps))
	least := 1.0
	for j := len(order) - 1; j >= 0; j-- {
		least = min(least, ps[order[j]]*float64(len(ps))/float64(j+1))
		out[order[j]] = least
	}
	return out
}

// Holm returns p-values adjusted so that the chance of any false rejection
// holds, in the order given:
//
//	p̃_(i) = max over j ≤ i of min(1, (m − j + 1)·p_(j))
//
// Source: Holm, Scand. J. Statist. 6:65 (1979).
func Holm(ps []float64) []float64 {
	out := make([]float64, len(ps))
	most := 0.0
	for j, i := range ascending(ps) {
		most = max(most, min(1, float64(len(ps)-j)*ps[i]))
		out[i] = most
	}
	return out
}

// ascending are the places of values in ascending order.
func ascending(xs []float64) []int {
	order := make([]int, len(xs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(xs[i], xs[j]) })
	return order
}
