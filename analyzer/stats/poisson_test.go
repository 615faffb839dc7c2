package stats

import "testing"

// Source: R 4.2, poisson.test(k)$conf.int.
func TestPoissonInterval(t *testing.T) {
	for _, row := range []struct{ k, low, high float64 }{
		{0, 0, 3.68887945411},
		{1, 0.0253178079843, 5.5716433909389},
		{10, 4.79538869613, 18.39035604202},
		{1680, 1600.61668953, 1762.30144209},
	} {
		i := PoissonInterval(row.k, 0.95)
		if !near(i.Low, row.low, 1e-10) || !near(i.High, row.high, 1e-10) {
			t.Errorf("%v: %v, want %v to %v", row.k, i, row.low, row.high)
		}
	}
}
