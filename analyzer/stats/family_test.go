package stats

import (
	"testing"
)

func shedding() Counts {
	return Counts{
		X: loads(10, 110, 10), N: repeat(1e5, 11),
		K: []float64{100, 100, 100, 100, 100, 8425, 21507, 31319, 38950, 45055, 50050},
	}
}

func TestQueueBlocking(t *testing.T) {
	// T17, R 4.2.2, closed form.
	tests := []struct{ rho, k, want float64 }{
		{0.8, 5, 0.0888194987},
		{1, 5, 0.1666666667},
		{1.2, 10, 0.1925864951},
		{2, 50, 0.5},
		{1 + 1e-12, 5, 0.1666666667},
		{3, 1e6, 2.0 / 3},
		{0.5, 1e6, 0},
	}
	for _, test := range tests {
		if got := QueueBlocking(test.rho, test.k); !near(got, test.want, 1e-9) {
			t.Errorf("ρ=%g K=%g: got %.10g, want %.10g", test.rho, test.k, got, test.want)
		}
	}
}

func TestFitShapeShed(t *testing.T) {
	// T13: generated from ε0 = 0.001 and capacity 55, rounded to integers.
	got, err := FitCapacity(shedding(), ShapeShed, chi95)
	if err != nil {
		t.Fatal(err)
	}
	if !near(got.Model.Lambda, 55, 1e-4) || !near(got.Model.Epsilon0, 1e-3, 1e-3) {
		t.Errorf("got capacity %g ε0 %g, want 55 and 0.001", got.Model.Lambda, got.Model.Epsilon0)
	}
	if i := got.Interval; i.LowOpen || i.HighOpen || i.Low > 55 || i.High < 55 || i.Width() > 0.5 {
		t.Errorf("interval %+v", i)
	}
	forced, err := FitShape(shedding(), ShapeOnset)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("forced onset: λc %g, deviance %g, link %v", forced.Lambda, forced.Deviance, forced.Link)
	if forced.Deviance < 1000 {
		t.Errorf("an onset fits a shedding server with deviance %g", forced.Deviance)
	}
}

func TestFitShapeQueue(t *testing.T) {
	// Rounded expectations of an M/M/1/K of capacity 55: the truth must come
	// back.
	for _, k := range []float64{1, 4, 10, 40} {
		c := Counts{X: loads(10, 110, 10), N: repeat(1e6, 11), K: make([]float64, 11)}
		for i, x := range c.X {
			c.K[i] = float64(int(1e6 * floorRate(QueueBlocking(x/55, k), 0.01)))
		}
		got, err := FitCapacity(c, ShapeQueue, chi95)
		if err != nil {
			t.Fatal(err)
		}
		if !near(got.Model.Lambda, 55, 1e-3) || !near(got.Model.Width, k, 2e-2) || !near(got.Model.Epsilon0, 0.01, 1e-2) {
			t.Errorf("K=%g: got capacity %g, K %g, ε0 %g", k, got.Model.Lambda, got.Model.Width, got.Model.Epsilon0)
		}
	}
}

func TestShapesOrderByLikelihood(t *testing.T) {
	for _, c := range []Counts{gradual(), steep(), shedding(), downs()} {
		constant, err := FitShape(c, ShapeConst)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range Shapes {
			m, err := FitShape(c, s)
			if err != nil {
				t.Fatal(err)
			}
			if m.LogLik < constant.LogLik-1e-6 && s != ShapeShed && s != ShapeQueue && s != ShapeLogistic {
				t.Errorf("%v is below the constant it contains: %g < %g", s, m.LogLik, constant.LogLik)
			}
			if ll := c.rateLogLik(m.Rates(c.X)); !near(ll, m.LogLik, 1e-9) {
				t.Errorf("%v: Rate gives ℓ %.12g, the fit said %.12g", s, ll, m.LogLik)
			}
		}
	}
}

func BenchmarkFitAllShapes(b *testing.B) {
	c := steep()
	for b.Loop() {
		for _, s := range Shapes {
			if _, err := FitShape(c, s); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkFitOnsetUnion(b *testing.B) {
	c := steep()
	for b.Loop() {
		if _, err := FitOnsetUnion(c, chi95); err != nil {
			b.Fatal(err)
		}
	}
}

// rateLogLik is the log-likelihood of the counts under rates p.
func (c Counts) rateLogLik(p []float64) float64 {
	ll := 0.0
	for i := range c.N {
		ll += binomialLogLik(c.K[i], c.N[i], p[i])
	}
	return ll
}
