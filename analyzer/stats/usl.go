package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// USL is a fit of Gunther's universal scalability law (Guerrilla Capacity
// Planning, 2007): the throughput at concurrency N is
//
//	X(N) = γN ÷ (1 + α(N−1) + βN(N−1)), α, β ≥ 0
//
// γ is that of one request alone, α the share that is done one after the other,
// β the cost of keeping each consistent with each.
type USL struct {
	Gamma, Alpha, Beta float64
	// SD is the residual standard deviation of log X.
	SD float64
}

// Throughput is X(N).
func (u USL) Throughput(n float64) float64 {
	return u.Gamma * n / (1 + u.Alpha*(n-1) + u.Beta*n*(n-1))
}

// Peak is the concurrency of the highest throughput, √((1−α)/β), at least 1;
// +Inf where β is 0.
func (u USL) Peak() float64 {
	if u.Alpha >= 1 {
		return 1
	}
	return max(1, math.Sqrt((1-u.Alpha)/u.Beta))
}

// Top is the highest throughput; +Inf where there is none.
func (u USL) Top() float64 {
	if peak := u.Peak(); !math.IsInf(peak, 1) {
		return u.Throughput(peak)
	}
	return math.Inf(1)
}

// FitUSL fits the law to throughputs x at concurrencies n, both > 0, by least
// squares of log x, at least four points. Where the best α or β is negative it
// is held at 0.
//
// Errors match [ErrInput] and [ErrNoMinimum].
func FitUSL(n, x []float64) (USL, error) {
	if len(n) != len(x) || len(n) < 4 {
		return USL{}, fmt.Errorf("%w: %d points, four are needed", ErrInput, len(n))
	}
	for i := range n {
		if !(n[i] > 0) || !(x[i] > 0) || math.IsInf(n[i], 1) || math.IsInf(x[i], 1) {
			return USL{}, fmt.Errorf("%w: point %d is not positive", ErrInput, i)
		}
	}
	best, lowest := USL{}, math.Inf(1)
	for _, free := range [][2]bool{{true, true}, {true, false}, {false, true}, {false, false}} {
		u, rss, err := fitUSL(n, x, free)
		if err != nil || u.Alpha < 0 || u.Beta < 0 || !(rss < lowest) {
			continue
		}
		best, lowest = u, rss
		if free[0] && free[1] {
			break // inside the bounds, so the others are no better
		}
	}
	if math.IsInf(lowest, 1) {
		return USL{}, ErrNoMinimum
	}
	best.SD = math.Sqrt(lowest / float64(len(n)-3))
	return best, nil
}

// fitUSL fits γ and those of α and β that are free; the others are 0. The
// parameters are scaled by the largest N, so that all are of like size.
func fitUSL(n, x []float64, free [2]bool) (u USL, rss float64, err error) {
	top := slices.Max(n)
	low := slices.Index(n, slices.Min(n))
	start := []float64{math.Log(x[low] / n[low])}
	for _, is := range free {
		if is {
			start = append(start, 0.5)
		}
	}
	of := func(p []float64) USL {
		u := USL{Gamma: math.Exp(p[0])}
		next := p[1:]
		if free[0] {
			u.Alpha, next = next[0]/top, next[1:]
		}
		if free[1] {
			u.Beta = next[0] / top / top
		}
		return u
	}
	p, rss, err := LeastSquares(func(p, r []float64) {
		u := of(p)
		for i := range n {
			r[i] = math.Log(x[i]) - math.Log(u.Throughput(n[i]))
		}
	}, start, len(n))
	if err != nil {
		return USL{}, 0, err
	}
	return of(p), rss, nil
}

// USLRange holds the percentile intervals of a bootstrap.
type USLRange struct {
	Gamma, Alpha, Beta Interval
	// Peak is that of the concurrency of the highest throughput, Top that of this
	// throughput; High may be +Inf.
	Peak, Top Interval
}

// Bootstrap draws throughputs at the concurrencies n from the fit, with
// log-normal noise, fits each draw, and returns the percentile intervals. The
// noise is the SD times t over the normal quantile, ν = len(n) − 3: the SD of few
// points is uncertain itself. ok is false where fewer than nine tenths of the
// draws have a fit.
func (u USL) Bootstrap(n []float64, draws int, seed uint64, confidence float64) (r USLRange, ok bool) {
	rng := newRand(seed, 14)
	upper := 1 - (1-confidence)/2
	sd := u.SD * distuv.StudentsT{Sigma: 1, Nu: float64(len(n) - 3)}.Quantile(upper) / normalQuantile(upper)
	x := make([]float64, len(n))
	var fits []USL
	for range draws {
		for i := range n {
			x[i] = u.Throughput(n[i]) * math.Exp(sd*rng.NormFloat64())
		}
		if f, err := FitUSL(n, x); err == nil {
			fits = append(fits, f)
		}
	}
	if 10*len(fits) < 9*draws || len(fits) == 0 {
		return USLRange{}, false
	}
	of := func(value func(USL) float64) Interval {
		values := make([]float64, len(fits))
		for i, f := range fits {
			values[i] = value(f)
		}
		return percentiles(values, confidence)
	}
	return USLRange{
		Gamma: of(func(f USL) float64 { return f.Gamma }),
		Alpha: of(func(f USL) float64 { return f.Alpha }),
		Beta:  of(func(f USL) float64 { return f.Beta }),
		Peak:  of(USL.Peak),
		Top:   of(USL.Top),
	}, true
}

// percentiles are the outer order statistics that hold the middle confidence of
// the values; it sorts them.
func percentiles(values []float64, confidence float64) Interval {
	slices.Sort(values)
	last := float64(len(values) - 1)
	tail := (1 - confidence) / 2
	return Interval{
		Low: values[int(tail*last)], High: values[int(math.Ceil((1-tail)*last))], Confidence: confidence,
	}
}
