package stats

import (
	"fmt"
	"math"
	"slices"
)

// maxArrangements is the most arrangements of which all are tried.
const maxArrangements = 20_000

// SlopeTest tests whether y rises with x: the least-squares slope against those
// of all arrangements of y over x, or of random ones where there are more than
// 20,000. One-sided. It assumes only that without a rise all arrangements are
// alike, which holds for the means of runs whatever varies between runs. With
// two values of x it is the permutation test of two samples. Statistic is the
// slope. Errors match [ErrInput].
//
// Source: Pitman, JRSS Suppl. 4:225 (1937); p = (b+1) ÷ (B+1) where drawn.
func SlopeTest(x, y []float64, r Resampling) (TestResult, error) {
	if len(x) != len(y) || len(x) < 2 {
		return TestResult{}, fmt.Errorf("test slope: %w: %d and %d values", ErrInput, len(x), len(y))
	}
	for i := range x {
		if math.IsNaN(x[i]-x[i]) || math.IsNaN(y[i]-y[i]) {
			return TestResult{}, fmt.Errorf("test slope: %w: a value is not finite", ErrInput)
		}
	}
	s := newSlope(x, y)
	if s.square == 0 {
		return TestResult{}, fmt.Errorf("test slope: %w: all x are equal", ErrInput)
	}
	if Arrangements(x) <= maxArrangements {
		return s.enumerate(), nil
	}
	return s.sample(r), nil
}

// Arrangements is in how many ways different results can be spread over x:
// n! ÷ Π m!, m the numbers of equal values. One in so many is the least p-value
// that [SlopeTest] can give.
func Arrangements(x []float64) float64 {
	sorted := slices.Sorted(slices.Values(x))
	ways, equal := 1.0, 0.0
	for i, v := range sorted {
		if i == 0 || v != sorted[i-1] {
			equal = 0
		}
		equal++
		ways = ways * float64(i+1) / equal
	}
	return math.Round(ways)
}

// slope holds x and y less their means.
type slope struct {
	x, y     []float64
	square   float64 // Σ x²
	observed float64 // Σ xy
	least    float64 // what counts as at least as high
}

func newSlope(x, y []float64) *slope {
	s := &slope{x: slices.Clone(x), y: slices.Clone(y)}
	mx, my := sum(x)/float64(len(x)), sum(y)/float64(len(y))
	scale := 0.0
	for i := range x {
		s.x[i] -= mx
		s.y[i] -= my
		s.square += s.x[i] * s.x[i]
		scale += math.Abs(s.x[i] * s.y[i])
	}
	s.observed = s.cross()
	s.least = s.observed - tie*scale
	return s
}

func (s *slope) cross() float64 {
	xy := 0.0
	for i := range s.x {
		xy += s.x[i] * s.y[i]
	}
	return xy
}

func (s *slope) enumerate() TestResult {
	slices.Sort(s.x)
	hits, drawn := 0, 0
	for more := true; more; more = nextArrangement(s.x) {
		drawn++
		if s.cross() >= s.least {
			hits++
		}
	}
	return TestResult{Statistic: s.observed / s.square, P: float64(hits) / float64(drawn), Resamples: drawn, Exact: true}
}

// nextArrangement moves xs to the next order, in lexicographic sequence; equal
// values change no order. It returns false behind the last.
func nextArrangement(xs []float64) bool {
	i := len(xs) - 2
	for i >= 0 && xs[i] >= xs[i+1] {
		i--
	}
	if i < 0 {
		return false
	}
	j := len(xs) - 1
	for xs[j] <= xs[i] {
		j--
	}
	xs[i], xs[j] = xs[j], xs[i]
	slices.Reverse(xs[i+1:])
	return true
}

func (s *slope) sample(r Resampling) TestResult {
	rng := newRand(r.Seed, 6)
	hits, drawn := 0, 0
	for drawn < r.draws() {
		rng.Shuffle(len(s.y), func(i, j int) { s.y[i], s.y[j] = s.y[j], s.y[i] })
		drawn++
		if s.cross() >= s.least {
			hits++
		}
		if r.StopAfter > 0 && hits >= r.StopAfter {
			return TestResult{Statistic: s.observed / s.square, P: float64(hits) / float64(drawn), Resamples: drawn}
		}
	}
	return TestResult{Statistic: s.observed / s.square, P: float64(hits+1) / float64(drawn+1), Resamples: drawn}
}
