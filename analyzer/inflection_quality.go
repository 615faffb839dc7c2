package analyzer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lambdac/lambdac/analyzer/stats"
)

// The size from which on a rise of throughput and a fall of quality count.
const (
	minGain = 0.05
	minFall = 0.01
	// maxLeftOut is the share of probes left out from which on what is left may
	// be another kind of question.
	maxLeftOut = 0.2
)

// qualityFall looks for inflection I, throughput up and accuracy down. Pairs of
// loads are compared, each with the next and with the lowest:
//
//	throughput  at least 5 % up, one-sided Welch test over runs
//	quality     at least 1 point down, paired by question, upper end of the
//	            95 % interval over questions below 0
//
// both with p < 5 %, Holm over the pairs; and, once for all loads, quality falls
// with load among the permutations of the runs, two-sided p < 5 %, since runs of
// one load differ by more than their questions tell.
func qualityFall(loads []observedLoad, seed uint64) Inflection {
	out := newInflection("throughput_up_accuracy_down", "points")
	q := newQuality(loads)
	if lack := q.lacks(); lack != "" {
		return out.lacks(lack)
	}
	trend := q.trend(seed)
	pairs := q.pairs()
	best := strongest(pairs, trend)
	if best.fall.n < 2 {
		return out.lacks("questions that are answered in full and scored at two loads")
	}
	out.Effect = best.effect()
	out.PValue = new(max(trend.P, best.p))
	out.Evidence = append(out.Evidence, best.throughput(), best.quality(), trendEvidence(trend, q.runs()), best.selfAgreement())
	out.Competing = append(q.leftOut(&best), q.drift(seed))
	for _, c := range out.Competing {
		if c.State == Holds && best.proven(trend) {
			out.Indicated = true
			return out.lacks("runs without another explanation, " + c.Name + ": " + c.Text)
		}
	}
	rose, fell := best.gain >= minGain, best.fall.point <= -minFall
	need := math.Ceil(6.18 * best.fall.variance / (minFall * minFall))
	switch {
	case best.proven(trend):
		out.Verdict, out.Indicated = Found, true
		out.Reason = fmt.Sprintf("from %.4g to %.4g/s throughput rises by %.3g %% and accuracy falls by %.3g points",
			best.low.perS, best.high.perS, 100*best.gain, -100*best.fall.point)
	case rose && fell:
		// Of many pairs some fall by 1 point by the luck of their runs.
		out.Indicated = trend.P < alpha
		return out.lacks(best.want(trend, q, need))
	case !rose:
		out.Verdict, out.Reason = NotFound, "throughput rises by less than 5 % between the loads at which accuracy was measured"
	case float64(best.fall.n) < need:
		return out.lacks(fmt.Sprintf("%.0f questions to see a fall of 1 point, there are %d: %.0f more", need, best.fall.n, need-float64(best.fall.n)))
	default:
		out.Verdict, out.Reason = NotFound, "accuracy does not fall where throughput rises"
	}
	return out
}

// lacks says what the data lack altogether.
func (q *quality) lacks() string {
	switch {
	case len(q.loads) == 0:
		return "questions with known answers: replay with probes"
	case len(q.loads) < 2:
		return "probes at two loads at least, there is one"
	}
	var x []float64
	for _, l := range q.loads {
		if len(l.runs) < 2 {
			return fmt.Sprintf("two runs with probes a load at least, there is one at %.4g/s: replicate", l.perS)
		}
		for range l.runs {
			x = append(x, l.perS)
		}
	}
	if least := 2 / stats.Arrangements(x); least >= alpha {
		return fmt.Sprintf("more runs: %d at %d loads can give no p below %.2g; 4 runs a load, or 3 loads", len(x), len(q.loads), least)
	}
	return ""
}

// trend tests whether quality changes with load, two-sided; where it rises, P is 1.
func (q *quality) trend(seed uint64) stats.TestResult {
	m := q.centred()
	if len(m.y) == 0 {
		return stats.TestResult{P: 1}
	}
	for i := range m.y {
		m.y[i] = -m.y[i]
	}
	test, err := stats.SlopeTest(m.x, m.y, m.weights(), stats.Resampling{Seed: seed, Max: permutations, StopAfter: 100})
	if err != nil {
		return stats.TestResult{P: 1}
	}
	if test.P = 2 * test.P; test.P > 1 || test.Statistic <= 0 {
		test.P = 1
	}
	return test
}

func trendEvidence(t stats.TestResult, runs int) Evidence {
	return Evidence{
		Name: "accuracy_over_load", State: stateOf(t.P < alpha), Point: finite(-100 * t.Statistic), Unit: "points per request/s", PValue: &t.P,
		Text: fmt.Sprintf("slope of the mean score of %d runs, each question less its own mean, over load, runs weighed by how certain they are, against %d arrangements of them", runs, t.Resamples),
	}
}

// drift tests whether quality follows the order in which the runs were made.
func (q *quality) drift(seed uint64) Cause {
	m := q.centred()
	out := Cause{Name: "drift", State: Unknown, Text: "whether accuracy follows the order of the runs rather than the load cannot be told"}
	if len(m.order) == 0 || slices.Min(m.order) == slices.Max(m.order) {
		return out
	}
	test, err := stats.Trend(m.order, m.y, m.group, stats.Resampling{Seed: seed, Max: permutations, StopAfter: 50})
	if err != nil {
		return out
	}
	out.State = stateOf(test.P < driftAlpha)
	out.Text = fmt.Sprintf("accuracy of runs of one load against the order in which they were made: p %.2g", test.P)
	return out
}

// fall is the difference of scores, high load less low, paired by question.
type fall struct {
	point, low, high float64
	// p is one-sided; variance that of the differences.
	p, variance float64
	n           int
}

// qualityPair is two loads compared.
type qualityPair struct {
	low, high         *qualityLoad
	gain, gainP       float64
	gainLow, gainHigh *float64
	fall              fall
	// p is the larger p of both, adjusted for the number of pairs.
	p float64
}

// pairs compares each load with the next and with the lowest.
func (q *quality) pairs() []qualityPair {
	var out []qualityPair
	for j := 1; j < len(q.loads); j++ {
		out = append(out, comparePair(&q.loads[j-1], &q.loads[j]))
		if j > 1 {
			out = append(out, comparePair(&q.loads[0], &q.loads[j]))
		}
	}
	ps := make([]float64, len(out))
	for i := range out {
		ps[i] = max(out[i].gainP, out[i].fall.p)
	}
	for i, p := range stats.Holm(ps) {
		out[i].p = p
	}
	return out
}

func comparePair(low, high *qualityLoad) qualityPair {
	out := qualityPair{low: low, high: high, gainP: 1, fall: fallOf(low, high)}
	var a, b, la, lb []float64
	for _, r := range high.runs {
		a, la = append(a, r.throughput), append(la, math.Log(r.throughput))
	}
	for _, r := range low.runs {
		b, lb = append(b, r.throughput), append(lb, math.Log(r.throughput))
	}
	if mean(b) > 0 {
		_, _, out.gainP = stats.Greater(a, b)
		out.gain = mean(a)/mean(b) - 1
	}
	if _, i, ok := stats.MeanDifference(la, lb, confidence); ok {
		out.gainLow, out.gainHigh = finite(math.Expm1(i.Low)), finite(math.Expm1(i.High))
	}
	return out
}

// fallOf pairs the questions that both loads have.
func fallOf(low, high *qualityLoad) fall {
	before, after := meanScores(low.runs), meanScores(high.runs)
	d := make([]float64, 0, len(after))
	for i, s := range after {
		if diff := s - before[i]; !math.IsNaN(diff) {
			d = append(d, diff)
		}
	}
	out := fall{n: len(d), p: 1}
	point, i, ok := stats.MeanInterval(d, confidence)
	if !ok {
		return out
	}
	p, _ := stats.MeanTest(d)
	out.point, out.low, out.high, out.p, out.variance = point, i.Low, i.High, p/2, deviation(d)*deviation(d)
	if point >= 0 {
		out.p = 1 - p/2
	}
	return out
}

// proven reports whether the pair shows both sides of the turn, beyond chance.
func (p *qualityPair) proven(trend stats.TestResult) bool {
	return p.gain >= minGain && p.fall.point <= -minFall && p.fall.high < 0 && p.p < alpha && trend.P < alpha
}

// strongest is the pair that shows the turn best: proven, with few answers left
// out at best, else by its size, else the one in which throughput rises most.
func strongest(pairs []qualityPair, trend stats.TestResult) qualityPair {
	rank := func(p qualityPair) (grade int, size float64) {
		switch {
		case p.fall.n < 2:
			return -1, 0
		case p.proven(trend) && max(p.high.share(noScore), p.high.share(cutOff)) <= maxLeftOut:
			return 3, -p.fall.point
		case p.proven(trend):
			return 2, -p.fall.point
		case p.gain >= minGain && p.fall.point <= -minFall:
			return 1, -p.fall.point
		}
		return 0, p.gain
	}
	return slices.MaxFunc(pairs, func(a, b qualityPair) int {
		ga, sa := rank(a)
		gb, sb := rank(b)
		switch {
		case ga != gb:
			return ga - gb
		case sa < sb:
			return -1
		case sa > sb:
			return 1
		}
		return 0
	})
}

// effect is the change of accuracy. Its interval is the hull of that over
// questions and that over runs: the first knows nothing of what a run has of its
// own.
func (p *qualityPair) effect() Effect {
	out := Effect{Unit: "points"}
	if p.fall.n < 2 {
		return out
	}
	low, high := p.fall.low, p.fall.high
	if _, i, ok := stats.MeanDifference(p.high.means(), p.low.means(), confidence); ok {
		low, high = min(low, i.Low+p.fall.point), max(high, i.High+p.fall.point)
	}
	out.Point, out.Low, out.High = finite(100*p.fall.point), finite(100*low), finite(100*high)
	return out
}

func (p *qualityPair) throughput() Evidence {
	e := Evidence{
		Name: "throughput", State: stateOf(p.gain >= minGain && p.gainP < alpha), Point: finite(100 * p.gain), Unit: "%", PValue: &p.gainP,
		Text: fmt.Sprintf("from %.4g to %.4g/s, at least +5 %%; %d and %d runs", p.low.perS, p.high.perS, len(p.low.runs), len(p.high.runs)),
	}
	if p.gainLow != nil && p.gainHigh != nil {
		e.Low, e.High = finite(100**p.gainLow), finite(100**p.gainHigh)
	}
	return e
}

func (p *qualityPair) quality() Evidence {
	e := Evidence{
		Name: "accuracy", State: stateOf(p.fall.point <= -minFall && p.fall.high < 0), Unit: "points", PValue: &p.fall.p,
		Text: fmt.Sprintf("of %d questions scored at both loads, at least 1 point down, interval over questions", p.fall.n),
	}
	if p.fall.n > 1 {
		e.Point, e.Low, e.High = finite(100*p.fall.point), finite(100*p.fall.low), finite(100*p.fall.high)
	} else {
		e.State = Unknown
	}
	return e
}

// want says what would prove a turn that is only indicated.
func (p *qualityPair) want(trend stats.TestResult, q quality, need float64) string {
	var parts []string
	if trend.P >= alpha {
		parts = append(parts, fmt.Sprintf("more runs: over %d runs accuracy does not fall with load beyond what runs differ by (p %.2g); replicate each load twice more", q.runs(), trend.P))
	}
	if p.fall.high >= 0 || p.p >= alpha {
		part := fmt.Sprintf("a smaller p than %.2g", p.p)
		if float64(p.fall.n) < need {
			part = fmt.Sprintf("%.0f questions, there are %d", need, p.fall.n)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// leftOut are answers that say nothing of accuracy: errors and cut answers would
// else pass for wrong ones.
func (q *quality) leftOut(p *qualityPair) []Cause {
	var out []Cause
	for _, kind := range []struct {
		name, what string
		of         func(qualityRun) int
	}{
		{"failed_answers", "failed or were not scored", noScore},
		{"cut_answers", "were cut at their token limit", cutOff},
	} {
		low, high := p.low.share(kind.of), p.high.share(kind.of)
		out = append(out, Cause{
			Name: kind.name, State: stateOf(high > maxLeftOut),
			Text: fmt.Sprintf("%.3g %% of the probes %s at the lower load, %.3g %% at the higher; they are left out of the accuracy", 100*low, kind.what, 100*high),
		})
	}
	return out
}

func noScore(r qualityRun) int { return r.noScore }
func cutOff(r qualityRun) int  { return r.cut }

// share of the load's probes of a kind.
func (l *qualityLoad) share(of func(qualityRun) int) float64 {
	n, all := 0, 0
	for _, r := range l.runs {
		n, all = n+of(r), all+r.asked
	}
	return float64(n) / float64(all)
}
