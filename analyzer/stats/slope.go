package stats

import (
	"fmt"
	"math"
	"slices"
)

// maxArrangements is the most arrangements of which all are tried.
const maxArrangements = 20_000

// SlopeTest tests whether y rises with x: the weighted least-squares slope over
// its standard error,
//
//	z = Σ w(x − x̄)y ÷ √(Σ w(x − x̄)²), x̄ = Σ wx ÷ Σ w
//
// against those of all arrangements of the results (y with its weight) over x, or
// of random ones where there are more than 20,000. One-sided. Weights are the
// inverse variances of y, nil = all equal: then it assumes only that without a
// rise all arrangements are alike, which holds for the means of runs whatever
// varies between runs. Where results are not equally certain, z has the same
// variance in each arrangement, and a plain slope has not. With two values of x
// and no weights it is the permutation test of two samples. Statistic is the
// slope. Errors match [ErrInput].
//
// Source: Pitman, JRSS Suppl. 4:225 (1937); p = (b+1) ÷ (B+1) where drawn.
func SlopeTest(x, y, weights []float64, r Resampling) (TestResult, error) {
	if len(x) != len(y) || len(x) < 2 || weights != nil && len(weights) != len(x) {
		return TestResult{}, fmt.Errorf("test slope: %w: %d and %d values", ErrInput, len(x), len(y))
	}
	s := slope{x: slices.Clone(x), y: slices.Clone(y), w: slices.Clone(weights)}
	if s.w == nil {
		s.w = make([]float64, len(x))
		for i := range s.w {
			s.w[i] = 1
		}
	}
	for i := range x {
		if math.IsNaN(x[i]-x[i]) || math.IsNaN(y[i]-y[i]) || !(s.w[i] > 0) || math.IsInf(s.w[i], 0) {
			return TestResult{}, fmt.Errorf("test slope: %w: a value is not finite or a weight not above 0", ErrInput)
		}
	}
	if slices.Min(x) == slices.Max(x) {
		return TestResult{}, fmt.Errorf("test slope: %w: all x are equal", ErrInput)
	}
	at, z := s.slope()
	s.least = z - tie*(1+math.Abs(z))
	if Arrangements(x) <= maxArrangements {
		return s.enumerate(at), nil
	}
	return s.sample(at, r), nil
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

// slope holds results and where they are.
type slope struct {
	x, y, w []float64
	least   float64 // what counts as at least as high
}

// slope is the weighted slope and its z.
func (s *slope) slope() (at, z float64) {
	all, mean, middle := 0.0, 0.0, 0.0
	for i, w := range s.w {
		all, mean, middle = all+w, mean+w*s.x[i], middle+w*s.y[i]
	}
	mean, middle = mean/all, middle/all
	xy, xx := 0.0, 0.0
	for i, w := range s.w {
		d := s.x[i] - mean
		xy, xx = xy+w*d*(s.y[i]-middle), xx+w*d*d
	}
	return xy / xx, xy / math.Sqrt(xx)
}

func (s *slope) enumerate(at float64) TestResult {
	// Equal x change no result, so orders of x are the arrangements.
	slices.Sort(s.x)
	hits, drawn := 0, 0
	for more := true; more; more = nextArrangement(s.x) {
		drawn++
		if _, z := s.slope(); z >= s.least {
			hits++
		}
	}
	return TestResult{Statistic: at, P: float64(hits) / float64(drawn), Resamples: drawn, Exact: true}
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

func (s *slope) sample(at float64, r Resampling) TestResult {
	rng := newRand(r.Seed, 6)
	hits, drawn := 0, 0
	for drawn < r.draws() {
		rng.Shuffle(len(s.x), func(i, j int) { s.x[i], s.x[j] = s.x[j], s.x[i] })
		drawn++
		if _, z := s.slope(); z >= s.least {
			hits++
		}
		if r.StopAfter > 0 && hits >= r.StopAfter {
			return TestResult{Statistic: at, P: float64(hits) / float64(drawn), Resamples: drawn}
		}
	}
	return TestResult{Statistic: at, P: float64(hits+1) / float64(drawn+1), Resamples: drawn}
}
