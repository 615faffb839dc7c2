package stats

import (
	"math"
	"testing"
)

func TestExistence(t *testing.T) {
	even := func(ks ...float64) (x []float64, runs []Run) {
		for i, k := range ks {
			x = append(x, float64(10*(i+1)))
			runs = append(runs, Run{Level: i, N: 2000, K: k})
		}
		return x, runs
	}
	tests := []struct {
		name string
		ks   []float64
		low  float64
		high float64
	}{
		{"clear rise", []float64{2, 3, 2, 4, 9, 25, 60, 120}, 0, 0.002},
		{"flat", []float64{3, 2, 4, 3, 2, 3, 4, 3}, 0.2, 1},
		{"fall", []float64{40, 30, 20, 10, 5, 4, 3, 2}, 0.5, 1},
		{"all equal", []float64{3, 3, 3, 3, 3, 3, 3, 3}, 1, 1},
		// Six runs are enumerated: 3 of 720 orders have the two rises last in
		// this order or tie with it.
		{"six runs", []float64{1, 1, 1, 1, 9, 30}, 1.0 / 720, 0.04},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			x, runs := even(test.ks...)
			got, err := Existence(x, runs, Resampling{Seed: 1})
			if err != nil || got.P < test.low || got.P > test.high {
				t.Errorf("p = %g %v, want in [%g, %g]", got.P, err, test.low, test.high)
			}
			if got.Exact != (len(runs) <= maxEnumerated) {
				t.Errorf("exact = %v with %d runs", got.Exact, len(runs))
			}
		})
	}
}

func TestPermuteVisitsEachOrderOnce(t *testing.T) {
	for n := 1; n <= 6; n++ {
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		seen := make(map[[6]int]bool)
		count := 0
		permute(order, n, func() {
			var key [6]int
			copy(key[:], order)
			seen[key] = true
			count++
		})
		if want := int(math.Gamma(float64(n + 1))); len(seen) != want || count != want {
			t.Errorf("n=%d: %d orders, %d visits, want %d", n, len(seen), count, want)
		}
	}
}

func TestDetectableRatio(t *testing.T) {
	x := loads(10, 80, 10)
	var few, many []Run
	for i := range x {
		few = append(few, Run{Level: i, N: 500, K: 2})
		many = append(many, Run{Level: i, N: 50000, K: 200})
	}
	small, ok := DetectableRatio(x, many, 1, 1)
	if !ok || small > 3 {
		t.Errorf("with 1,600 failures: ratio %g %v", small, ok)
	}
	large, ok := DetectableRatio(x, few, 1, 1)
	if !ok || large <= small {
		t.Errorf("with 16 failures: ratio %g %v, with 1,600: %g", large, ok, small)
	}
	for i := range few {
		few[i].K = 0
	}
	if _, ok := DetectableRatio(x, few, 1, 1); ok {
		t.Error("a detectable ratio without a failure")
	}
}
