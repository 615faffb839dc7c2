package stats

import (
	"errors"
	"math"
	"testing"
)

// T18: NIST StRD, nonlinear regression, certified values. The starts are the
// farther of the two that NIST gives; for BoxBOD the nearer: from the farther
// one it ends in the local minimum at 172.5.
func TestLeastSquares(t *testing.T) {
	type point struct{ x, y float64 }
	misra := []point{
		{77.6, 10.07},
		{114.9, 14.73},
		{141.1, 17.94},
		{190.8, 23.93},
		{239.9, 29.61},
		{289, 35.18},
		{332.8, 40.02},
		{378.4, 44.82},
		{434.8, 50.76},
		{477.3, 55.05},
		{536.8, 61.01},
		{593.1, 66.40},
		{689.1, 75.47},
		{760, 81.78},
	}
	rat := []point{
		{1, 16.08},
		{2, 33.83},
		{3, 65.80},
		{4, 97.20},
		{5, 191.55},
		{6, 326.20},
		{7, 386.87},
		{8, 520.53},
		{9, 590.03},
		{10, 651.92},
		{11, 724.93},
		{12, 699.56},
		{13, 689.96},
		{14, 637.56},
		{15, 717.41},
	}
	mgh := []point{
		{4, 0.1957},
		{2, 0.1947},
		{1, 0.1735},
		{0.5, 0.16},
		{0.25, 0.0844},
		{0.167, 0.0627},
		{0.125, 0.0456},
		{0.1, 0.0342},
		{0.0833, 0.0323},
		{0.0714, 0.0235},
		{0.0625, 0.0246},
	}
	box := []point{{1, 109}, {2, 149}, {3, 149}, {5, 191}, {7, 213}, {10, 224}}
	tests := []struct {
		name        string
		points      []point
		f           func(p []float64, x float64) float64
		start, want []float64
		rss         float64
	}{
		{
			"T18 Misra1a", misra, func(p []float64, x float64) float64 { return p[0] * (1 - math.Exp(-p[1]*x)) },
			[]float64{500, 0.0001},
			[]float64{238.94212918, 5.5015643181e-4},
			0.12455138894,
		},
		{
			"T18 Rat43", rat, func(p []float64, x float64) float64 { return p[0] / math.Pow(1+math.Exp(p[1]-p[2]*x), 1/p[3]) },
			[]float64{100, 10, 1, 1},
			[]float64{699.64151270, 5.2771253025, 0.75962938329, 1.2792483859},
			8786.4049080,
		},
		{
			"T18 MGH09", mgh, func(p []float64, x float64) float64 { return p[0] * (x*x + x*p[1]) / (x*x + x*p[2] + p[3]) },
			[]float64{25, 39, 41.5, 39},
			[]float64{0.19280693458, 0.19128232873, 0.12305650693, 0.13606233068},
			3.0750560385e-4,
		},
		{
			"T18 BoxBOD", box, func(p []float64, x float64) float64 { return p[0] * (1 - math.Exp(-p[1]*x)) },
			[]float64{100, 0.75},
			[]float64{213.80940889, 0.54723748542},
			1168.0088766,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, rss, err := LeastSquares(func(p, r []float64) {
				for i, at := range test.points {
					r[i] = at.y - test.f(p, at.x)
				}
			}, test.start, len(test.points))
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range test.want {
				if !near(p[i], want, 1e-6) {
					t.Errorf("parameter %d: %.11g, want %.11g", i, p[i], want)
				}
			}
			if !near(rss, test.rss, 1e-6) {
				t.Errorf("RSS %.11g, want %.11g", rss, test.rss)
			}
		})
	}
	if _, _, err := LeastSquares(func(_, r []float64) { r[0] = math.NaN() }, []float64{1}, 1); !errors.Is(err, ErrNoMinimum) {
		t.Errorf("nothing finite: %v", err)
	}
	if _, _, err := LeastSquares(func(_, r []float64) { r[0] = 1 }, []float64{1, 2}, 1); !errors.Is(err, ErrNoMinimum) {
		t.Errorf("more parameters than residuals: %v", err)
	}
}
