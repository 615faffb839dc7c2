package analyzer

import (
	"math"
	"slices"
	"time"

	"github.com/lambdac/lambdac/analyzer/stats"
	"github.com/lambdac/lambdac/trace"
)

// comparedKind is how a difference of a metric is taken.
type comparedKind uint8

const (
	// typicalRatio: mean of log(candidate ÷ baseline) of paired requests.
	typicalRatio comparedKind = iota
	// quantileRatio: log ratio of the quantiles over paired requests.
	quantileRatio
	// totalRatio: log ratio of sums.
	totalRatio
	// rateDifference: difference of shares of failed requests.
	rateDifference
)

// compared is one metric of a comparison.
type compared struct {
	name string
	kind comparedKind
	// of is the place of the value in pairRow.values.
	of       int
	quantile float64
	// higherIsBetter: throughput; all else is better low.
	higherIsBetter bool
	class          trace.Class
}

// Places of the values of a request.
const (
	valueTTFT = iota
	valueE2E
	valueTPOT
	valueGap
	valueTokens
	// valueGood is 1 for an answer that met every objective, else 0.
	valueGood
	valuesPerRequest
)

// comparedMetrics are the metrics of a comparison, primary candidates first.
func comparedMetrics() []compared {
	return []compared{
		{name: "error_rate", kind: rateDifference, class: trace.ClassError},
		{name: "ttft_user", of: valueTTFT},
		{name: "e2e", of: valueE2E},
		{name: "ttft_user_p90", kind: quantileRatio, of: valueTTFT, quantile: 0.9},
		{name: "ttft_user_p99", kind: quantileRatio, of: valueTTFT, quantile: 0.99},
		{name: "e2e_p90", kind: quantileRatio, of: valueE2E, quantile: 0.9},
		{name: "e2e_p99", kind: quantileRatio, of: valueE2E, quantile: 0.99},
		{name: "tpot", of: valueTPOT},
		{name: "max_gap", of: valueGap},
		{name: "shed_rate", kind: rateDifference, class: trace.ClassShed},
		{name: "output_tokens_per_s", kind: totalRatio, of: valueTokens, higherIsBetter: true},
		{name: "goodput", kind: totalRatio, of: valueGood, higherIsBetter: true},
	}
}

// unit is one difference per metric between two arms.
type unit struct {
	load  float64
	order int32
	cells []cell
}

// cell is one metric of a unit; n = 0: not measured.
type cell struct {
	// n is the number of paired requests behind it, of a rate the offered ones;
	// candN those of the candidate, which are others where none are paired.
	n, candN int64
	// base and cand are the metric's own values.
	base, cand float64
	// difference is log(cand ÷ base), or cand − base of a rate.
	difference float64
	// Of a rate: failures, and those in one arm only where requests are paired.
	baseFailed, candFailed, onlyBase, onlyCand int64
	paired                                     bool
	// short is the number of requests that a quantile would need.
	short int
}

// value is a time as a value of pairRow: milliseconds, negative where it is not
// known. Less than a microsecond counts as one: it has to have a logarithm.
func value(d time.Duration, ok bool) float32 {
	if !ok {
		return -1
	}
	return float32(max(d, time.Microsecond).Seconds() * 1000)
}

// cellOf compares the paired requests of one unit in one metric.
func (m *compared) cellOf(pairs []pair) cell {
	if m.kind == rateDifference {
		return m.rateCell(pairs)
	}
	var base, cand []float64
	var logs [2]float64
	for _, p := range pairs {
		x, y := float64(p.base.values[m.of]), float64(p.cand.values[m.of])
		if p.base.class != trace.ClassOK || p.cand.class != trace.ClassOK || x <= 0 || y <= 0 {
			continue
		}
		base, cand = append(base, x), append(cand, y)
		logs[0], logs[1] = logs[0]+math.Log(x), logs[1]+math.Log(y)
	}
	c := cell{n: int64(len(base))}
	if c.n == 0 {
		return c
	}
	switch m.kind {
	case quantileRatio:
		if need := stats.MinPointN(m.quantile); len(base) < need {
			return cell{short: need}
		}
		slices.Sort(base)
		slices.Sort(cand)
		c.base, _ = stats.Quantile(base, m.quantile)
		c.cand, _ = stats.Quantile(cand, m.quantile)
		c.difference = math.Log(c.cand / c.base)
	case typicalRatio:
		before, after := logs[0]/float64(c.n), logs[1]/float64(c.n)
		c.base, c.cand, c.difference = math.Exp(before), math.Exp(after), after-before
	}
	return c
}

// rateCell compares outcomes: errors are sheds and errors, as in the error
// rate, sheds are only those.
func (m *compared) rateCell(pairs []pair) cell {
	c := cell{paired: true}
	failed := func(r *pairRow) bool {
		return r.class == trace.ClassShed || r.class == m.class
	}
	for _, p := range pairs {
		c.n++
		before, after := failed(p.base), failed(p.cand)
		if before {
			c.baseFailed++
		}
		if after {
			c.candFailed++
		}
		if before && !after {
			c.onlyBase++
		}
		if after && !before {
			c.onlyCand++
		}
	}
	c.candN = c.n
	return c.asRate()
}

// asRate fills the shares from the counts.
func (c cell) asRate() cell {
	if c.n > 0 && c.candN > 0 {
		c.base, c.cand = float64(c.baseFailed)/float64(c.n), float64(c.candFailed)/float64(c.candN)
		c.difference = c.cand - c.base
	}
	return c
}

// totalCell compares sums per second over all answers of an arm, paired or
// not: what was not answered brings no tokens.
func (m *compared) totalCell(base, cand []pairRow, seconds [2]float64) cell {
	sumOf := func(rows []pairRow) (total float64, n int64) {
		for i := range rows {
			if v := rows[i].values[m.of]; v >= 0 {
				total, n = total+float64(v), n+1
			}
		}
		return total, n
	}
	before, n := sumOf(base)
	after, k := sumOf(cand)
	if before <= 0 || after <= 0 || seconds[0] <= 0 || seconds[1] <= 0 {
		return cell{}
	}
	before, after = before/seconds[0], after/seconds[1]
	return cell{n: min(n, k), base: before, cand: after, difference: math.Log(after / before)}
}

func mean(xs []float64) float64 {
	total := 0.0
	for _, x := range xs {
		total += x
	}
	return total / float64(len(xs))
}
