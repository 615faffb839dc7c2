package stats

import (
	"math"
	"testing"
)

func TestMannWhitney(t *testing.T) {
	tests := []struct {
		name      string
		x, y      []float64
		u, p      float64
		shift     float64
		low, high float64
	}{
		// T9, R wilcox.test(x, y, conf.int = TRUE); the shift there is x − y.
		{
			"no ties",
			[]float64{1.1, 2.3, 3.1, 4.8, 5.2, 6.7},
			[]float64{2.9, 4.1, 5.9, 7.3, 8.8, 9.1, 9.9},
			8, 0.0734265734, 3.1, -0.7, 6.5,
		},
		// coin::wilcox_test(distribution = "exact"): 160 of 924.
		{"ties", []float64{1, 2, 2, 3, 5, 8}, []float64{2, 4, 4, 6, 9, 9}, 9, 0.1731601732, 2, math.NaN(), math.NaN()},
		// 2 of C(9, 4) = 126 arrangements are as far apart.
		{"a sample without spread", []float64{115, 114, 115, 115}, []float64{78.8, 78.8, 78.8, 78.8, 78.8}, 20, 2.0 / 126, -36.2, -36.2, -35.2},
		{"all equal", []float64{7, 7, 7, 7}, []float64{7, 7, 7, 7}, 8, 1, 0, 0, 0},
	}
	for _, test := range tests {
		got, err := MannWhitney(test.x, test.y, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if !near(got.U, test.u, 1e-12) || !near(got.P, test.p, 1e-9) || !got.Exact || math.Abs(got.Shift-test.shift) > 1e-9 {
			t.Errorf("%s: U = %g, p = %.10g, shift %g; want %g, %.10g, %g", test.name, got.U, got.P, got.Shift, test.u, test.p, test.shift)
		}
		if i := got.Interval; !math.IsNaN(test.low) && (math.Abs(i.Low-test.low) > 1e-9 || math.Abs(i.High-test.high) > 1e-9) {
			t.Errorf("%s: interval [%g, %g], want [%g, %g]", test.name, i.Low, i.High, test.low, test.high)
		}
	}
	if got, _ := MannWhitney([]float64{1, 2}, []float64{3, 4}, 0.95); got.Bounded {
		t.Errorf("two against two values have an interval: %+v", got)
	}
	if _, err := MannWhitney(nil, []float64{1}, 0.95); err == nil {
		t.Error("no error without values")
	}
	large := make([]float64, 80)
	for i := range large {
		large[i] = 7
	}
	if got, _ := MannWhitney(large, large, 0.95); got.P != 1 {
		t.Errorf("equal values: p = %g", got.P)
	}
}

// The normal approximation and the exact distribution agree where both serve.
func TestMannWhitneyLarge(t *testing.T) {
	rng := newRand(1, 9)
	x, y := make([]float64, 50), make([]float64, 50)
	for i := range x {
		x[i], y[i] = math.Round(10*rng.NormFloat64()), math.Round(10*rng.NormFloat64()+4)
	}
	exact, _ := MannWhitney(x, y, 0.95)
	all := ranks(append(append([]float64{}, x...), y...))
	if p := normalRankP(exact.U, 50, 50, all); !near(p, exact.P, 0.05) {
		t.Errorf("normal %g, exact %g", p, exact.P)
	}
}
