package analyzer

import (
	"fmt"
	"math"
	"slices"

	"github.com/lambdac/lambdac/analyzer/stats"
)

// oneSided is the confidence of each bound of the bracket.
const oneSided = 0.975

// findSLO fills lambda_slo: the bracket of the objective that binds first.
func (a *Analysis) findSLO(loads []*load, objectives []Objective) {
	for i, o := range objectives {
		a.Objectives = append(a.Objectives, bracketOf(loads, o, i))
	}
	a.LambdaSLO = LambdaSLO{Verdict: Insufficient, Reason: "no objective was given"}
	for i, o := range a.Objectives {
		if i == 0 || bindsBefore(o, a.LambdaSLO) {
			a.LambdaSLO = o
		}
	}
}

// bindsBefore reports whether objective o is proven broken at a lower load; if
// equal, the one proven to hold less far binds.
func bindsBefore(o, other LambdaSLO) bool {
	switch {
	case o.High == nil:
		return other.High == nil && lessFar(o.Low, other.Low)
	case other.High == nil:
		return true
	case *o.High != *other.High:
		return *o.High < *other.High
	default:
		return lessFar(o.Low, other.Low)
	}
}

func lessFar(a, b *float64) bool { return b != nil && (a == nil || *a < *b) }

// share of requests that may miss the objective.
func (o Objective) share() float64 {
	if o.isRate() {
		return o.MaxShare
	}
	return 1 - o.Quantile
}

// bracketOf climbs from the lowest load while the objective is proven to hold,
// and descends from the highest while it is proven to be broken: fixed
// sequences, so each bound keeps its 97.5 % without a correction for the number
// of loads. The test of a quantile limit is that of a share: P99 ≤ limit iff at
// most 1 % exceed it, which is the one-sided order-statistic bound. Counts are
// deflated, since neighbours in time wait in one queue: see deflations.
//
// Coverage is at least 0.985 for independent requests whatever the family, and
// each end is wrong in at most 2.5 % of experiments on simulated queues
// (calibrated).
func bracketOf(loads []*load, o Objective, index int) LambdaSLO {
	text := o.String()
	out := LambdaSLO{Verdict: Insufficient, SLO: &text}
	with := measured(loads, index)
	if len(with) == 0 {
		out.Reason = unmeasured(o)
		return out
	}
	c, phi := missesOf(with, index), deflations(with, o, index)
	low, high := holdsUpTo(c, o.share(), phi), brokenFrom(c, o.share(), phi)
	steady := steadyUpTo(loads, c.X)
	unsteady := low > steady
	low = min(low, steady)
	if low >= 0 {
		out.Low = new(c.X[low])
	}
	if high < len(c.X) {
		out.High = new(c.X[high])
	}
	out.Verdict, out.Reason = verdictOf(low, high, c.X)
	if missing := unmeasuredLoads(loads, c.X); len(missing) > 0 {
		out.sayUnmeasured(missing, c.X[len(c.X)-1])
	}
	switch {
	case unsteady && high > low+1:
		out.Reason = joined(out.Reason, fmt.Sprintf("at %.4g/s the service was still filling, or overloaded: nothing is proven to hold there", c.X[low+1]))
	case out.Verdict == Insufficient:
		out.Reason += moreFor(c, low+1, high-1, o.share(), phi)
	}
	return out
}

// measured are the judged loads with a sample of an objective.
func measured(loads []*load, index int) []*load {
	return slices.DeleteFunc(slices.Clone(loads), func(l *load) bool {
		return !slices.ContainsFunc(l.judged, func(r *run) bool { return r.hasSample(index) })
	})
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// crossings is B of the interval of a modelled λ_SLO.
const crossings = 199

// placeSLO gives the objectives on the error rate the load at which the
// published curve crosses them, inside their brackets.
func (a *Analysis) placeSLO(t *transition, objectives []Objective) {
	if t.fit == nil || t.c.Verdict != Found {
		return
	}
	for i, o := range objectives {
		if o.Metric != "error_rate" {
			continue
		}
		a.Objectives[i].Modelled = t.crossing(o.MaxShare, a.Objectives[i])
		if slo := a.Objectives[i].SLO; a.LambdaSLO.SLO != nil && *slo == *a.LambdaSLO.SLO {
			a.LambdaSLO = a.Objectives[i]
		}
	}
}

// crossing is where the fitted curve crosses a share, with its interval, clipped
// to the bracket; nil where the curve does not cross it at the loads that were
// fitted, or a bracket without a model contradicts it.
func (t *transition) crossing(share float64, bracket LambdaSLO) *Modelled {
	low, high := t.fitted.X[0], t.fitted.X[len(t.fitted.X)-1]
	x, ok := t.fit.Crossing(share, low, high)
	if !ok {
		return nil
	}
	i, closed, err := stats.CrossingInterval(t.fitted, *t.fit, share, t.dispersion.Phi, low, high, stats.Resampling{Seed: t.seed, Max: crossings})
	if err != nil || !closed {
		return nil
	}
	if bracket.Low != nil {
		i.Low = max(i.Low, *bracket.Low)
	}
	if bracket.High != nil {
		i.High = min(i.High, *bracket.High)
	}
	if i.Low > x || x > i.High {
		return nil
	}
	return &Modelled{Point: x, Low: i.Low, High: i.High, Family: t.fit.Shape.String()}
}

// unmeasuredLoads are the judged loads without a sample.
func unmeasuredLoads(loads []*load, measured []float64) []float64 {
	var out []float64
	for _, l := range loads {
		if l.valid() && !slices.Contains(measured, l.perS) {
			out = append(out, l.perS)
		}
	}
	return out
}

// sayUnmeasured names the loads without a sample. Above the highest load with
// one nothing is known, least of all that the objective holds.
func (s *LambdaSLO) sayUnmeasured(missing []float64, last float64) {
	text := "there is no sample of it at " + listLoads(missing) + "/s"
	if s.Verdict == NotFound && missing[len(missing)-1] > last {
		s.Verdict, s.Reason = Insufficient, "it holds as far as it was measured"
	}
	s.Reason = joined(s.Reason, text)
}

// moreFor says how many more requests, at the rates seen, would prove that the
// objective holds at load i or is broken at load j, whichever is asked and
// takes fewer; "" where none would.
func moreFor(c stats.Counts, i, j int, share float64, phi []float64) string {
	best, at := 0.0, 0
	for _, level := range []int{i, j} {
		if level < 0 || level >= len(c.X) {
			continue
		}
		if n := needed(c.K[level]/phi[level], c.N[level]/phi[level], share) * phi[level]; n > 0 && (best == 0 || n < best) {
			best, at = n, level
		}
	}
	if best == 0 {
		return ""
	}
	return fmt.Sprintf("; at %.4g/s %.0f of %.0f miss it: about %.0f more requests there would tell", c.X[at], c.K[at], c.N[at], math.Ceil(best-c.N[at]))
}

// needed is the number of requests at which k of n would be proven to be below
// or above a share, if the rate stayed as it is; 0 = over a million, the rate
// is the share, or they prove it already.
func needed(k, n, share float64) float64 {
	if bound := stats.ClopperPearson(k, n, 2*oneSided-1); bound.High < share || bound.Low > share {
		return 0
	}
	for m := n * 1.02; m < 1e6; m *= 1.02 {
		bound := stats.ClopperPearson(k*m/n, m, 2*oneSided-1)
		if bound.High < share || bound.Low > share {
			return m
		}
	}
	return 0
}

func unmeasured(o Objective) string {
	if o.Metric == "ttft_user" || o.Metric == "ttft_sent" || o.Metric == "ttft_visible" || o.Metric == "tpot" || o.Metric == "max_gap" {
		return fmt.Sprintf("no sample of %s: the answers were not streamed, or none was answered", o.Metric)
	}
	return fmt.Sprintf("no sample of %s at a load that can be judged", o.Metric)
}

// missesOf counts the misses of one objective, at nominal loads: the ends of
// its bracket are levels of the table.
func missesOf(loads []*load, index int) stats.Counts {
	var c stats.Counts
	for _, l := range loads {
		n, k := int64(0), int64(0)
		for _, r := range l.judged {
			for _, b := range r.misses[index] {
				n, k = n+b.n, k+b.k
			}
		}
		c.X, c.N, c.K = append(c.X, l.perS), append(c.N, float64(n)), append(c.K, float64(k))
	}
	return c
}

// holdsUpTo is the index of the last load, climbing, at which the objective is
// proven to hold; −1 = none.
//
// That the objective is broken at a load means, since misses do not become
// fewer with load, that it is broken at all higher ones too. So where one load
// has too few requests to prove anything, the loads from it on are taken
// together: just as many as could prove it if none of their requests missed. How
// many that are depends on sizes and dispersions only, never on the misses, so
// the choice does not favour a verdict.
func holdsUpTo(c stats.Counts, share float64, phi []float64) int {
	enough := math.Log(1-oneSided) / math.Log(1-share)
	for i := range c.X {
		k, n := 0.0, 0.0
		for j := i; j < len(c.X) && (j == i || n < enough); j++ {
			k, n = k+c.K[j]/phi[j], n+c.N[j]/phi[j]
		}
		if c.K[i] > share*c.N[i] || stats.ClopperPearson(k, n, 2*oneSided-1).High >= share {
			return i - 1
		}
	}
	return len(c.X) - 1
}

// steadyUpTo is the index of the last load before the first that was still
// filling: there nothing is proven to hold.
func steadyUpTo(loads []*load, x []float64) int {
	for _, l := range loads {
		if l.steady && !l.grew {
			continue
		}
		if i := slices.Index(x, l.perS); i >= 0 {
			return i - 1
		}
	}
	return len(x) - 1
}

// brokenFrom is the index of the last load, descending, at which it is proven
// to be broken; len = none.
func brokenFrom(c stats.Counts, share float64, phi []float64) int {
	for i := len(c.X) - 1; i >= 0; i-- {
		if stats.ClopperPearson(c.K[i]/phi[i], c.N[i]/phi[i], 2*oneSided-1).Low <= share {
			return i + 1
		}
	}
	return 0
}

func verdictOf(low, high int, x []float64) (Verdict, string) {
	last := len(x) - 1
	switch {
	case high == 0:
		return Found, "broken at every load that was run: λ_SLO is below the lowest"
	case high <= last && low >= 0:
		return Found, ""
	case low == last:
		return NotFound, "it holds at every load that was run: λ_SLO is above the highest"
	case low < 0 && high > last:
		return Insufficient, "it is proven neither to hold nor to be broken at any load"
	case low < 0:
		return Insufficient, "it is proven to hold at no load: lower loads or more requests are needed"
	default:
		return Insufficient, "it is proven to be broken at no load: higher loads or more requests are needed"
	}
}
