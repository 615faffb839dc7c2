package stats

import (
	"math"
	"testing"
)

func TestRateRatio(t *testing.T) {
	// T10, R 4.2.2, poisson.test(c(38, 1), c(1000, 5000)): 190 [32.1019, 7699.589].
	point, i, ok := RateRatio(38, 1000, 1, 5000, 0.95)
	if !ok || !near(point, 190, 1e-9) || !near(i.Low, 32.1019, 1e-5) || !near(i.High, 7699.589, 1e-5) {
		t.Errorf("%g %+v", point, i)
	}
	if point, i, ok := RateRatio(38, 1000, 0, 5000, 0.95); !ok || !math.IsInf(point, 1) || !math.IsInf(i.High, 1) || i.Low <= 1 {
		t.Errorf("a base rate of zero: %g %+v", point, i)
	}
	if _, _, ok := RateRatio(0, 1000, 0, 5000, 0.95); ok {
		t.Error("nothing failed")
	}
}
