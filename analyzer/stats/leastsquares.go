package stats

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// ErrNoMinimum reports a sum of squares whose minimum was not reached.
var ErrNoMinimum = errors.New("no minimum was reached")

const (
	leastSquaresSteps = 2000
	// leastSquaresSmall is the relative step of the parameters at which the
	// minimum counts as reached.
	leastSquaresSmall = 1e-11
)

// LeastSquares minimizes Σ rᵢ(p)² over p, from start on. residuals writes all m
// residuals at p to r; what is not finite counts as worse than anything.
//
// The steps are those of Levenberg and Marquardt with Marquardt's scaling and
// Nielsen's damping (Madsen, Nielsen & Tingleff, Methods for non-linear least
// squares problems, 2004, §3.2), with central differences. The
// certified values of NIST's StRD are reached to 1e-6.
//
// Errors match [ErrNoMinimum].
func LeastSquares(residuals func(p, r []float64), start []float64, m int) (p []float64, rss float64, err error) {
	l := leastSquares{residuals: residuals, p: slices.Clone(start), r: make([]float64, m), jacobian: mat.NewDense(m, len(start), nil)}
	l.rss = l.at(l.p, l.r)
	if math.IsInf(l.rss, 1) || m < len(start) {
		return nil, 0, ErrNoMinimum
	}
	damping, grow := 1e-3, 2.0
	l.linearize()
	for range leastSquaresSteps {
		gain, size := l.step(damping)
		switch {
		case size < leastSquaresSmall:
			return l.p, l.rss, nil
		case gain > 0:
			damping *= max(1.0/3, 1-math.Pow(2*gain-1, 3))
			grow = 2
		default:
			damping *= grow
			grow *= 2
		}
		if damping > 1e60 {
			return nil, 0, ErrNoMinimum
		}
	}
	return nil, 0, ErrNoMinimum
}

// leastSquares is where a minimization stands.
type leastSquares struct {
	residuals func(p, r []float64)
	p, r      []float64
	rss       float64
	jacobian  *mat.Dense
	normal    mat.SymDense // JᵀJ
	gradient  mat.VecDense // Jᵀr
}

// at is the sum of squares at p; +Inf where it is not finite.
func (l *leastSquares) at(p, r []float64) float64 {
	l.residuals(p, r)
	square := 0.0
	for _, x := range r {
		square += x * x
	}
	if math.IsNaN(square) {
		return math.Inf(1)
	}
	return square
}

// linearize takes the Jacobian at p.
func (l *leastSquares) linearize() {
	high, low := make([]float64, len(l.r)), make([]float64, len(l.r))
	p := slices.Clone(l.p)
	for j, x := range l.p {
		h := 6e-6 * max(math.Abs(x), 1e-8)
		p[j] = x + h
		l.at(p, high)
		p[j] = x - h
		l.at(p, low)
		p[j] = x
		for i := range high {
			l.jacobian.Set(i, j, (high[i]-low[i])/(2*h))
		}
	}
	l.normal.Reset()
	l.normal.SymOuterK(1, l.jacobian.T())
	l.gradient.Reset()
	l.gradient.MulVec(l.jacobian.T(), mat.NewVecDense(len(l.r), l.r))
}

// step tries one step and takes it where it is better. gain is the decrease
// over what the linear model promised, ≤ 0 = not taken; size is the step's
// relative to the parameters.
func (l *leastSquares) step(damping float64) (gain, size float64) {
	n := len(l.p)
	damped := mat.NewSymDense(n, nil)
	damped.CopySym(&l.normal)
	for j := range n {
		damped.SetSym(j, j, l.normal.At(j, j)*(1+damping)+math.SmallestNonzeroFloat64)
	}
	var factor mat.Cholesky
	if !factor.Factorize(damped) {
		return 0, 1
	}
	var delta mat.VecDense
	if err := factor.SolveVecTo(&delta, &l.gradient); err != nil && !isCondition(err) {
		return 0, 1
	}
	next := slices.Clone(l.p)
	promised := 0.0
	for j := range n {
		d := -delta.AtVec(j)
		next[j] += d
		size = max(size, math.Abs(d)/max(math.Abs(l.p[j]), 1e-12))
		promised += d * (damping*l.normal.At(j, j)*d - l.gradient.AtVec(j))
	}
	r := make([]float64, len(l.r))
	rss := l.at(next, r)
	if gain = (l.rss - rss) / promised; !(gain > 0) {
		return 0, size
	}
	l.p, l.r, l.rss = next, r, rss
	l.linearize()
	return gain, size
}

// isCondition reports a system that was solved but is ill-conditioned.
func isCondition(err error) bool {
	var condition mat.Condition
	return errors.As(err, &condition)
}
