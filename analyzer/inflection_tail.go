package analyzer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lambdac/lambdac/analyzer/stats"
)

const (
	// lowShare of the highest quiet load is low load.
	lowShare = 0.25
	// tailRatio is the ratio of P99s from which on a tail counts.
	tailRatio = 1.4
	// tailAnswers of a run are needed for its P99.
	tailAnswers = 300
)

// quietTail looks for inflection III, a P99 that is higher at low load than at a
// higher one while the GPU is mostly idle. The lowest load, at most a quarter of
// the highest quiet one, is compared with the lowest quiet load above that
// quarter:
//
//	tail      P99 at least 1.4 times, exact permutation of the runs p ≤ 5 %
//	gpu idle  SM and DRAM activity at low load, upper end of the interval over
//	          runs below 30 %; utilisation, which is near 100 % whenever a kernel
//	          runs, only indicates
//	causes    clock, P-state, throttling, prompt mix, cold start, connections, a
//	          batching timer and the client itself are ruled out
//
// All is a tail without another explanation, consistent with thrash of the GPU's
// address translation; it has no counter of that to read.
func quietTail(loads []observedLoad, o *Observation) Inflection {
	out := newInflection("p99_jump_low_concurrency", "ratio")
	low, high, lack := o.tailLoads(loads)
	if lack != "" {
		return out.lacks(lack)
	}
	a, b := logP99s(low.runs), logP99s(high.runs)
	if lack := tailLacks(low, high, a, b); lack != "" {
		return out.lacks(lack)
	}
	test, p := tailTest(a, b, o.Seed)
	d, i, _ := stats.MeanDifference(a, b, confidence)
	out.Effect.Point, out.Effect.Low, out.Effect.High = finite(math.Exp(d)), finite(math.Exp(i.Low)), finite(math.Exp(i.High))
	out.PValue = &p
	jumps := d >= math.Log(tailRatio) && p <= alpha
	gpu := gpuIdle(low.runs, o.Telemetry)
	out.Evidence = append(out.Evidence, Evidence{
		Name: "p99_ratio", State: stateOf(jumps), Point: out.Effect.Point, Low: out.Effect.Low, High: out.Effect.High, Unit: "ratio", PValue: &p,
		Text: fmt.Sprintf("P99 at %.4g/s over that at %.4g/s, at least 1.4; %d and %d runs, %d arrangements", low.perS, high.perS, len(a), len(b), test.Resamples),
	}, gpu.Evidence, idleGaps(low, high))
	if !jumps {
		return out.noTail(d, p, low, len(a))
	}
	out.Competing = tailCauses(low, high, o.Telemetry)
	return out.decideTail(low, high, gpu)
}

// noTail is the verdict where no tail is proven.
func (i Inflection) noTail(d, p float64, low observedLoad, runs int) Inflection {
	if d >= math.Log(tailRatio) {
		i.Indicated = true
		return i.lacks(fmt.Sprintf("more runs: P99 is higher at %.4g/s, but runs differ (p %.2g); replicate both loads %d times more", low.perS, p, runs))
	}
	i.Verdict = NotFound
	i.Reason = fmt.Sprintf("P99 at %.4g/s is not 1.4 times that at a higher load", low.perS)
	return i
}

// decideTail gives the verdict on a proven tail.
func (i Inflection) decideTail(low, high observedLoad, gpu gpuActivity) Inflection {
	if gpu.State == Fails && !gpu.weak {
		i.Verdict, i.Reason = NotFound, "the tail at low load is there, but the GPU is not idle: "+gpu.Text
		return i
	}
	i.Indicated = gpu.State == Holds
	var missing []string
	if gpu.State != Holds || gpu.weak {
		missing = append(missing, gpu.want)
	}
	for _, c := range i.Competing {
		switch c.State {
		case Holds:
			missing = append(missing, "a run without another explanation, "+c.Name+": "+c.Text)
		case Unknown:
			missing = append(missing, c.Text)
		}
	}
	if len(missing) > 0 {
		return i.lacks(strings.Join(missing, "; "))
	}
	i.Verdict = Found
	i.Reason = fmt.Sprintf("unexplained tail at low load: P99 at %.4g/s is %.3g times that at %.4g/s while the GPU is idle; consistent with thrash of the GPU's address translation, which has no counter here",
		low.perS, *i.Effect.Point, high.perS)
	return i
}

// tailLoads chooses the two loads that are compared, before their latencies are
// looked at.
func (o *Observation) tailLoads(loads []observedLoad) (low, high observedLoad, lack string) {
	if len(loads) < 2 {
		return low, high, "two loads at least, one of them at most a quarter of the highest that is met well"
	}
	top := loads[len(loads)-1].perS
	if o.QuietUpTo != nil {
		top = *o.QuietUpTo
	}
	low = loads[0]
	if low.perS > lowShare*top {
		return low, high, fmt.Sprintf("a low load: the lowest is %.4g/s, at most %.4g/s (a quarter of %.4g/s) is asked for", low.perS, lowShare*top, top)
	}
	for _, l := range loads[1:] {
		if quiet := !slices.ContainsFunc(l.runs, func(r *ObservedRun) bool { return r.Overloaded }); !quiet || l.perS > top {
			break
		}
		high = l
		if l.perS > lowShare*top {
			break
		}
	}
	if high.runs == nil {
		return low, high, fmt.Sprintf("a load above %.4g/s that the service meets well", low.perS)
	}
	return low, high, ""
}

// logP99s of the runs that have enough answers.
func logP99s(runs []*ObservedRun) []float64 {
	return p99sOf(runs, tailAnswers, func(a *Answer) (us float64, weight float64) { return float64(a.LatencyUs), 1 })
}

// tailLacks says what is missing to compare.
func tailLacks(low, high observedLoad, a, b []float64) string {
	for _, side := range []struct {
		load observedLoad
		have int
	}{{low, len(a)}, {high, len(b)}} {
		if side.have == len(side.load.runs) {
			continue
		}
		least := math.MaxInt
		for _, r := range side.load.runs {
			least = min(least, len(r.Answers))
		}
		return fmt.Sprintf("%d answered requests in each run for a P99, a run at %.4g/s has %d: hold longer", tailAnswers, side.load.perS, least)
	}
	if stats.Arrangements(twoSamples(len(a), len(b))) < 1/alpha || len(a) < 2 || len(b) < 2 {
		return fmt.Sprintf("runs: %d at %.4g/s against %d at %.4g/s can give no p of 5 %%; 3 against 3 at least, better 4 against 4", len(a), low.perS, len(b), high.perS)
	}
	return ""
}

// twoSamples is 1 for the values of the first sample, 0 for those of the second.
func twoSamples(a, b int) []float64 {
	x := make([]float64, a+b)
	for i := range a {
		x[i] = 1
	}
	return x
}

// tailTest permutes the runs between both loads.
func tailTest(a, b []float64, seed uint64) (stats.TestResult, float64) {
	test, err := stats.SlopeTest(twoSamples(len(a), len(b)), slices.Concat(a, b), nil, stats.Resampling{Seed: seed, Max: permutations})
	if err != nil {
		return stats.TestResult{}, 1
	}
	return test, test.P
}

// p99sOf are the logarithms of the runs' P99s of a weighted value; answers of
// weight 0 are left out, and runs that have fewer than the least.
func p99sOf(runs []*ObservedRun, least int, of func(*Answer) (us, weight float64)) []float64 {
	var out []float64
	for _, r := range runs {
		var values []weighted
		for i := range r.Answers {
			if us, w := of(&r.Answers[i]); w > 0 {
				values = append(values, weighted{max(us, 1), w})
			}
		}
		if len(values) >= least {
			out = append(out, math.Log(weightedQuantile(values, 0.99)))
		}
	}
	return out
}

type weighted struct{ value, weight float64 }

// weightedQuantile is the q-quantile of weighted values: type 7 where weights
// are equal. Ranks are (Σ weights before) ÷ (Σ all − the mean weight).
func weightedQuantile(values []weighted, q float64) float64 {
	slices.SortFunc(values, func(a, b weighted) int {
		switch {
		case a.value < b.value:
			return -1
		case a.value > b.value:
			return 1
		}
		return 0
	})
	total := 0.0
	for _, v := range values {
		total += v.weight
	}
	at := q * (total - total/float64(len(values)))
	before := 0.0
	for i, v := range values {
		if next := before + v.weight; i+1 < len(values) && next > at {
			return v.value + (at-before)/v.weight*(values[i+1].value-v.value)
		}
		before += v.weight
	}
	return values[len(values)-1].value
}

// idleGaps tells how long nothing had been asked before slow requests: evidence
// of what grows cold, not a condition.
func idleGaps(low, high observedLoad) Evidence {
	out := Evidence{Name: "idle_gap", State: Unknown, Unit: "s", Text: "time without a request before the slow ones at low load"}
	limit := mean(logP99s(high.runs))
	var slow, rest []float64
	for _, r := range low.runs {
		answers := slices.SortedFunc(slices.Values(r.Answers), func(a, b Answer) int { return int(min(max(a.StartUnixNs-b.StartUnixNs, -1), 1)) })
		for i := 1; i < len(answers); i++ {
			gap := float64(answers[i].StartUnixNs-answers[i-1].StartUnixNs) / 1e9
			if math.Log(float64(max(answers[i].LatencyUs, 1))) > limit {
				slow = append(slow, gap)
			} else {
				rest = append(rest, gap)
			}
		}
	}
	if len(slow) < 5 || len(rest) < 5 {
		return out
	}
	_, _, p := stats.Greater(logarithms(slow), logarithms(rest))
	slices.Sort(slow)
	slices.Sort(rest)
	before, _ := stats.Quantile(slow, 0.5)
	other, _ := stats.Quantile(rest, 0.5)
	out.State, out.Point, out.PValue = stateOf(p < alpha), finite(before), &p
	out.Text = fmt.Sprintf("median time without a request before the %d slow requests at low load; %.3g s before the others", len(slow), other)
	return out
}

// logarithms of times, of at least a microsecond each.
func logarithms(seconds []float64) []float64 {
	out := make([]float64, len(seconds))
	for i, s := range seconds {
		out[i] = math.Log(max(s, 1e-6))
	}
	return out
}
