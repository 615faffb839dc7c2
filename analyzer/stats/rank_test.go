package stats

import "testing"

func TestSpearman(t *testing.T) {
	tests := []struct {
		name string
		x, y []float64
		want float64
	}{
		{"same order", []float64{1, 2, 3, 4}, []float64{10, 20, 30, 400}, 1},
		{"opposite", []float64{1, 2, 3}, []float64{3, 2, 1}, -1},
		// 1 − 6·Σd²/n(n²−1) with Σd² = 6, n = 8.
		{"shuffled", []float64{1, 2, 3, 4, 5, 6, 7, 8}, []float64{1, 3, 2, 4, 6, 5, 8, 7}, 1 - 36.0/504},
		// Mid-ranks: scipy.stats.spearmanr([1,2,2,3],[1,2,3,4]) = 0.9486832981.
		{"ties", []float64{1, 2, 2, 3}, []float64{1, 2, 3, 4}, 0.9486832981},
		{"constant", []float64{1, 1, 1}, []float64{1, 2, 3}, 0},
	}
	for _, test := range tests {
		if got := Spearman(test.x, test.y); !near(got, test.want, 1e-9) {
			t.Errorf("%s: got %.10g, want %.10g", test.name, got, test.want)
		}
	}
}

func TestTrend(t *testing.T) {
	var order, rising, level []float64
	var group []int
	for i := range 20 {
		order = append(order, float64(i))
		group = append(group, i%4)
		rising = append(rising, float64(i%4)*10+float64(i)*0.1)
		level = append(level, float64(i%4)*10+float64((i*7)%5)*0.1)
	}
	if got, err := Trend(order, rising, group, Resampling{Seed: 1}); err != nil || got.P > 0.01 {
		t.Errorf("drift within levels: p = %g %v", got.P, err)
	}
	if got, err := Trend(order, level, group, Resampling{Seed: 1}); err != nil || got.P < 0.05 {
		t.Errorf("no drift: p = %g %v", got.P, err)
	}
	if _, err := Trend(nil, nil, nil, Resampling{}); err == nil {
		t.Error("no error without values")
	}
}

// Case 21: neither one spike nor the last two points are a trend at 1 %, which
// is what voids the fits of a run.
func TestTrendOfSpikes(t *testing.T) {
	rows := map[string][]float64{
		"one spike":           {100.1, 99.7, 100.4, 99.9, 100.2, 131.0, 100.0, 99.8, 100.3, 99.6, 100.1, 99.9},
		"in the second place": {100.1, 131.0, 99.7, 100.4, 99.9, 100.2, 100.0, 99.8, 100.3, 99.6, 100.1, 99.9},
		"the last two":        {100.1, 99.7, 100.4, 99.9, 100.2, 100.0, 99.8, 100.3, 99.6, 100.1, 99.9, 130.2, 131.1},
	}
	for name, values := range rows {
		order := make([]float64, len(values))
		for i := range order {
			order[i] = float64(i)
		}
		if got, err := Trend(order, values, make([]int, len(values)), Resampling{Seed: 1}); err != nil || got.P < 0.01 {
			t.Errorf("%s: p %g, %v", name, got.P, err)
		}
	}
}
