package stats

import "testing"

func TestExactTrend(t *testing.T) {
	// T14, R 4.2.2, full enumeration: p = 1.109135e-4.
	got, err := ExactTrend(Counts{X: loads(1, 4, 1), N: repeat(200, 4), K: []float64{0, 1, 3, 9}})
	if err != nil || !near(got, 0.0001109135, 1e-6) {
		t.Errorf("got %.10g %v, want 0.0001109135", got, err)
	}
	if _, err := ExactTrend(Counts{X: loads(1, 2, 1), N: repeat(200, 2), K: []float64{100, 100}}); err == nil {
		t.Error("no error above the limit of failures")
	}
}
