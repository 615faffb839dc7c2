package stats

import (
	"math"
	"testing"
)

// Values of R, from the formulas written out.
func TestKullbackLeibler(t *testing.T) {
	p := [][]float64{{10, 5, 3}, {8, 7, 1}, {12, 4, 4}, {0, 0, 0}}
	q := [][]float64{{9, 9, 2}, {6, 8, 3}}
	d, ok := KullbackLeibler(p, q, 0.95)
	if !ok || math.Abs(d.Bias-0.04554554554555) > 1e-12 || math.Abs(d.Point-0.00988964753278) > 1e-12 ||
		math.Abs(d.Low+0.56876581714514) > 1e-9 || math.Abs(d.High-0.58854511221071) > 1e-9 {
		t.Errorf("%+v %v", d, ok)
	}
	if _, ok := KullbackLeibler(p[:1], q, 0.95); ok {
		t.Error("one group is enough")
	}
}

// Answers repeat their own tokens: two samples of one law differ by more than
// independent tokens would. The limit is 0.05.
func TestCalibrateKullbackLeibler(t *testing.T) {
	const bins, groups, perGroup = 256, 32, 2000
	n := replicates() / 8
	for _, c := range []struct {
		name  string
		topic float64 // concentration of an answer on its own tokens; 0 = none
		shift float64 // of the law of the second sample
		least float64
		most  float64
	}{{"one law, independent tokens", 0, 0, 0, 0.01}, {"one law, answers of their own", 0.3, 0, 0, 0.05}, {"another law", 0.1, 1.5, 0.9, 1}} {
		beyond := parallel(n, func(i int) bool {
			rng := newRand(uint64(i), 121)
			sample := func(shift float64) [][]float64 {
				out := make([][]float64, groups)
				for g := range out {
					out[g] = make([]float64, bins)
					for range perGroup / 200 { // answers of 200 tokens
						own := rng.IntN(bins)
						for range 200 {
							b := int(bins * math.Pow(rng.Float64(), 2+shift))
							if rng.Float64() < c.topic {
								b = own
							}
							out[g][b]++
						}
					}
				}
				return out
			}
			d, ok := KullbackLeibler(sample(c.shift), sample(0), 0.95)
			return ok && d.Low > 0.05
		})
		if c.least > 0 {
			atLeast(t, c.name, share(beyond), c.least, n)
			continue
		}
		atMost(t, c.name, share(beyond), c.most, n)
	}
}
