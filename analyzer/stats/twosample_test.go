package stats

import (
	"math"
	"testing"
)

func TestTwoSample(t *testing.T) {
	// T9, R binom.test(14, 18).
	if got := McNemar(14, 4); !near(got, 0.0308837891, 1e-8) {
		t.Errorf("McNemar: %.10g", got)
	}
	if got := McNemar(0, 0); got != 1 {
		t.Errorf("McNemar without discordant pairs: %g", got)
	}
	if got := McNemar(6, 0); !near(got, 2.0/64, 1e-12) {
		t.Errorf("McNemar 6 to 0: %g", got)
	}
	// Newcombe 1998, table II (a), method 10.
	d, i := DifferenceInterval(56, 70, 48, 80, 0.95)
	if !near(d, 0.2, 1e-12) || !near(i.Low, 0.0524315, 1e-5) || !near(i.High, 0.3338727, 1e-5) {
		t.Errorf("difference %g in [%.7f, %.7f]", d, i.Low, i.High)
	}
	// R poisson.test(c(38, 1), c(1000, 5000)).
	r := RatioInterval(38, 1000, 1, 5000, 0.95)
	if !near(r.Low, 32.1019, 1e-4) || !near(r.High, 7699.589, 1e-4) {
		t.Errorf("ratio in [%g, %g]", r.Low, r.High)
	}
	// R poisson.test: p-value 8.797e-29, which is the upper tail 196 ÷ 6^39.
	if got := RateTest(38, 1000, 1, 5000); !near(got, 2*196/math.Pow(6, 39), 1e-9) {
		t.Errorf("equal rates: p = %g", got)
	}
	if a, b := RateTest(0, 10, 6, 10), RateTest(6, 10, 0, 10); !near(a, 2.0/64, 1e-12) || !near(b, a, 1e-12) {
		t.Errorf("6 to 0: p = %g, %g", a, b)
	}
	if got := RateTest(0, 10, 0, 20); got != 1 {
		t.Errorf("no failure: p = %g", got)
	}
	// 0.05^(1/8) of the failures at least are the candidate's.
	share := math.Pow(0.05, 1.0/8)
	if r := RatioInterval(8, 1000, 0, 1000, 0.90); !near(r.Low, share/(1-share), 1e-9) || !math.IsInf(r.High, 1) {
		t.Errorf("ratio to a rate of zero: %+v", r)
	}
	if r := RatioInterval(0, 1000, 0, 1000, 0.90); r.Low != 0 {
		t.Errorf("no failure at all: %+v", r)
	}
}
