package analyzer

import (
	"fmt"
	"math"
	"slices"

	"github.com/lambdac/lambdac/analyzer/stats"
)

// equivalence is the confidence of the interval that must lie within the
// tolerance: two one-sided tests at 5 %. Source: Schuirmann, J. Pharmacokinet.
// Biopharm. 15:657 (1987).
const equivalence = 0.90

// judged is a metric with what its verdict is taken from.
type judged struct {
	MetricVerdict

	metric compared
	// wide is the 95 % interval, narrow the 90 % one, both of differences; d is
	// their point.
	d            float64
	wide, narrow stats.Interval
	measured     bool
	// short is the number of requests that a quantile needs and some unit has not.
	short int
	// spread is the standard deviation of the differences.
	spread float64
}

// isRate: differences are points of a share, else logarithms of ratios.
func (j *judged) isRate() bool { return j.metric.kind == rateDifference }

// margin is the tolerance as a difference.
func (j *judged) margin() float64 {
	if j.isRate() {
		return j.Tolerance
	}
	return math.Log1p(j.Tolerance)
}

// effect is a difference with its interval in the unit of the result.
func (j *judged) effect(d float64, i stats.Interval) Difference {
	if j.isRate() {
		return Difference{Point: finite(100 * d), Low: finite(100 * i.Low), High: finite(100 * i.High), Unit: "points"}
	}
	return Difference{Point: finite(math.Exp(d)), Low: finite(math.Exp(i.Low)), High: finite(math.Exp(i.High)), Unit: "ratio"}
}

// measureMetric takes effect, intervals and p-value of one metric from the units.
func measureMetric(m compared, index int, units []unit, tolerance float64, seed uint64) judged {
	j := judged{metric: m, MetricVerdict: MetricVerdict{Metric: m.name, Verdict: Unclear, Tolerance: tolerance}}
	j.Effect.Unit = j.effect(0, stats.Interval{}).Unit
	var d []float64
	var base, cand float64
	var total cell
	for _, u := range units {
		c := u.cells[index]
		if c.n == 0 {
			total.short = max(total.short, c.short)
			continue
		}
		d = append(d, c.difference)
		base, cand = base+math.Log(c.base), cand+math.Log(c.cand)
		total = total.plus(c)
	}
	j.Units, j.N, j.short = len(d), total.n, total.short
	if len(d) == 0 {
		if total.short > 0 {
			j.Missing = fmt.Sprintf("%d answered requests in both arms per run; hold longer", total.short)
		}
		return j
	}
	j.Baseline, j.Candidate = finite(math.Exp(base/float64(len(d)))), finite(math.Exp(cand/float64(len(d))))
	if len(d) < 2 {
		j.Missing = "two units at least; replicate the runs"
		return j
	}
	j.measured, j.spread = true, deviation(d)
	j.d, j.wide, _ = stats.MeanInterval(d, confidence)
	_, j.narrow, _ = stats.MeanInterval(d, equivalence)
	p := meanP(d, seed)
	if m.kind == rateDifference {
		p = max(p, j.rate(total, d))
	}
	j.PValue = finite(p)
	j.Effect = j.effect(j.d, j.wide)
	return j
}

// flipsFrom is the number of units from which their signs are permuted: with
// fewer, the least p that signs can give, 2 ÷ 2^n, does not survive the
// adjustment for several metrics, and the t test of the interval stands in.
const flipsFrom = 12

// meanP is the p-value of no difference.
func meanP(d []float64, seed uint64) float64 {
	p, _ := stats.MeanTest(d)
	if len(d) < flipsFrom {
		return p
	}
	if test, err := stats.SignFlip(d, stats.Resampling{Seed: seed, Max: permutations}); err == nil {
		return test.P
	}
	return 1 // a difference that is not finite proves nothing
}

// measureSamples compares the runs of both arms as two samples, where nothing
// says which of them belong together.
func measureSamples(m compared, index int, samples [2][]unit, tolerance float64) judged {
	j := judged{metric: m, MetricVerdict: MetricVerdict{Metric: m.name, Verdict: Unclear, Tolerance: tolerance}}
	j.Effect.Unit = j.effect(0, stats.Interval{}).Unit
	var values [2][]float64
	var counts [2]cell
	for side, units := range samples {
		for _, u := range units {
			c := u.cells[index]
			if c.n == 0 {
				continue
			}
			v := c.base
			if m.kind != rateDifference {
				v = math.Log(v)
			}
			values[side] = append(values[side], v)
			counts[side] = counts[side].plus(c)
		}
	}
	j.N = counts[0].n + counts[1].n
	x, y := values[0], values[1]
	j.Units = len(x) + len(y)
	wide, err := stats.MannWhitney(x, y, confidence)
	if err != nil {
		return j // not measured in an arm
	}
	j.Baseline, j.Candidate = finite(mean(x)), finite(mean(y))
	if !j.isRate() {
		j.Baseline, j.Candidate = finite(math.Exp(mean(x))), finite(math.Exp(mean(y)))
	}
	narrow, _ := stats.MannWhitney(x, y, equivalence)
	if !wide.Bounded || !narrow.Bounded {
		j.Missing = "four runs in each arm, which the interval of a rank test takes"
		return j
	}
	j.measured, j.d, j.wide, j.narrow = true, wide.Shift, wide.Interval, narrow.Interval
	j.spread = (narrow.Interval.High - narrow.Interval.Low) / 2 / 1.645 * math.Sqrt(float64(j.Units)/2)
	p := wide.P
	if j.isRate() {
		total := cell{n: counts[0].n, candN: counts[1].n, baseFailed: counts[0].baseFailed, candFailed: counts[1].candFailed}
		p = max(p, j.rate(total, slices.Concat(centred(x), centred(y))))
	}
	j.PValue, j.Effect = finite(p), j.effect(j.d, j.wide)
	return j
}

// centred are values less their mean, times √2: they spread as differences of
// two of them do.
func centred(xs []float64) []float64 {
	m, out := mean(xs), make([]float64, len(xs))
	for i, x := range xs {
		out[i] = math.Sqrt2 * (x - m)
	}
	return out
}

// plus adds the counts of two cells.
func (c cell) plus(o cell) cell {
	c.n, c.candN = c.n+o.n, c.candN+o.candN
	c.baseFailed, c.candFailed = c.baseFailed+o.baseFailed, c.candFailed+o.candFailed
	c.onlyBase, c.onlyCand = c.onlyBase+o.onlyBase, c.onlyCand+o.onlyCand
	c.paired, c.short = c.paired || o.paired, max(c.short, o.short)
	return c
}

// rate widens the intervals of a rate by those of independent requests, so that
// no failure at all in a few requests is no proof, and takes the difference of
// the totals as the point. It returns McNemar's p-value of the discordant
// requests, or the exact one of two rates where requests are not paired; both on
// counts deflated where failures come together in a unit.
func (j *judged) rate(total cell, d []float64) float64 {
	n0, n1 := float64(total.n), float64(total.candN)
	k0, k1 := float64(total.baseFailed), float64(total.candFailed)
	point, wide := stats.DifferenceInterval(k1, n1, k0, n0, confidence)
	_, narrow := stats.DifferenceInterval(k1, n1, k0, n0, equivalence)
	j.d, j.wide, j.narrow = point, hull(j.wide, wide), hull(j.narrow, narrow)
	j.Baseline, j.Candidate = finite(k0/n0), finite(k1/n1)
	// The spread that the interval has, whichever of both it comes from.
	j.spread = max(j.spread, (narrow.High-narrow.Low)/2/1.645*math.Sqrt(float64(len(d))))
	j.RatioLow = finite(stats.RatioInterval(k1, n1, k0, n0, equivalence).Low)
	events := k0 + k1
	if total.paired {
		events = float64(total.onlyBase + total.onlyCand)
	}
	phi := 1.0
	if events > 0 {
		// Variance of the differences of counts between units, against that of
		// coin tosses.
		per := (n0 + n1) / 2 / float64(len(d))
		phi = max(1, deviation(d)*deviation(d)*per*per*float64(len(d))/events)
	}
	if total.paired {
		return stats.McNemar(float64(total.onlyCand)/phi, float64(total.onlyBase)/phi)
	}
	return stats.RateTest(k1/phi, n1, k0/phi, n0)
}

func hull(a, b stats.Interval) stats.Interval {
	return stats.Interval{Low: min(a.Low, b.Low), High: max(a.High, b.High), Confidence: a.Confidence}
}

// deviation is the standard deviation of at least two values.
func deviation(xs []float64) float64 {
	m, square := mean(xs), 0.0
	for _, x := range xs {
		square += (x - m) * (x - m)
	}
	return math.Sqrt(square / float64(len(xs)-1))
}

// adjust fills the adjusted p-values: Holm over the primary metrics, Benjamini
// and Hochberg over the others.
func adjust(all []judged) {
	for _, primary := range []bool{true, false} {
		var ps []float64
		var of []int
		for i := range all {
			if all[i].PValue != nil && all[i].Primary == primary {
				ps, of = append(ps, *all[i].PValue), append(of, i)
			}
		}
		adjusted := stats.BenjaminiHochberg(ps)
		if primary {
			adjusted = stats.Holm(ps)
		}
		for k, i := range of {
			all[i].PAdjusted = &adjusted[k]
		}
	}
}

// decide gives the verdict of a metric, worse being up:
//
//	worse       adjusted p < 5 % and the 95 % interval beyond the tolerance
//	equivalent  the 90 % interval within the tolerance (two one-sided tests)
//	better      adjusted p < 5 % and the 95 % interval below no change
//	insufficient, indicated worse or better: adjusted p < 5 % without that
//
// doubt is why nothing may be proven, empty where it may.
func (j *judged) decide(doubt string) {
	if !j.measured {
		return
	}
	wide, narrow := j.wide, j.narrow
	if j.metric.higherIsBetter {
		wide = stats.Interval{Low: -wide.High, High: -wide.Low}
		narrow = stats.Interval{Low: -narrow.High, High: -narrow.Low}
	}
	margin := j.margin()
	significant := *j.PAdjusted < alpha
	verdict := Unclear
	switch {
	case significant && wide.Low > margin:
		verdict = Worse
	case narrow.Low > -margin && narrow.High < margin:
		verdict = Equivalent
	case significant && wide.High < 0:
		verdict = Better
	case significant && wide.Low > 0:
		j.Indicated = new(Worse)
	}
	if doubt != "" {
		if verdict == Worse || verdict == Better {
			j.Indicated = &verdict
		}
		j.Missing = doubt
		return
	}
	j.Verdict, j.NoRegression = verdict, narrow.High < margin
	if wide.Low == wide.High {
		j.Reason = "all differences are equal: the interval has no width"
	}
	if verdict == Unclear {
		j.explain()
	}
}

// explain says what an unclear verdict lacks. The number of units is that at
// which two one-sided tests would prove no change with 80 % power if there is
// none: (z.95 + z.90)²·s² ÷ margin².
func (j *judged) explain() {
	switch {
	case j.Indicated != nil:
		j.Reason = "proven worse than the baseline, but not by more than the tolerance"
	case j.NoRegression:
		j.Reason = "no regression; an improvement is not proven"
	}
	margin := j.margin()
	if margin <= 0 {
		j.Missing = "a tolerance above 0: without one nothing can be proven equal"
		return
	}
	if need := math.Ceil(8.56 * j.spread * j.spread / (margin * margin)); need > float64(j.Units) {
		j.Missing = fmt.Sprintf("about %.0f units like these %d to prove that nothing changed: replicate the runs or hold longer", need, j.Units)
	}
}

// unstable says why a control makes a metric's verdict void: the same build
// differed from itself by more than the tolerance. Empty where it did not.
func (j *judged) unstable(control judged) string {
	if !control.measured {
		return ""
	}
	j.Control = new(control.effect(control.d, control.wide))
	if math.Abs(control.d) <= j.margin() {
		return ""
	}
	return fmt.Sprintf("a stable environment: the control, which is the baseline's build, differs from the baseline by %s", changeText(*j.Control))
}

// changeText is an effect's point in words.
func changeText(d Difference) string {
	if d.Unit == "points" {
		return fmt.Sprintf("%+.3g points", *d.Point)
	}
	return fmt.Sprintf("%+.3g %%", 100*(*d.Point-1))
}

// present says in which arm a metric was measured on any request.
type present struct{ base, cand bool }

// absence says why a metric without a unit has none.
func (p present) absence() string {
	switch {
	case p.base && p.cand:
		return "a request answered in both arms that has it"
	case p.base:
		return "a measurement in the candidate: the baseline has it"
	case p.cand:
		return "a measurement in the baseline: the candidate has it"
	}
	return "a measurement: no answered request of either arm has it"
}

// primaryOf names the primary metrics: failures, and the time to the first token
// or, where nothing was streamed in either arm, the whole.
func primaryOf(metrics []compared, in []present) []string {
	at := slices.IndexFunc(metrics, func(m compared) bool { return m.name == "ttft_user" })
	if at >= 0 && (in[at].base || in[at].cand) {
		return []string{"error_rate", "ttft_user"}
	}
	return []string{"error_rate", "e2e"}
}
