package analyzer

import (
	"fmt"
	"math"
	"slices"

	"github.com/lambdac/lambdac/analyzer/stats"
)

// quality are the runs with probes. Scores are by question, NaN where a run has
// none.
type quality struct {
	loads     []qualityLoad
	questions map[string]int
}

type qualityLoad struct {
	perS float64
	runs []qualityRun
}

// qualityRun is one run: the mean score of each question, and what was left out.
type qualityRun struct {
	order      int32
	throughput float64
	scores     []float64
	// n are the answers behind each score.
	n []float64
	// answers are the numbers of the first answers, −1 where not known.
	answers      []int32
	asked        int
	cut, noScore int
}

// newQuality takes the runs that asked probes. Throughput is tokens per second
// where all runs counted them, else answers per second. Answers that were cut or
// failed say nothing of accuracy and are left out and counted.
func newQuality(loads []observedLoad) quality {
	q := quality{questions: make(map[string]int)}
	tokens := true
	for _, l := range loads {
		for _, r := range l.runs {
			tokens = tokens && r.OutputTokens > 0
			for _, p := range r.Probes {
				if _, known := q.questions[p.ID]; !known {
					q.questions[p.ID] = len(q.questions)
				}
			}
		}
	}
	for _, l := range loads {
		at := qualityLoad{perS: l.perS}
		for _, r := range l.runs {
			if len(r.Probes) > 0 && r.Level.Seconds() > 0 {
				at.runs = append(at.runs, q.newRun(r, tokens))
			}
		}
		if len(at.runs) > 0 {
			q.loads = append(q.loads, at)
		}
	}
	return q
}

func (q *quality) newRun(r *ObservedRun, tokens bool) qualityRun {
	out := qualityRun{
		order: r.Level.Order, scores: make([]float64, len(q.questions)), answers: make([]int32, len(q.questions)), asked: len(r.Probes),
	}
	for i := range out.answers {
		out.answers[i] = -1
	}
	out.throughput = float64(r.Answered) / r.Level.Seconds()
	if tokens {
		out.throughput = float64(r.OutputTokens) / r.Level.Seconds()
	}
	n := make([]float64, len(q.questions))
	out.n = n
	for _, p := range r.Probes {
		switch {
		case p.Cut:
			out.cut++
		case p.Score == nil:
			out.noScore++
		default:
			out.scores[q.questions[p.ID]] += *p.Score
			n[q.questions[p.ID]]++
			if at := &out.answers[q.questions[p.ID]]; *at < 0 && p.Answer != nil {
				*at = *p.Answer
			}
		}
	}
	for i := range n {
		out.scores[i] /= n[i] // NaN where there is none
	}
	return out
}

func (q *quality) runs() int {
	n := 0
	for _, l := range q.loads {
		n += len(l.runs)
	}
	return n
}

// runMeans are the means of runs over questions, each question less its own mean
// over all runs, so that a question which a run lacks moves nothing.
type runMeans struct {
	x, y, order []float64
	group       []int
	// variance of y by the number of answers in the run.
	variance []float64
}

func (q *quality) centred() runMeans {
	var all []qualityRun
	for _, l := range q.loads {
		all = append(all, l.runs...)
	}
	base := meanScores(all)
	var out runMeans
	square, cells := 0.0, 0.0
	for g, l := range q.loads {
		for _, r := range l.runs {
			d, ok := meanOver(r.scores, base)
			if !ok {
				continue
			}
			answers := 0.0
			for i, s := range r.scores {
				if e := s - base[i]; !math.IsNaN(e) {
					square, cells, answers = square+r.n[i]*e*e, cells+1, answers+r.n[i]
				}
			}
			out.x, out.y, out.order, out.group = append(out.x, l.perS), append(out.y, d), append(out.order, float64(r.order)), append(out.group, g)
			out.variance = append(out.variance, 1/answers)
		}
	}
	for i := range out.variance {
		out.variance[i] *= square / cells
	}
	return out
}

// weights are the inverse variances of the runs: that of their answers, and what
// runs of one load differ by beyond it. Nil where nothing varies.
func (m *runMeans) weights() []float64 {
	between, df := 0.0, 0.0
	for g := range slices.Max(m.group) + 1 {
		var y, v []float64
		for i := range m.y {
			if m.group[i] == g {
				y, v = append(y, m.y[i]), append(v, m.variance[i])
			}
		}
		if len(y) > 1 {
			n := float64(len(y))
			between, df = between+(n-1)*(deviation(y)*deviation(y)-mean(v)), df+n-1
		}
	}
	extra := max(0, between/max(df, 1))
	out := make([]float64, len(m.variance))
	for i, v := range m.variance {
		if v+extra <= 0 {
			return nil
		}
		out[i] = 1 / (v + extra)
	}
	return out
}

// meanScores are the means of runs, by question; NaN where none has it.
func meanScores(runs []qualityRun) []float64 {
	out := make([]float64, len(runs[0].scores))
	for i := range out {
		n := 0.0
		for _, r := range runs {
			if !math.IsNaN(r.scores[i]) {
				out[i], n = out[i]+r.scores[i], n+1
			}
		}
		out[i] /= n
	}
	return out
}

// meanOver is the mean of scores less a base, over the questions that have both.
func meanOver(scores, base []float64) (mean float64, ok bool) {
	n := 0.0
	for i, s := range scores {
		if d := s - base[i]; !math.IsNaN(d) {
			mean, n = mean+d, n+1
		}
	}
	return mean / n, n > 0
}

// means of the runs, each question less its mean at this load: only their spread
// counts.
func (l *qualityLoad) means() []float64 {
	base := meanScores(l.runs)
	var out []float64
	for _, r := range l.runs {
		if d, ok := meanOver(r.scores, base); ok {
			out = append(out, d)
		}
	}
	return out
}

// agreement is the share of pairs of runs that answer a question alike; NaN
// where no pair has an answer. Of one load, pairs of a run with itself are left
// out.
func agreement(a, b []qualityRun, question int, same bool) float64 {
	alike, pairs := 0.0, 0.0
	for i := range a {
		for j := range b {
			x, y := a[i].answers[question], b[j].answers[question]
			if x < 0 || y < 0 || same && i >= j {
				continue
			}
			pairs++
			if x == y {
				alike++
			}
		}
	}
	return alike / pairs
}

// selfAgreement compares how often the higher load answers as the lower one with
// how often the lower one answers as itself: it needs no known answer, and sees
// wrong ones become other wrong ones. It is evidence, no condition.
func (p *qualityPair) selfAgreement() Evidence {
	out := Evidence{Name: "self_agreement", State: Unknown, Unit: "points", Text: "whether answers to one question are equal, in two runs of the lower load and one of the higher"}
	var d []float64
	for question := range p.low.runs[0].answers {
		diff := agreement(p.low.runs, p.high.runs, question, false) - agreement(p.low.runs, p.low.runs, question, true)
		if !math.IsNaN(diff) {
			d = append(d, diff)
		}
	}
	point, i, ok := stats.MeanInterval(d, confidence)
	if !ok {
		return out
	}
	out.State = stateOf(point <= -minFall && i.High < 0)
	out.Point, out.Low, out.High = finite(100*point), finite(100*i.Low), finite(100*i.High)
	out.Text = fmt.Sprintf("answers at the higher load that equal those at the lower, less those at the lower that equal each other; %d questions", len(d))
	return out
}
