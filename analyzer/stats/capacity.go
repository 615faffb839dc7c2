package stats

import (
	"fmt"
	"math"
)

// Capacity is the profile interval of the capacity of a shed or queue model.
type Capacity struct {
	Model    Model
	Interval OpenInterval
}

// FitCapacity fits a shape that has one ([Shape.HasCapacity]) and the profile interval of the
// capacity {c : D(c) − D(ĉ) ≤ cut}. The capacity is searched from λ₁/4 to
// 4·λ_m; an end at the border is open. Every profile point of a
// queue restarts its search of K on a grid: one warm start finds wrong peaks, and
// such intervals cover 0.28 to 0.70 (calibrated).
//
// Errors match [ErrInput].
func FitCapacity(c Counts, s Shape, cut float64) (Capacity, error) {
	if !s.HasCapacity() {
		return Capacity{}, fmt.Errorf("fit capacity: %w: %v has none", ErrInput, s)
	}
	m, err := FitShape(c, s)
	if err != nil {
		return Capacity{}, err
	}
	f := newCapacityFit(c)
	p := scan(f.grid(), f.profileOf(s))
	return Capacity{Model: m, Interval: p.interval(m.Lambda, m.LogLik, cut)}, nil
}

// capacityFit holds the scratch of shed and queue fits.
type capacityFit struct {
	counts Counts
	h      []float64
}

func newCapacityFit(c Counts) *capacityFit {
	return &capacityFit{counts: c, h: make([]float64, len(c.X))}
}

// grid of capacities: eight points a gap, and a geometric tail on both sides.
func (f *capacityFit) grid() []float64 {
	first, last := f.counts.X[0], f.counts.X[len(f.counts.X)-1]
	var grid []float64
	for r := 0.25; r < 0.99; r *= 1.08 {
		grid = append(grid, first*r)
	}
	grid = append(grid, between(f.counts.X, 8)...)
	for r := 1.04; r < 4; r *= 1.08 {
		grid = append(grid, last*r)
	}
	return grid
}

func (f *capacityFit) profileOf(s Shape) func(float64) float64 {
	if s == ShapeShed {
		return func(capacity float64) float64 { _, ll := f.shed(capacity); return ll }
	}
	return func(capacity float64) float64 { return f.sized(s, capacity, 1e-4).LogLik }
}

func (f *capacityFit) shed(capacity float64) (eps0, logLik float64) {
	for i, x := range f.counts.X {
		f.h[i] = ShedShape(x, capacity)
	}
	return fitFloor(f.counts, f.h)
}

func (f *capacityFit) blocked(s Shape, capacity, k float64) (eps0, logLik float64) {
	for i, x := range f.counts.X {
		if s == ShapeLoss {
			f.h[i] = LossBlocking(x/capacity*k, k)
		} else {
			f.h[i] = QueueBlocking(x/capacity, k)
		}
	}
	return fitFloor(f.counts, f.h)
}

// The buffers searched: log K from 0 (K = 1) to that of 4,000.
const (
	maxLogBuffer  = 8.3
	logBufferStep = 0.42
)

// sized maximizes over K and ε0 of a queue or a loss system for one capacity;
// tolerance is that of log K.
func (f *capacityFit) sized(s Shape, capacity, tolerance float64) Model {
	at := func(logK float64) float64 {
		_, ll := f.blocked(s, capacity, math.Exp(logK))
		return ll
	}
	best, top := 0.0, math.Inf(-1)
	for logK := 0.0; logK <= maxLogBuffer; logK += logBufferStep {
		if ll := at(logK); ll > top {
			best, top = logK, ll
		}
	}
	logK, ll := goldenMax(max(0, best-logBufferStep), best+logBufferStep, tolerance, at)
	if ll < top {
		logK = best
	}
	k := math.Exp(logK)
	eps0, ll := f.blocked(s, capacity, k)
	return Model{Epsilon0: eps0, Lambda: capacity, Width: k, LogLik: ll}
}

func fitShed(c Counts) Model {
	f := newCapacityFit(c)
	lambda, top := scan(f.grid(), f.profileOf(ShapeShed)).peak()
	eps0, _ := f.shed(lambda)
	return Model{Epsilon0: eps0, Lambda: lambda, Width: math.NaN(), LogLik: top}
}

func fitQueue(c Counts) Model { return fitSized(c, ShapeQueue) }

func fitLoss(c Counts) Model { return fitSized(c, ShapeLoss) }

func fitSized(c Counts, s Shape) Model {
	f := newCapacityFit(c)
	lambda, _ := scan(f.grid(), f.profileOf(s)).peak()
	return f.sized(s, lambda, 1e-9)
}

// fitLogistic searches the midpoint on a grid and log s for each, then both by
// turns.
func fitLogistic(c Counts) Model {
	h := make([]float64, len(c.X))
	at := func(mu, logS float64) float64 {
		for i, x := range c.X {
			h[i] = logisticShape(x, mu, math.Exp(logS))
		}
		_, ll := fitFloor(c, h)
		return ll
	}
	span := c.X[len(c.X)-1] - c.X[0]
	low, high := math.Log(span/200), math.Log(2*span)
	logS := 0.0
	overS := func(mu float64) float64 {
		best, top := low, math.Inf(-1)
		step := (high - low) / 12
		for s := low; s <= high; s += step {
			if ll := at(mu, s); ll > top {
				best, top = s, ll
			}
		}
		var ll float64
		logS, ll = goldenMax(max(low, best-step), min(high, best+step), 1e-6, func(s float64) float64 { return at(mu, s) })
		return ll
	}
	grid := between(c.X, 3)
	for r := 1.1; r < 4; r *= 1.2 {
		grid = append(grid, c.X[len(c.X)-1]*r)
	}
	mu, _ := scan(grid, overS).peak()
	ll := overS(mu)
	for i, x := range c.X {
		h[i] = logisticShape(x, mu, math.Exp(logS))
	}
	eps0, _ := fitFloor(c, h)
	return Model{Epsilon0: eps0, Lambda: mu, Width: math.Exp(logS), LogLik: ll}
}
