package stats

import "testing"

func TestAdjust(t *testing.T) {
	// T19: the list of 25 p-values of the tutorial on Benjamini–Hochberg; R p.adjust.
	ps := []float64{
		.001, .008, .039, .041, .042, .06, .074, .205, .212, .216, .222, .251, .269, .275, .34, .341, .384,
		.569, .594, .696, .762, .94, .942, .975, .986,
	}
	for i, want := range []float64{.025, .1, .21, .21, .21, .25} {
		if got := BenjaminiHochberg(ps)[i]; !near(got, want, 1e-9) {
			t.Errorf("BH %d: %g, want %g", i, got, want)
		}
	}
	for i, want := range []float64{.025, .192, .897} {
		if got := Holm(ps)[i]; !near(got, want, 1e-9) {
			t.Errorf("Holm %d: %g, want %g", i, got, want)
		}
	}
	if got := BenjaminiHochberg([]float64{0.9, 0.01}); !near(got[1], 0.02, 1e-12) || !near(got[0], 0.9, 1e-12) {
		t.Errorf("out of order: %v", got)
	}
}
