package datasets

import (
	"slices"
	"time"
)

// grid finds out on what clock a source's arrivals were written, from the gaps
// between them.
type grid struct {
	rows, repeats int64
	last          int64 // the latest arrival
	divisor       int64
	gaps          []int64
}

const (
	// minGridRows is the number of rows from which a regularity is taken for
	// a grid, not for chance.
	minGridRows = 50
	// maxGaps bounds the gaps that are looked at.
	maxGaps = 100_000
)

// add takes an arrival, in ns.
func (g *grid) add(at int64) {
	if g.rows == 0 {
		g.last = at
	}
	gap := at - g.last
	if gap < 0 {
		gap = -gap
	}
	g.last = max(g.last, at)
	g.rows++
	if gap == 0 {
		g.repeats++
		return
	}
	g.divisor = gcd(g.divisor, gap)
	if len(g.gaps) < maxGaps {
		g.gaps = append(g.gaps, gap)
	}
}

// width is the width of the grid in ns, 1 or more.
//
// Mooncake's conversation trace has ten rows to a stamp and its stamps 3,000 ms
// apart, but for a millisecond of jitter (2,999 and 3,001 occur), which hides
// the grid from a common divisor. So where most rows repeat a stamp and the
// middle half of the other gaps agrees to 1 %, the median gap is the grid.
func (g *grid) width() int64 {
	width := max(g.divisor, 1)
	if g.rows < minGridRows || len(g.gaps) == 0 {
		return min(width, int64(time.Millisecond))
	}
	gaps := slices.Sorted(slices.Values(g.gaps))
	n := len(gaps)
	low, median, high := gaps[n/4], gaps[n/2], gaps[n*3/4]
	if 2*g.repeats >= g.rows && 100*(high-low) <= median {
		return median
	}
	return width
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
