package stats

import (
	"fmt"
	"math"
	"slices"
)

// maxExactFailures bounds the work of [ExactTrend].
const maxExactFailures = 120

// ExactTrend returns the exact one-sided p-value of a rise of the failure rate
// over the levels, given ΣK: the probability of Σ i·k_i at least as high, i the
// level's number, where the failures are spread over the requests at random
// (multivariate hypergeometric). It holds only where requests fail
// independently of each other, so it is an indication, never a verdict.
//
// Errors match [ErrInput], also above 120 failures.
//
// Source: the exact Cochran–Armitage test, e.g. Mehta et al., Biometrics 48:
// 1 (1992).
func ExactTrend(c Counts) (float64, error) {
	if err := c.Check(); err != nil {
		return 0, err
	}
	failed := int(c.Failures())
	if failed > maxExactFailures {
		return 0, fmt.Errorf("test exact trend: %w: %d failures, at most %d", ErrInput, failed, maxExactFailures)
	}
	observed := 0
	// ways holds the probability of {failures, score} in the levels so far.
	ways := map[[2]int]float64{{0, 0}: 1}
	left := sum(c.N)
	for i := range c.X {
		observed += i * int(c.K[i])
		left -= c.N[i]
		ways = spread(ways, i, failed, c.N[i], left)
	}
	p := 0.0
	for _, w := range weights(ways, observed) {
		p += w
	}
	return min(p, 1), nil
}

// spread adds one level of n requests: of the failures not yet placed, k fall
// into it rather than into the later requests with hypergeometric probability.
func spread(ways map[[2]int]float64, level, failed int, n, later float64) map[[2]int]float64 {
	next := make(map[[2]int]float64, len(ways))
	for state, w := range ways {
		rest := failed - state[0]
		for k := 0; k <= rest && float64(k) <= n; k++ {
			if float64(rest-k) > later {
				continue
			}
			next[[2]int{state[0] + k, state[1] + level*k}] += w * hypergeometric(k, rest, n, later)
		}
	}
	return next
}

// weights are the probabilities of scores from least on, in ascending order:
// the order of a map must not show in the last digit.
func weights(ways map[[2]int]float64, least int) []float64 {
	var out []float64
	for state, w := range ways {
		if state[1] >= least {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return out
}

// hypergeometric is the probability that k of rest failures fall among n
// requests and not among the other later ones.
func hypergeometric(k, rest int, n, later float64) float64 {
	return math.Exp(logChoose(n, float64(k)) + logChoose(later, float64(rest-k)) - logChoose(n+later, float64(rest)))
}

func logChoose(n, k float64) float64 {
	a, _ := math.Lgamma(n + 1)
	b, _ := math.Lgamma(k + 1)
	c, _ := math.Lgamma(n - k + 1)
	return a - b - c
}
