package analyzer

import (
	"slices"

	"github.com/lambdac/lambdac/analyzer/stats"
)

// driftResult says whether the environment moved during the run.
type driftResult struct {
	tested, found bool
	advice        string
}

const driftAlpha = 0.01

// drift tests the error rates and the P99s of runs of one load against the
// order in which they were run.
func drift(loads []*load, seed uint64) driftResult {
	var order, rates, tails []float64
	var group []int
	repeated := false
	for i, l := range loads {
		repeated = repeated || len(l.judged) > 1
		for _, r := range l.judged {
			c := r.counts()
			order = append(order, float64(r.level.Order))
			group = append(group, i)
			rates = append(rates, float64(c.errors+c.sheds)/float64(max(1, c.n)))
			tails = append(tails, r.tail())
		}
	}
	if !repeated {
		return driftResult{}
	}
	const advice = "randomise the order of loads, replicate them, or restart the service between them"
	for _, m := range []struct {
		name   string
		values []float64
	}{{"error rate", rates}, {"P99", tails}} {
		test, err := stats.Trend(order, m.values, group, stats.Resampling{Seed: seed, StopAfter: permutationsStop})
		if err == nil && test.P < driftAlpha {
			return driftResult{tested: true, found: true, advice: "the environment drifted: the " + m.name + " follows the order of the runs; " + advice}
		}
	}
	return driftResult{tested: true}
}

// tail is the run's P99 of time to first token, of what there is; 0 = none.
func (r *run) tail() float64 {
	us := make([]float64, len(r.ttft))
	for i, t := range r.ttft {
		us[i] = float64(t)
	}
	slices.Sort(us)
	p99, _ := stats.Quantile(us, 0.99)
	return p99
}
