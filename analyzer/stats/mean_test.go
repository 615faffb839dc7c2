package stats

import "testing"

// By hand: x̄ = 23.2/6, and t.975(5) = 2.570582 (Pearson & Hartley, table 12)
// times s/√6.
func TestMeanInterval(t *testing.T) {
	mean, i, ok := MeanInterval([]float64{1.1, 2.3, 3.1, 4.8, 5.2, 6.7}, 0.95)
	if !ok || !near(mean, 3.866667, 1e-6) || !near(i.Low, 1.6969305, 1e-6) || !near(i.High, 6.0364029, 1e-6) {
		t.Errorf("%g %+v", mean, i)
	}
	if _, _, ok := MeanInterval([]float64{1}, 0.95); ok {
		t.Error("one value has no interval")
	}
	if _, i, ok := MeanInterval([]float64{2, 2}, 0.95); !ok || i.Low != 2 || i.High != 2 {
		t.Errorf("equal values: %+v", i)
	}
}

func TestMeanTest(t *testing.T) {
	// R t.test(sleep$extra[1:10] - sleep$extra[11:20]), Student's own data.
	sleep := []float64{-1.2, -2.4, -1.3, -1.3, 0, -1, -1.8, -0.8, -4.6, -1.4}
	if p, ok := MeanTest(sleep); !ok || !near(p, 0.00283289, 1e-5) {
		t.Errorf("sleep: p = %.8g %v", p, ok)
	}
	if p, _ := MeanTest([]float64{0, 0, 0}); p != 1 {
		t.Errorf("all zero: %g", p)
	}
	if p, _ := MeanTest([]float64{2, 2}); p != 0 {
		t.Errorf("equal and not zero: %g", p)
	}
	if _, ok := MeanTest([]float64{2}); ok {
		t.Error("one value has a test")
	}
}
