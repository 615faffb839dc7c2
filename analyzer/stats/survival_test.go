package stats

import "testing"

func TestMedianWait(t *testing.T) {
	// Remission in weeks under 6-MP (Freireich et al., Blood 21:699, 1963):
	// the median is 23; 8 under placebo.
	var treated, placebo []Wait
	for _, x := range []float64{6, 6, 6, 7, 10, 13, 16, 22, 23} {
		treated = append(treated, Wait{Length: x})
	}
	for _, x := range []float64{6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35} {
		treated = append(treated, Wait{x, true})
	}
	for _, x := range []float64{1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23} {
		placebo = append(placebo, Wait{Length: x})
	}
	rows := []struct {
		name  string
		waits []Wait
		want  float64
		ok    bool
	}{
		{"treated", treated, 23, true},
		{"placebo", placebo, 8, true},
		{"none ended", []Wait{{5, true}, {6, true}}, 0, false},
		{"none", nil, 0, false},
		{"one", []Wait{{4, false}}, 4, true},
	}
	for _, row := range rows {
		if got, ok := MedianWait(row.waits); got != row.want || ok != row.ok {
			t.Errorf("%s: %g %v, want %g %v", row.name, got, ok, row.want, row.ok)
		}
	}
}
