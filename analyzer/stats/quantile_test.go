package stats

import "testing"

func TestQuantileRanks(t *testing.T) {
	// T15, R 4.2.2, qbinom and pbinom, P99 at 95 %.
	tests := []struct {
		n, low, high int
		confidence   float64
	}{
		{368, 360, 368, 0.96242},
		{500, 490, 500, 0.98019},
		{1000, 983, 997, 0.97609},
		{5000, 4936, 4964, 0.95374},
	}
	for _, test := range tests {
		got, ok := QuantileRanks(test.n, 0.99, 0.95)
		if !ok || got.Low != test.low || got.High != test.high || !near(got.Confidence, test.confidence, 1e-5) {
			t.Errorf("n=%d: got %+v %v, want [%d, %d] %g", test.n, got, ok, test.low, test.high, test.confidence)
		}
	}
}

func TestQuantileSmallestN(t *testing.T) {
	// R 4.2.2: the least n with a finite bound at 95 %.
	tests := []struct {
		q                  float64
		twoSided, oneSided int
	}{{0.99, 368, 299}, {0.999, 3688, 2995}, {0.95, 72, 59}, {0.9, 36, 29}}
	for _, test := range tests {
		if _, ok := QuantileRanks(test.twoSided, test.q, 0.95); !ok {
			t.Errorf("q=%g: no interval at n=%d", test.q, test.twoSided)
		}
		if _, ok := QuantileRanks(test.twoSided-1, test.q, 0.95); ok {
			t.Errorf("q=%g: an interval at n=%d", test.q, test.twoSided-1)
		}
		// Without a value above the limit the share above it is proven to be
		// below 1 − q from the same n on.
		if high := proportionHigh(0, float64(test.oneSided), 0.05); high >= 1-test.q {
			t.Errorf("q=%g: no bound at n=%d", test.q, test.oneSided)
		}
		if high := proportionHigh(0, float64(test.oneSided-1), 0.05); high < 1-test.q {
			t.Errorf("q=%g: a bound at n=%d", test.q, test.oneSided-1)
		}
	}
}

func TestQuantileType7(t *testing.T) {
	// R 4.2.2: quantile(1:10, .99) = 9.91.
	values := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	if got, ok := Quantile(values, 0.99); !ok || !near(got, 9.91, 1e-12) {
		t.Errorf("got %g %v, want 9.91", got, ok)
	}
	if _, ok := Quantile(nil, 0.5); ok {
		t.Error("a quantile of nothing")
	}
}
