package stats

import "testing"

func TestLossBlocking(t *testing.T) {
	// T17, R 4.2.2, Erlang's recursion.
	tests := []struct{ erlangs, places, want float64 }{
		{10, 10, 0.2145823431},
		{6, 8, 0.1218757837},
		{100, 100, 0.0757004527},
		{1, 1, 0.5},
		{1, 1 + 1e-12, 0.5},
		{2000, 4000, 0},
		{1e6, 1, 1 / (1 + 1e-6)},
	}
	for _, test := range tests {
		if got := LossBlocking(test.erlangs, test.places); !near(got, test.want, 1e-9) {
			t.Errorf("%g erlangs at %g places: got %.10g, want %.10g", test.erlangs, test.places, got, test.want)
		}
	}
	for c := 1.0; c < 12; c += 0.01 {
		if LossBlocking(8, c) <= LossBlocking(8, c+0.01) {
			t.Fatalf("8 erlangs: %g places lose no more than %g", c, c+0.01)
		}
	}
}

// Counts made from Erlang's formula with ten places and a capacity of 55.
func TestFitShapeLoss(t *testing.T) {
	c := Counts{X: loads(10, 110, 10), N: repeat(1e5, 11)}
	for _, x := range c.X {
		c.K = append(c.K, float64(int(1e5*floorRate(LossBlocking(x/55*10, 10), 1e-3)+0.5)))
	}
	got, err := FitCapacity(c, ShapeLoss, chi95)
	if err != nil {
		t.Fatal(err)
	}
	m := got.Model
	if !near(m.Lambda, 55, 1e-3) || !near(m.Width, 10, 1e-2) || !near(m.Epsilon0, 1e-3, 5e-2) || !near(m.Rate(60), c.K[5]/1e5, 1e-3) {
		t.Errorf("got capacity %g of %g places, ε0 %g", m.Lambda, m.Width, m.Epsilon0)
	}
	if i := got.Interval; i.LowOpen || i.HighOpen || i.Low > 55 || i.High < 55 || i.Width() > 0.5 {
		t.Errorf("interval %+v", i)
	}
}
