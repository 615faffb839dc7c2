package stats

import (
	"math"
	"testing"
)

// T20: values of R, from the formulas written out.
func TestEntropyOf(t *testing.T) {
	e := EntropyOf([]int{4, 3, 2, 1, 0})
	for name, row := range map[string][2]float64{
		"plug-in": {e.PlugIn, 1.84643934467}, "Miller-Madow": {e.MillerMadow, 2.0628436008}, "Chao-Shen": {e.ChaoShen, 2.09805347938},
		"jackknife": {e.Jackknife, 2.16544468611}, "its error": {e.SE, 0.319020470265}, "coverage": {e.Coverage, 0.9},
		"of five": {Rarefied([]int{4, 3, 2, 1}, 5), 1.53212977134}, "of all": {Rarefied([]int{4, 3, 2, 1}, 99), 1.84643934467},
	} {
		if math.Abs(row[0]-row[1]) > 1e-9 {
			t.Errorf("%s: %.12g, want %.12g", name, row[0], row[1])
		}
	}
	for name, row := range map[string]struct {
		counts []int
		want   float64
	}{"none": {nil, 0}, "one category": {[]int{7}, 0}, "one": {[]int{1}, 0}} {
		e := EntropyOf(row.counts)
		i := e.Interval(0.95)
		for _, v := range []float64{e.PlugIn, e.ChaoShen, e.MillerMadow, e.Jackknife, i.Low, i.High} {
			if v != row.want {
				t.Errorf("%s: %+v", name, e)
				break
			}
		}
	}
	if e := EntropyOf([]int{1, 1, 1}); math.IsNaN(e.ChaoShen) || math.IsInf(e.ChaoShen, 0) || e.Coverage != 0 {
		t.Errorf("all seen once: %+v", e)
	}
}

func TestCalibrateEntropy(t *testing.T) {
	uniform, zipf := make([]float64, 20), make([]float64, 50)
	for i := range uniform {
		uniform[i] = 1
	}
	for i := range zipf {
		zipf[i] = 1 / float64(i+1)
	}
	n := replicates()
	for _, c := range []struct {
		name    string
		weights []float64
		most    float64
	}{{"20 alike", uniform, 0.1}, {"Zipf of 50", zipf, 0.2}} {
		truth, all := 0.0, sum(c.weights)
		for _, w := range c.weights {
			truth -= plog(w / all)
		}
		bias := 0.0
		covered := make([]bool, n)
		for i := range n {
			rng := newRand(uint64(i), 120)
			counts := make([]int, len(c.weights))
			for range 100 {
				at, u := 0, rng.Float64()*all
				for ; at < len(counts)-1 && u >= c.weights[at]; at++ {
					u -= c.weights[at]
				}
				counts[at]++
			}
			e := EntropyOf(counts)
			ends := e.Interval(0.95)
			bias += (e.MillerMadow - truth) / float64(n)
			covered[i] = ends.Low <= truth && truth <= ends.High
		}
		t.Logf("%s: bias of 100 %.3f bits", c.name, bias)
		if math.Abs(bias) > c.most {
			t.Errorf("%s: bias %.3f bits, want at most %g", c.name, bias, c.most)
		}
		atLeast(t, c.name+": coverage", share(covered), 0.90, n)
	}
}
