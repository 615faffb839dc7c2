package stats

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// ErrInput reports data on which a method is not defined.
var ErrInput = errors.New("unusable data")

// Interval is a closed interval with its nominal confidence.
type Interval struct{ Low, High, Confidence float64 }

// BinomialCDF returns P(X ≤ k) for X ~ Binomial(n, p), 0 ≤ p ≤ 1.
//
//	P(X ≤ k) = I_{1−p}(n−k, k+1)
//
// with I the regularized incomplete beta function: exact in both tails, where
// 1 − CDF loses all digits (DLMF 8.17.5).
func BinomialCDF(k, n, p float64) float64 {
	switch k = math.Floor(k); {
	case k < 0:
		return 0
	case k >= n:
		return 1
	case p <= 0:
		return 1
	case p >= 1:
		return 0
	}
	return mathext.RegIncBeta(n-k, k+1, 1-p)
}

// BinomialSurvival returns P(X ≥ k) = I_p(k, n−k+1), with relative accuracy
// in the far tail.
func BinomialSurvival(k, n, p float64) float64 {
	switch k = math.Ceil(k); {
	case k <= 0:
		return 1
	case k > n:
		return 0
	case p <= 0:
		return 0
	case p >= 1:
		return 1
	}
	return mathext.RegIncBeta(k, n-k+1, p)
}

// ClopperPearson returns the exact interval of a binomial proportion from k
// of n, 0 ≤ k ≤ n, n > 0: each end has a tail of (1−confidence)/2. Either
// count may be fractional (counts deflated by a dispersion).
//
// Source: Clopper & Pearson, Biometrika 26:404 (1934), in beta quantiles.
func ClopperPearson(k, n, confidence float64) Interval {
	tail := (1 - confidence) / 2
	return Interval{
		Low: proportionLow(k, n, tail), High: proportionHigh(k, n, tail),
		Confidence: confidence,
	}
}

// proportionLow is the exact lower bound with the given tail.
func proportionLow(k, n, tail float64) float64 {
	if k <= 0 {
		return 0
	}
	if k >= n {
		return math.Pow(tail, 1/n)
	}
	return mathext.InvRegIncBeta(k, n-k+1, tail)
}

// proportionHigh is the exact upper bound with the given tail.
func proportionHigh(k, n, tail float64) float64 {
	if k >= n {
		return 1
	}
	if k <= 0 {
		return 1 - math.Pow(tail, 1/n)
	}
	return mathext.InvRegIncBeta(k+1, n-k, 1-tail)
}

// Wilson returns the score interval of a binomial proportion from k of n,
// n > 0:
//
//	(p̂ + z²/2n ± z·√(p̂(1−p̂)/n + z²/4n²)) ÷ (1 + z²/n)
//
// Source: Wilson, JASA 22:209 (1927).
func Wilson(k, n, confidence float64) Interval {
	z := normalQuantile(1 - (1-confidence)/2)
	p, z2 := k/n, z*z
	center := p + z2/(2*n)
	half := z * math.Sqrt(p*(1-p)/n+z2/(4*n*n))
	scale := 1 + z2/n
	i := Interval{
		Low: max(0, (center-half)/scale), High: min(1, (center+half)/scale),
		Confidence: confidence,
	}
	// Exact where rounding would leave 1e-19.
	if k == 0 {
		i.Low = 0
	}
	if k == n {
		i.High = 1
	}
	return i
}

// Counts are failures per level of load: K[i] of N[i] at X[i], with X in
// strictly ascending order, N > 0 and 0 ≤ K ≤ N.
type Counts struct{ X, N, K []float64 }

// Check returns an error that matches [ErrInput] where the counts break their
// definition.
func (c Counts) Check() error {
	if len(c.X) != len(c.N) || len(c.X) != len(c.K) {
		return fmt.Errorf("check counts: %w: %d loads, %d totals, %d failures", ErrInput, len(c.X), len(c.N), len(c.K))
	}
	for i := range c.X {
		if !(c.N[i] > 0) || !(c.K[i] >= 0) || !(c.K[i] <= c.N[i]) || math.IsInf(c.N[i], 0) {
			return fmt.Errorf("check counts: %w: level %d has %g of %g", ErrInput, i, c.K[i], c.N[i])
		}
		if !(math.Abs(c.X[i]) < math.Inf(1)) || i > 0 && !(c.X[i] > c.X[i-1]) {
			return fmt.Errorf("check counts: %w: loads not ascending at level %d", ErrInput, i)
		}
	}
	return nil
}

// Failures returns ΣK.
func (c Counts) Failures() float64 { return sum(c.K) }

// First returns the first m levels.
func (c Counts) First(m int) Counts { return Counts{X: c.X[:m], N: c.N[:m], K: c.K[:m]} }

// saturated is the log-likelihood of the model that fits every level.
func (c Counts) saturated() float64 {
	ll := 0.0
	for i := range c.N {
		ll += binomialLogLik(c.K[i], c.N[i], c.K[i]/c.N[i])
	}
	return ll
}

// binomialLogLik is k·log p + (n−k)·log(1−p) with 0·log 0 = 0; −∞ where the
// data are impossible.
func binomialLogLik(k, n, p float64) float64 {
	ll := 0.0
	if k > 0 {
		ll += k * math.Log(p)
	}
	if n > k {
		ll += (n - k) * math.Log1p(-p)
	}
	return ll
}

// pearson is Σ (k − np)² ÷ np(1−p) over levels with 0 < p < 1.
func (c Counts) pearson(p []float64) float64 {
	x2 := 0.0
	for i := range c.N {
		if v := c.N[i] * p[i] * (1 - p[i]); v > 0 {
			d := c.K[i] - c.N[i]*p[i]
			x2 += d * d / v
		}
	}
	return x2
}

func sum(xs []float64) float64 {
	s := 0.0
	for _, x := range xs {
		s += x
	}
	return s
}
