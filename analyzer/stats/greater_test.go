package stats

import "testing"

func TestGreater(t *testing.T) {
	a, b := []float64{5.1, 6.3, 4.8, 7.0}, []float64{4.0, 4.4, 3.1, 5.2}
	// R 4.2.2, t.test(a, b, alternative = "greater"): 0.02692762207.
	if low, high, p := Greater(a, b); !near(p, 0.02692762207, 1e-8) || !near(low, 4.175, 1e-12) || !near(high, 5.8, 1e-12) {
		t.Errorf("%g, %g, p = %.10g", low, high, p)
	}
	if _, _, p := Greater(b, a); !near(p, 1-0.02692762207, 1e-8) {
		t.Errorf("the other way: p = %.10g", p)
	}
	flat, higher := []float64{1, 1}, []float64{2, 2}
	for _, test := range []struct {
		a, b []float64
		want float64
	}{{flat, flat, 1}, {higher, flat, 0}, {flat, higher, 1}} {
		if _, _, p := Greater(test.a, test.b); p != test.want {
			t.Errorf("%v against %v: p = %g, want %g", test.a, test.b, p, test.want)
		}
	}
}
