package analyzer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

// noise is the standard deviation of a run's log latency in one arm, at which 60
// pairs find a change of 5 % half of the time.
const noise = 0.136

// drawUnits draws n units of m latencies: an environment that both arms share
// (AR 0.6), noise of their own, and a change of the candidate.
func drawUnits(rng *rand.Rand, n, m int, change float64) []unit {
	units := make([]unit, n)
	shared := 0.0
	for i := range units {
		shared = 0.6*shared + 0.3*rng.NormFloat64()
		units[i].cells = make([]cell, m)
		for k := range units[i].cells {
			base := shared + noise*rng.NormFloat64()
			cand := shared + noise*rng.NormFloat64() + math.Log1p(change)
			units[i].cells[k] = cell{n: 500, base: math.Exp(base), cand: math.Exp(cand), difference: cand - base}
		}
	}
	return units
}

// compareUnits judges m latencies, the first two primary.
func compareUnits(units []unit, m int, o CompareOptions) *Comparison {
	metrics := make([]compared, m)
	in := make([]present, m)
	for i := range metrics {
		metrics[i].name = fmt.Sprintf("m%d", i)
	}
	c := new(Comparison)
	c.Baseline.Validity.Verdict, c.Candidate.Validity.Verdict = trace.Valid, trace.Valid
	p := &pairing{Pairing: Pairing{Unit: "run", Units: len(units)}, units: units}
	c.judge(metrics, []string{"m0", "m1"}, in, p, nil, o.withDefaults())
	c.conclude()
	return c
}

// rateOf is the share of n seeded experiments in which something happens.
func rateOf(n int, stream uint64, happens func(rng *rand.Rand) bool) float64 {
	hits := 0.0
	for _, hit := range parallel(n, func(i int) bool { return happens(rand.New(rand.NewPCG(uint64(i), stream))) }) {
		if hit {
			hits++
		}
	}
	return hits / float64(n)
}

// within fails where a rate misses its target by more than two and a half
// standard errors.
func within(t *testing.T, what string, got, low, high float64, n int) {
	t.Helper()
	t.Logf("%s: %.3f, want %.3f to %.3f", what, got, low, high)
	off := func(p float64) float64 { return 2.5 * math.Sqrt(p*(1-p)/float64(n)) }
	if got < low-off(low) || got > high+off(high) {
		t.Errorf("%s: %.3f, want %.3f to %.3f (n = %d)", what, got, low, high, n)
	}
}

// Two runs of one build are not told apart more often than the tests say, and a
// change of 5 % is found.
func TestCalibrateCompare(t *testing.T) {
	n := scale(200, 2000)
	for _, size := range []int{60, 6, 12} {
		significant := rateOf(n, 301, func(rng *rand.Rand) bool {
			return *compareUnits(drawUnits(rng, size, 2, 0), 2, CompareOptions{}).Metrics[0].PValue < 0.05
		})
		within(t, fmt.Sprintf("A/A, one metric, %d pairs: p < 5 %%", size), significant, 0, 0.065, n)
		false12 := rateOf(n, 302, func(rng *rand.Rand) bool {
			return compareUnits(drawUnits(rng, size, 12, 0), 12, CompareOptions{Tolerance: 1e-4}).Verdict == Regression
		})
		within(t, fmt.Sprintf("A/A, 12 metrics, %d pairs, hardly any tolerance: regression", size), false12, 0, 0.06, n)
		passed := rateOf(n, 303, func(rng *rand.Rand) bool {
			return compareUnits(drawUnits(rng, size, 2, 0.1), 2, CompareOptions{Tolerance: 0.1}).Metrics[0].NoRegression
		})
		within(t, fmt.Sprintf("as slow as the tolerance, %d pairs: no regression", size), passed, 0, 0.05, n)
	}
	power := rateOf(n, 304, func(rng *rand.Rand) bool {
		return *compareUnits(drawUnits(rng, 60, 2, 0.05), 2, CompareOptions{}).Metrics[0].PValue < 0.05
	})
	within(t, "5 % slower, 60 pairs: p < 5 %", power, 0.45, 1, n)
	worse := rateOf(n, 305, func(rng *rand.Rand) bool {
		return compareUnits(drawUnits(rng, 60, 2, 0.15), 2, CompareOptions{}).Verdict == Regression
	})
	within(t, "15 % slower, 60 pairs, tolerance 5 %: regression", worse, 0.9, 1, n)
	equal := rateOf(n, 306, func(rng *rand.Rand) bool {
		return compareUnits(drawUnits(rng, 60, 2, 0), 2, CompareOptions{Tolerance: 0.1}).Verdict == Pass
	})
	within(t, "A/A, 60 pairs, tolerance 10 %: pass", equal, 0.9, 1, n)
}

// drawRates draws units of 500 paired requests, whose failures come together in
// some runs: the rate of a run varies by a factor of e^(spread).
func drawRates(rng *rand.Rand, n int, before, after, spread float64) []unit {
	units := make([]unit, n)
	for i := range units {
		c := cell{n: 500, candN: 500, paired: true}
		p, q := before*math.Exp(spread*rng.NormFloat64()), after*math.Exp(spread*rng.NormFloat64())
		for range c.n {
			a, b := rng.Float64() < p, rng.Float64() < q
			switch {
			case a && b:
				c.baseFailed, c.candFailed = c.baseFailed+1, c.candFailed+1
			case a:
				c.baseFailed, c.onlyBase = c.baseFailed+1, c.onlyBase+1
			case b:
				c.candFailed, c.onlyCand = c.candFailed+1, c.onlyCand+1
			}
		}
		units[i].cells = []cell{c.asRate()}
	}
	return units
}

func TestCalibrateCompareRates(t *testing.T) {
	n := scale(200, 2000)
	judge := func(units []unit, tolerance float64) judged {
		all := []judged{measureMetric(compared{name: "error_rate", kind: rateDifference}, 0, units, tolerance, 1)}
		all[0].Primary = true
		adjust(all)
		all[0].decide("")
		return all[0]
	}
	for _, size := range []int{8, 24} {
		for _, spread := range []float64{0, 1} {
			worse := rateOf(n, 311, func(rng *rand.Rand) bool {
				return judge(drawRates(rng, size, 0.02, 0.02, spread), 1e-5).Verdict == Worse
			})
			within(t, fmt.Sprintf("A/A, %d runs, rates spread by e^%g, hardly any tolerance: worse", size, spread), worse, 0, 0.035, n)
		}
		passed := rateOf(n, 312, func(rng *rand.Rand) bool {
			return judge(drawRates(rng, size, 0.01, 0.025, 0), 0.015).NoRegression
		})
		within(t, fmt.Sprintf("%d runs, worse by the tolerance: no regression", size), passed, 0, 0.05, n)
	}
	found := rateOf(n, 313, func(rng *rand.Rand) bool {
		return judge(drawRates(rng, 8, 0, 0.02, 0), 0.005).Verdict == Worse
	})
	within(t, "2 % after none, 8 runs: worse", found, 0.9, 1, n)
}
