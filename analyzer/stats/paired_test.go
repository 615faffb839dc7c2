package stats

import (
	"math"
	"testing"
)

func TestSignFlip(t *testing.T) {
	tests := []struct {
		name string
		d    []float64
		p    float64
	}{
		{"all on one side", []float64{1, 2, 3, 4, 5, 6}, 2.0 / 64},
		{"symmetric", []float64{1, -1, 2, -2}, 1},
		{"all zero", []float64{0, 0, 0}, 1},
		// Darwin's maize, Fisher 1935 §21: 1726 of 32768 arrangements are as far
		// from 0 as 314.
		{"Darwin's maize", []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}, 1726.0 / 32768},
	}
	for _, test := range tests {
		got, err := SignFlip(test.d, Resampling{Seed: 1, Max: 99_999})
		if err != nil || math.Abs(got.P-test.p) > 0.003 || got.Exact && !near(got.P, test.p, 1e-12) {
			t.Errorf("%s: p = %.10g %v, want %.10g", test.name, got.P, err, test.p)
		}
	}
	if got := enumerateSigns(tests[3].d, 314-1e-9); got.P != 1726.0/32768 {
		t.Errorf("Darwin's maize, all signs: p = %.10g, want %.10g", got.P, 1726.0/32768)
	}
	if _, err := SignFlip(nil, Resampling{}); err == nil {
		t.Error("no error without differences")
	}
	if _, err := SignFlip([]float64{math.Inf(1)}, Resampling{}); err == nil {
		t.Error("no error for an infinite difference")
	}
}
