package stats

import (
	"math"
	"testing"
)

// T20, second half; the bound is R's, pairs left out one vector at a time.
func TestPairwiseCosine(t *testing.T) {
	s, ok := PairwiseCosine([][]float64{{1, 0}, {.8, .6}, {.6, .8}, {0, 0}}, 0.95)
	if !ok || s.N != 3 || math.Abs(s.Mean-0.786666666667) > 1e-9 || math.Abs(s.Low-0.178511561797) > 1e-9 {
		t.Errorf("%+v %v", s, ok)
	}
	if s, _ := PairwiseCosine([][]float64{{2, 0}, {3, 0}, {1, 0}}, 0.95); math.Abs(s.Mean-1) > 1e-12 || math.Abs(s.Low-1) > 1e-9 {
		t.Errorf("all alike: %+v", s)
	}
	if _, ok := PairwiseCosine([][]float64{{1, 0}, {0, 1}, {0, 0}}, 0.95); ok {
		t.Error("two vectors are enough")
	}
}
