package stats

import "testing"

const chi95 = 3.841458820694124

// downs are the births of mothers by age with their cases, the data set
// `down` of R's segmented (Davison & Hinkley 1997).
func downs() Counts {
	x := []float64{17}
	for age := 18.5; age <= 45.5; age++ {
		x = append(x, age)
	}
	return Counts{
		X: append(x, 47),
		N: []float64{
			13555, 13675, 18752, 22005, 23896, 24667, 24807, 23986, 22860, 21450, 19202, 17450, 15685, 13954, 11987,
			10983, 9825, 8483, 7448, 6628, 5780, 4834, 3961, 2952, 2276, 1589, 1018, 596, 327, 249,
		},
		K: []float64{
			16, 15, 16, 22, 16, 12, 17, 22, 15, 14, 27, 14, 9, 12, 12, 18, 13, 11, 23, 13, 17, 15, 30, 31, 33, 20, 16, 22, 11, 7,
		},
	}
}

func loads(from, to, step float64) []float64 {
	var xs []float64
	for x := from; x <= to; x += step {
		xs = append(xs, x)
	}
	return xs
}

func repeat(x float64, n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = x
	}
	return xs
}

func gradual() Counts {
	return Counts{X: loads(10, 80, 10), N: repeat(2000, 8), K: []float64{2, 3, 2, 4, 9, 25, 60, 120}}
}

func steep() Counts {
	return Counts{X: loads(10, 110, 10), N: repeat(1e5, 11), K: []float64{100, 100, 100, 100, 100, 152, 349, 803, 1848, 4252, 9784}}
}

func TestFitOnset(t *testing.T) {
	// R 4.2.2: glm profiles over λc. 0 = the source does not give it.
	tests := []struct {
		name                     string
		counts                   Counts
		link                     Link
		lambda, eps0, delta, dev float64
		low, high                float64
	}{
		{"T1 down log", downs(), LinkLog, 31.5943972, 8.3005998e-4, 3.81444, 44.540641, 30.22171, 32.85918},
		{"T1 down cloglog", downs(), LinkCloglog, 31.6163524, 0, 3.794705, 44.491377, 30.24708, 32.90305},
		{"T1 down logit", downs(), LinkLogit, 31.6376072, 0, 3.775439, 44.448924, 30.27191, 32.94512},
		{"T11 log", gradual(), LinkLog, 31.55038, 1.1666667e-3, 12.19532, 1.33498, 13.5957, 41.5295},
		{"T11 cloglog", gradual(), LinkCloglog, 31.84435, 0, 12.03061, 1.22453, 14.5849, 41.7324},
		{"T11 logit", gradual(), LinkLogit, 32.13103, 0, 11.86962, 1.12131, 15.5888, 41.9335},
		{"T12 log", steep(), LinkLog, 54.99713, 0, 12.00070, 0, 53.6410, 56.3107},
		{"T12 cloglog", steep(), LinkCloglog, 55.48588, 0, 11.77385, 0, 0, 0},
		{"T12 logit", steep(), LinkLogit, 55.95488, 0, 11.55502, 0, 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := FitOnset(test.counts, test.link, chi95)
			if err != nil {
				t.Fatal(err)
			}
			check := func(name string, got, want, rel float64) {
				if want != 0 && !near(got, want, rel) {
					t.Errorf("%s: got %.9g, want %.9g within %g", name, got, want, rel)
				}
			}
			check("λc", got.Lambda, test.lambda, 1e-4)
			check("ε0", got.Epsilon0, test.eps0, 1e-4)
			check("Δ", got.Delta, test.delta, 1e-4)
			check("deviance", got.Deviance, test.dev, 5e-6)
			check("low", got.Interval.Low, test.low, 1e-4)
			check("high", got.Interval.High, test.high, 1e-4)
		})
	}
}
