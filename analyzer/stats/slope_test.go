package stats

import (
	"math"
	"testing"
)

// Known answers are R's: all permutations with combn and a recursive list.
func TestSlopeTest(t *testing.T) {
	a, b := []float64{5.1, 5.9, 6.3, 5.5}, []float64{4.2, 5.0, 4.4, 4.9}
	rows := []struct {
		name     string
		x, y     []float64
		slope, p float64
	}{
		{"two samples of four", []float64{1, 1, 1, 1, 0, 0, 0, 0}, append(append([]float64{}, a...), b...), 1.075, 1.0 / 70},
		{"three loads, two runs each, falling", []float64{1, 1, 2, 2, 3, 3}, []float64{-.9, -.85, -.8, -.86, -.7, -.74}, 0.0775, 0.0222222222222},
		{"all equal", []float64{1, 2, 3}, []float64{4, 4, 4}, 0, 1},
	}
	for _, row := range rows {
		got, err := SlopeTest(row.x, row.y, nil, Resampling{Seed: 1})
		if err != nil || !got.Exact || math.Abs(got.P-row.p) > 1e-9 || math.Abs(got.Statistic-row.slope) > 1e-9 {
			t.Errorf("%s: %+v, %v, want slope %g, p %g", row.name, got, err, row.slope, row.p)
		}
	}
	for _, x := range [][]float64{nil, {1}, {2, 2}, {1, math.NaN()}} {
		if _, err := SlopeTest(x, make([]float64, len(x)), nil, Resampling{}); err == nil {
			t.Errorf("%v is accepted", x)
		}
	}
	// R: lm(y ~ x, weights = w), and the weighted z over all orders of x.
	if got, err := SlopeTest([]float64{1, 1, 2, 3, 3}, []float64{.2, .5, .4, .9, .6}, []float64{1, 4, 2, 8, 3}, Resampling{}); err != nil ||
		!got.Exact || math.Abs(got.Statistic-0.2) > 1e-9 || math.Abs(got.P-0.0666666666667) > 1e-9 {
		t.Errorf("weighted: %+v, %v", got, err)
	}
	if _, err := SlopeTest([]float64{1, 2}, []float64{1, 2}, []float64{1, 0}, Resampling{}); err == nil {
		t.Error("a weight of 0 is accepted")
	}
	// 24 runs have too many arrangements: the drawn p is near the normal one.
	x, y := make([]float64, 24), make([]float64, 24)
	for i := range x {
		x[i], y[i] = float64(i/3), math.Sin(float64(7*i))
	}
	if got, err := SlopeTest(x, y, nil, Resampling{Seed: 1}); err != nil || got.Exact || got.Resamples != 999 {
		t.Errorf("24 runs: %+v, %v", got, err)
	}
}

func TestArrangements(t *testing.T) {
	for want, x := range map[float64][]float64{70: {1, 1, 1, 1, 0, 0, 0, 0}, 90: {3, 1, 2, 3, 1, 2}, 1: {5, 5}, 6: {1, 2, 3}} {
		if got := Arrangements(x); got != want {
			t.Errorf("Arrangements(%v) = %g, want %g", x, got, want)
		}
	}
}

// R: t.test(a, b)$conf.int.
func TestMeanDifference(t *testing.T) {
	d, i, ok := MeanDifference([]float64{5.1, 5.9, 6.3, 5.5}, []float64{4.2, 5.0, 4.4, 4.9}, 0.95)
	if !ok || math.Abs(d-1.075) > 1e-12 || math.Abs(i.Low-0.270528766925) > 1e-9 || math.Abs(i.High-1.879471233075) > 1e-9 {
		t.Errorf("%g %+v %v", d, i, ok)
	}
	if _, i, ok := MeanDifference([]float64{2, 2}, []float64{1, 1}, 0.95); !ok || i.Low != 1 || i.High != 1 {
		t.Errorf("without spread: %+v %v", i, ok)
	}
	if _, _, ok := MeanDifference([]float64{1}, []float64{1, 2}, 0.95); ok {
		t.Error("one value is enough")
	}
}
