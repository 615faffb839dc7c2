package stats

import (
	"cmp"
	"slices"
)

// Wait is how long something took, or, where it had not happened when the
// watch ended, how long at least.
type Wait struct {
	Length   float64
	Censored bool
}

// MedianWait is the median of waits by the product-limit estimate: the first
// length at which S ≤ ½. ok is false where too many were censored to reach it.
//
//	S(t) = Π over lengths t_i ≤ t of 1 − d_i ÷ n_i
//
// d_i ended at t_i, n_i were still waiting. Source: Kaplan & Meier, JASA 53:457
// (1958).
func MedianWait(waits []Wait) (median float64, ok bool) {
	sorted := slices.SortedFunc(slices.Values(waits), func(a, b Wait) int { return cmp.Compare(a.Length, b.Length) })
	left := 1.0
	for i := 0; i < len(sorted); {
		at, waiting, ended := sorted[i].Length, float64(len(sorted)-i), 0.0
		for ; i < len(sorted) && sorted[i].Length == at; i++ {
			if !sorted[i].Censored {
				ended++
			}
		}
		if left *= 1 - ended/waiting; left <= 0.5+tie {
			return at, true
		}
	}
	return 0, false
}
