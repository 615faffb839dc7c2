package stats

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/lambdac/lambdac/internal/testenv"
)

// replicates is 1,000 in a calibration, 200 in the unit tests.
func replicates() int {
	if testenv.Calibrating() {
		return 1000
	}
	return 200
}

// cells returns all cells in a calibration, else the first.
func cells[T any](all ...T) []T {
	if testenv.Calibrating() {
		return all
	}
	return all[:1]
}

// parallel runs f(0…n−1) on all cores and returns the results in order.
func parallel[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				out[i] = f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return out
}

// slack is what a share estimated from n replicates may miss its target by:
// two and a half standard errors.
func slack(share float64, n int) float64 { return 2.5 * math.Sqrt(share*(1-share)/float64(n)) }

func atLeast(t *testing.T, what string, got, want float64, n int) {
	t.Helper()
	t.Logf("%s: %.3f, want ≥ %.3f", what, got, want)
	if got < want-slack(want, n) {
		t.Errorf("%s: %.3f, want ≥ %.3f (n = %d)", what, got, want, n)
	}
}

func atMost(t *testing.T, what string, got, want float64, n int) {
	t.Helper()
	t.Logf("%s: %.3f, want ≤ %.3f", what, got, want)
	if got > want+slack(want, n) {
		t.Errorf("%s: %.3f, want ≤ %.3f (n = %d)", what, got, want, n)
	}
}

func share(hits []bool) float64 {
	n := 0.0
	for _, hit := range hits {
		if hit {
			n++
		}
	}
	return n / float64(len(hits))
}

// grid10to100 are m even loads from 10 to 100, those of the simulations that
// set the targets.
func grid10to100(m int) []float64 {
	x := make([]float64, m)
	for i := range x {
		x[i] = 10 + 90*float64(i)/float64(m-1)
	}
	return x
}

// draw makes r runs per load with n requests each.
func draw(rng *rand.Rand, x []float64, r int, n, phi float64, rate func(float64) float64) []Run {
	var runs []Run
	for i, load := range x {
		for range r {
			runs = append(runs, Run{Level: i, N: n, K: drawCount(rng, n, min(rate(load), 1), phi)})
		}
	}
	return runs
}

func onsetRate(l Link, eps0, lambda, delta float64) func(float64) float64 {
	a := l.apply(eps0)
	return func(x float64) float64 {
		p, _, _ := l.inverse(a + max(0, x-lambda)/delta)
		return p
	}
}

func TestCalibrateExistence(t *testing.T) {
	type cell struct {
		eps0, phi float64
		r         int
	}
	var all []cell
	for _, eps0 := range []float64{1e-3, 2e-4, 1e-2} {
		for _, phi := range []float64{5, 1, 2} {
			for _, r := range []int{3, 1} {
				all = append(all, cell{eps0, phi, r})
			}
		}
	}
	x, n := grid10to100(8), replicates()
	for _, c := range cells(all...) {
		found := parallel(n, func(i int) bool {
			runs := draw(newRand(uint64(i), 100), x, c.r, 2000, c.phi, func(float64) float64 { return c.eps0 })
			test, err := Existence(x, runs, Resampling{Seed: uint64(i), StopAfter: 20, Max: 199})
			return err == nil && test.P < 0.05
		})
		t.Logf("%+v", c)
		atMost(t, "false positives at a constant rate", share(found), 0.07, n)
	}
}

// The targets are what permuting single runs can reach: a test that trusts
// requests to be independent finds 1.00, 0.84 and 0.77 of these, and as many as
// 0.30 of constant rates at φ = 5.
func TestCalibratePower(t *testing.T) {
	type cell struct{ eps0, n, power float64 }
	x, n := grid10to100(8), replicates()
	for _, c := range cells(cell{1e-3, 2000, 0.96}, cell{1e-3, 500, 0.67}, cell{2e-4, 2000, 0.60}) {
		found := parallel(n, func(i int) bool {
			rng := newRand(uint64(i), 101)
			lambda := 45 + 20*rng.Float64()
			runs := draw(rng, x, 1, c.n, 1, onsetRate(LinkLog, c.eps0, lambda, 20))
			test, err := Existence(x, runs, Resampling{Seed: uint64(i), StopAfter: 20, Max: 199})
			return err == nil && test.P < 0.05
		})
		t.Logf("%+v", c)
		atLeast(t, "power", share(found), c.power, n)
	}
}

func TestCalibrateOnset(t *testing.T) {
	type cell struct {
		truth          Link
		eps0, delta, n float64
		rmse           float64 // of Δ; 0 = no target
	}
	type result struct {
		covered, closed bool
		err             float64
	}
	all := []cell{
		{LinkLog, 1e-3, 8, 5000, 0.33},
		{LinkCloglog, 1e-3, 8, 5000, 0},
		{LinkLogit, 1e-3, 8, 5000, 0},
		{LinkLog, 1e-3, 12, 2000, 0.65},
		{LinkLog, 1e-2, 8, 2000, 0.25},
		{LinkLog, 1e-3, 4, 5000, 0},
		{LinkLogit, 1e-2, 4, 2000, 0},
		{LinkCloglog, 1e-3, 6, 2000, 0},
	}
	x, n := grid10to100(12), replicates()
	for _, c := range cells(all...) {
		results := parallel(n, func(i int) result {
			rng := newRand(uint64(i), 102)
			lambda := 45 + 20*rng.Float64()
			counts := Pool(x, draw(rng, x, 1, c.n, 1, onsetRate(c.truth, c.eps0, lambda, c.delta)))
			u, err := FitOnsetUnion(counts.SubSaturated(0.25), chi95)
			if err != nil {
				return result{}
			}
			in := (u.Range.LowOpen || u.Range.Low <= lambda) && (u.Range.HighOpen || lambda <= u.Range.High)
			return result{covered: in, closed: !u.Range.LowOpen && !u.Range.HighOpen, err: (u.Fits[0].Lambda - lambda) / c.delta}
		})
		var covered, closed []bool
		var errs []float64
		square := 0.0
		for _, r := range results {
			covered, closed = append(covered, r.covered), append(closed, r.closed)
			errs = append(errs, r.err)
			square += r.err * r.err / float64(n)
		}
		slices.Sort(errs)
		t.Logf("%v ε0=%g Δ=%g n=%g: closed %.3f, RMSE/Δ %.3f, median bias/Δ %.3f", c.truth, c.eps0, c.delta, c.n, share(closed), math.Sqrt(square), errs[n/2])
		atLeast(t, "coverage of λc", share(covered), 0.93, n)
		if c.rmse > 0 && math.Sqrt(square) > c.rmse*1.15 {
			t.Errorf("RMSE/Δ %.3f, want ≤ %.3f", math.Sqrt(square), c.rmse)
		}
	}
}

func TestCalibrateOnsetOverdispersed(t *testing.T) {
	x, n := grid10to100(12), replicates()
	for _, phi := range cells(5.0, 2.0) {
		covered := parallel(n, func(i int) bool {
			rng := newRand(uint64(i), 103)
			lambda := 45 + 20*rng.Float64()
			runs := draw(rng, x, 3, 2000, phi, onsetRate(LinkLog, 1e-2, lambda, 8))
			cut := WithinLevels(len(x), runs).Cut(0.95)
			u, err := FitOnsetUnion(Pool(x, runs).SubSaturated(0.25), cut)
			return err == nil && (u.Range.LowOpen || u.Range.Low <= lambda) && (u.Range.HighOpen || lambda <= u.Range.High)
		})
		t.Logf("φ = %g", phi)
		atLeast(t, "coverage of λc, three runs a load", share(covered), 0.91, n)
	}
}

func TestCalibrateFamilies(t *testing.T) {
	type cell struct {
		name  string
		rate  func(capacity float64) func(float64) float64
		want  Shape
		n     int
		rate0 float64
	}
	shed := func(capacity float64) func(float64) float64 {
		return func(x float64) float64 { return floorRate(ShedShape(x, capacity), 1e-3) }
	}
	queue := func(capacity float64) func(float64) float64 {
		return func(x float64) float64 { return floorRate(QueueBlocking(x/capacity, 10), 1e-3) }
	}
	constant := func(float64) func(float64) float64 { return func(float64) float64 { return 1e-2 } }
	all := []cell{
		{"shed", shed, ShapeShed, replicates(), 0.95}, {"queue K=10", queue, ShapeQueue, replicates(), 0.95}, {"const", constant, ShapeConst, replicates(), 0.88},
	}
	type result struct {
		right, covered bool
		err            float64
	}
	x := grid10to100(12)
	for _, c := range all {
		n := c.n
		results := parallel(n, func(i int) result {
			rng := newRand(uint64(i), 104)
			capacity := 45 + 20*rng.Float64()
			counts := Pool(x, draw(rng, x, 1, 2000, 1, c.rate(capacity)))
			best, top := Model{}, math.Inf(1)
			for _, s := range Shapes {
				if m, err := FitShape(counts, s); err == nil && m.AICc(len(x), 1) < top {
					best, top = m, m.AICc(len(x), 1)
				}
			}
			if !c.want.HasCapacity() {
				return result{right: best.Shape == c.want}
			}
			fit, err := FitCapacity(counts, c.want, chi95)
			in := err == nil && fit.Interval.Low <= capacity && capacity <= fit.Interval.High
			return result{right: best.Shape == c.want, covered: in, err: fit.Model.Lambda/capacity - 1}
		})
		var right, covered []bool
		square := 0.0
		for _, r := range results {
			right, covered = append(right, r.right), append(covered, r.covered)
			square += r.err * r.err / float64(n)
		}
		atLeast(t, c.name+" recovered", share(right), c.rate0, n)
		if c.want.HasCapacity() {
			atLeast(t, c.name+": coverage of the capacity", share(covered), 0.92, n)
			if math.Sqrt(square) > 0.01 {
				t.Errorf("%s: RMSE of the capacity %.4f, want ≤ 0.01", c.name, math.Sqrt(square))
			}
		}
	}
}

func TestCalibrateQuantile(t *testing.T) {
	n := replicates() * 5
	for _, size := range cells(500, 368, 1000, 3000) {
		truth := math.Exp(0.8 * normalQuantile(0.99))
		covered := parallel(n, func(i int) bool {
			rng := newRand(uint64(i), 105)
			values := make([]float64, size)
			for j := range values {
				values[j] = math.Exp(0.8 * rng.NormFloat64())
			}
			slices.Sort(values)
			r, ok := QuantileRanks(size, 0.99, 0.95)
			return ok && values[r.Low-1] <= truth && truth <= values[r.High-1]
		})
		atLeast(t, "coverage of the P99", share(covered), 0.94, n)
	}
}
