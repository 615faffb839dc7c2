package replayer

import (
	"cmp"
	"math"
	"slices"
)

// quantile returns the smallest value that at least q of the values do not
// exceed (the nearest-rank quantile); the zero value for none. It sorts values.
func quantile[T cmp.Ordered](values []T, q float64) T {
	if len(values) == 0 {
		var none T
		return none
	}
	slices.Sort(values)
	rank := int(math.Ceil(q * float64(len(values))))
	return values[min(max(rank, 1), len(values))-1]
}
