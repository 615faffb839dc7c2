package stats

import (
	"fmt"
	"math"
	"math/bits"
)

// maxFlips is the most pairs of which all 2^n signs are tried.
const maxFlips = 14

// SignFlip tests whether paired differences are centred at 0: |Σ d| against all
// ways to flip their signs (up to 14 pairs, in Gray-code order), else against
// random ones. Two-sided; n pairs give no p below 2 ÷ 2^n. It assumes only that
// a difference is as likely as its negative. Errors match [ErrInput].
//
// Source: Fisher, The Design of Experiments (1935), §21.
func SignFlip(d []float64, r Resampling) (TestResult, error) {
	if len(d) == 0 {
		return TestResult{}, fmt.Errorf("test signs: %w: no differences", ErrInput)
	}
	scale := 0.0
	for _, x := range d {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return TestResult{}, fmt.Errorf("test signs: %w: a difference is not finite", ErrInput)
		}
		scale += math.Abs(x)
	}
	observed := math.Abs(sum(d)) - tie*scale
	if len(d) <= maxFlips {
		return enumerateSigns(d, observed), nil
	}
	rng := newRand(r.Seed, 5)
	hits, drawn := 0, 0
	for drawn < r.draws() {
		s := 0.0
		for i, word := 0, uint64(0); i < len(d); i, word = i+1, word>>1 {
			if i%64 == 0 {
				word = rng.Uint64()
			}
			s += d[i] * float64(1-2*int(word&1))
		}
		drawn++
		if math.Abs(s) >= observed {
			hits++
		}
		if r.StopAfter > 0 && hits >= r.StopAfter {
			return TestResult{Statistic: sum(d) / float64(len(d)), P: float64(hits) / float64(drawn), Resamples: drawn}, nil
		}
	}
	return TestResult{Statistic: sum(d) / float64(len(d)), P: float64(hits+1) / float64(drawn+1), Resamples: drawn}, nil
}

// enumerateSigns goes through all signs, one flip at a time.
func enumerateSigns(d []float64, observed float64) TestResult {
	total := 1 << len(d)
	s, hits := sum(d), 0
	for i := range total {
		if i > 0 {
			// The sign that changes from Gray code i−1 to i, and its new value.
			j := bits.TrailingZeros(uint(i))
			if gray := i ^ i>>1; gray>>j&1 == 1 {
				s -= 2 * d[j]
			} else {
				s += 2 * d[j]
			}
		}
		if math.Abs(s) >= observed {
			hits++
		}
	}
	return TestResult{Statistic: sum(d) / float64(len(d)), P: float64(hits) / float64(total), Resamples: total, Exact: true}
}
