package stats

import (
	"errors"
	"math"
	"testing"
)

// The data of the tests of the R package usl: throughput over concurrency.
var (
	specN      = []float64{1, 18, 36, 72, 108, 144, 216}
	specX      = []float64{64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2}
	raytracerN = []float64{1, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64}
	raytracerX = []float64{20, 78, 130, 170, 190, 200, 210, 230, 260, 280, 310}
)

// The published fits are least squares of the throughput itself, without bounds.
func TestUSLOnThroughput(t *testing.T) {
	tests := []struct {
		name               string
		n, x               []float64
		gamma, alpha, beta float64
		rss                float64
	}{
		{"T6 specsdm91 (R usl)", specN, specX, 89.9952268, 0.0277284700, 1.043655007e-4, 27453.7196},
		{"T7 raytracer, first six (R usl)", raytracerN[:6], raytracerX[:6], 20.85605, 0.02444, 0.00163, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, rss, err := LeastSquares(func(p, r []float64) {
				for i, n := range test.n {
					r[i] = test.x[i] - USL{p[0], p[1], p[2], 0}.Throughput(n)
				}
			}, []float64{test.x[0], 0.01, 1e-4}, len(test.n))
			if err != nil {
				t.Fatal(err)
			}
			u, digits := USL{p[0], p[1], p[2], 0}, 1e-6
			if test.rss == 0 {
				digits = 3e-3 // β is published with three digits
			} else if !near(rss, test.rss, 1e-6) || !near(u.Peak(), 96.51955, 1e-6) || !near(u.Top(), 1883.899, 1e-6) {
				t.Errorf("RSS %.9g, peak %.7g of %.7g", rss, u.Peak(), u.Top())
			}
			if !near(u.Gamma, test.gamma, digits) || !near(u.Alpha, test.alpha, digits) || !near(u.Beta, test.beta, digits) {
				t.Errorf("%+v", u)
			}
		})
	}
}

// Fits of the logarithm: R 4.2.2, optim (Nelder-Mead, restarted) on the same sum.
func TestFitUSL(t *testing.T) {
	toyX := []float64{1, 1.8868, 3.0769, 3.5294, 3.5398, 3.3557}
	tests := []struct {
		name               string
		n, x               []float64
		gamma, alpha, beta float64
		rss, digits        float64
	}{
		{"T6 specsdm91 (R optim)", specN, specX, 67.94232300, 0.01345247320, 1.151100773e-4, 0.02227711518, 1e-5},
		{"T7 raytracer (R optim)", raytracerN, raytracerX, 21.59150353, 0.05640544113, 3.358263992e-6, 0.02543950901, 1e-4},
		{"T7 raytracer, first six (R optim)", raytracerN[:6], raytracerX[:6], 20.281366776306, 0.016716494449, 0.001890997407, 0.001593917946, 1e-5},
		{"T8 toy (R usl)", []float64{1, 2, 4, 6, 8, 10}, toyX, 1, 0.02, 0.02, 0, 2e-4},
		{"nothing shared", []float64{1, 2, 4, 8, 16}, []float64{3, 6, 12, 24, 48}, 3, 0, 0, 0, 1e-6},
		{"more than in proportion: held at 0", []float64{1, 2, 4, 8}, []float64{1, 2.1, 4.4, 9.2}, 1.0722, 0, 0, 0, 1e-2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			u, err := FitUSL(test.n, test.x)
			if err != nil {
				t.Fatal(err)
			}
			if !near(u.Gamma, test.gamma, test.digits) || !nearOrZero(u.Alpha, test.alpha, test.digits) || !nearOrZero(u.Beta, test.beta, test.digits) {
				t.Errorf("%+v", u)
			}
			if rss := u.SD * u.SD * float64(len(test.n)-3); test.rss > 0 && !near(rss, test.rss, 1e-6) {
				t.Errorf("RSS %.10g, want %.10g", rss, test.rss)
			}
		})
	}
	for _, bad := range [][2][]float64{
		{{1, 2, 3}, {1, 2, 3}}, {{1, 2, 3, 4}, {1, 2, 3}}, {{1, 2, 3, 4}, {1, 2, 0, 4}}, {{1, 2, 3, math.NaN()}, {1, 2, 3, 4}}, {{1, 2, 3, 4}, {1, 2, math.Inf(1), 4}},
	} {
		if _, err := FitUSL(bad[0], bad[1]); !errors.Is(err, ErrInput) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if _, err := FitUSL([]float64{5, 5, 5, 5}, []float64{1, 1, 1, 1}); err != nil {
		t.Errorf("one concurrency: %v", err)
	}
}

func nearOrZero(got, want, rel float64) bool {
	return near(got, want, rel) || want == 0 && math.Abs(got) < 1e-7
}

func TestUSLPeak(t *testing.T) {
	for _, test := range []struct {
		u         USL
		peak, top float64
	}{
		{USL{Gamma: 1, Alpha: 0.02, Beta: 0.02}, 7, 3.5714285714},
		{USL{Gamma: 1, Alpha: 0.02}, math.Inf(1), math.Inf(1)},
		{USL{Gamma: 2, Alpha: 1.5}, 1, 2},
		{USL{Gamma: 2, Alpha: 0.5, Beta: 9}, 1, 2},
	} {
		if got, top := test.u.Peak(), test.u.Top(); got != test.peak && !near(got, test.peak, 1e-9) || top != test.top && !near(top, test.top, 1e-9) {
			t.Errorf("%+v: peak %g of %g, want %g of %g", test.u, got, top, test.peak, test.top)
		}
	}
}

// The law says nothing of a peak far above the highest concurrency: intervals
// cover, and β's does not leave 0 where there is none.
func TestCalibrateUSL(t *testing.T) {
	type result struct{ covered, none bool }
	n := replicates()
	for _, c := range cells(
		struct {
			name                string
			beta, top, coverage float64
		}{"highest N 1.2 of the peak", 4e-4, 1.2, 0.92},
		struct {
			name                string
			beta, top, coverage float64
		}{"highest N 2 of the peak", 4e-4, 2, 0.92},
		struct {
			name                string
			beta, top, coverage float64
		}{"no peak", 0, 1.2, 0},
	) {
		truth := USL{Gamma: 10, Alpha: 0.04, Beta: c.beta}
		peak := USL{Gamma: 10, Alpha: 0.04, Beta: 4e-4}.Peak()
		results := parallel(n, func(i int) result {
			rng := newRand(uint64(i), 106)
			var at, x []float64
			for j := range 10 {
				at = append(at, 1+(c.top*peak-1)*float64(j)/9)
				x = append(x, truth.Throughput(at[j])*math.Exp(0.02*rng.NormFloat64()))
			}
			u, err := FitUSL(at, x)
			if err != nil {
				t.Error(err)
				return result{}
			}
			r, ok := u.Bootstrap(at, 199, uint64(i), 0.95)
			return result{ok && r.Peak.Low <= truth.Peak() && truth.Peak() <= r.Peak.High, ok && r.Beta.Low <= 0}
		})
		var covered, none []bool
		for _, r := range results {
			covered, none = append(covered, r.covered), append(none, r.none)
		}
		t.Logf("%s: β's interval holds 0 in %.3f", c.name, share(none))
		if c.beta == 0 {
			atLeast(t, "β's interval holds 0", share(none), 0.95, n)
		} else {
			atLeast(t, "coverage of the peak", share(covered), c.coverage, n)
		}
	}
}
