package stats

import (
	"math"
	"testing"
)

func TestCrossing(t *testing.T) {
	shed := Model{Shape: ShapeShed, Epsilon0: 0.001, Lambda: 55}
	// ε0 + (1−ε0)(1 − 55/x) = 0.01 at x = 55 ÷ (1 − 0.009/0.999).
	if x, ok := shed.Crossing(0.01, 10, 100); !ok || !near(x, 55/(1-0.009/0.999), 1e-8) {
		t.Errorf("%g %v", x, ok)
	}
	if _, ok := shed.Crossing(0.01, 10, 50); ok {
		t.Error("it is not crossed below the capacity")
	}
	if _, ok := shed.Crossing(0.01, 60, 100); ok {
		t.Error("it is crossed below the lowest load")
	}
}

// The curve crosses 1 % inside the interval in at least 91 % of experiments
// where its family is true.
func TestCalibrateCrossing(t *testing.T) {
	type cell struct {
		name  string
		shape Shape
		rate  func(lambda float64) func(float64) float64
		at    func(lambda float64) float64
	}
	all := []cell{
		{
			"shed", ShapeShed,
			func(c float64) func(float64) float64 {
				return func(x float64) float64 { return floorRate(ShedShape(x, c), 1e-3) }
			},
			func(c float64) float64 { return c / (1 - 0.009/0.999) },
		},
		{
			"onset", ShapeOnset,
			func(lambda float64) func(float64) float64 { return onsetRate(LinkLog, 1e-3, lambda, 8) },
			func(lambda float64) float64 { return lambda + 8*math.Log(10) },
		},
	}
	n, x := replicates(), grid10to100(12)
	draws := 39
	if n > 200 {
		draws = 199
	}
	for _, c := range cells(all...) {
		covered := parallel(n, func(i int) bool {
			rng := newRand(uint64(i), 106)
			lambda := 45 + 15*rng.Float64()
			counts := Pool(x, draw(rng, x, 1, 2000, 1, c.rate(lambda)))
			if c.shape == ShapeOnset {
				counts = counts.SubSaturated(0.25)
			}
			m, err := FitShape(counts, c.shape)
			if err != nil {
				return false
			}
			in, ok, err := CrossingInterval(counts, m, 0.01, 1, x[0], counts.X[len(counts.X)-1], Resampling{Seed: uint64(i), Max: draws})
			return err == nil && ok && in.Low <= c.at(lambda) && c.at(lambda) <= in.High
		})
		atLeast(t, c.name+": coverage of the modelled λ_SLO", share(covered), 0.91, n)
	}
}
