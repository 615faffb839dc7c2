package analyzer

import (
	"fmt"
	"math"
	"slices"

	"github.com/lambdac/lambdac/analyzer/stats"
)

// deviates is the p-value, for all runs of an analysis together, below which a
// run is named.
const deviates = 0.01

// deviant is a run whose error rate is not that of the other runs of its load.
type deviant struct {
	run  *run
	text string
}

// deviants are the runs that deviate, at most one of each load that was run at
// least three times: of two runs nothing tells which is the strange one.
func deviants(loads []*load) []deviant {
	runs := 0
	for _, l := range loads {
		runs += len(l.judged)
	}
	var out []deviant
	for at, l := range loads {
		if len(l.judged) < 3 {
			continue
		}
		elsewhere, worst, least := dispersionWithout(loads, at), 0, 1.0
		for i := range l.judged {
			if p := l.deviation(i, elsewhere); p < least {
				worst, least = i, p
			}
		}
		if p := least * float64(runs); p < deviates {
			r := l.judged[worst]
			out = append(out, deviant{r, ofLevel(r, fmt.Sprintf(
				"deviates from the other runs of its load: %.3g %% failed, %.3g %% in the others (p = %.1g, for all runs together)",
				100*share(r.counts()), 100*share(l.others(worst)), p))})
		}
	}
	return out
}

// restsOn returns the deviating runs that a transition rests on: without them no
// rise is found. One strange run makes no knee.
func (t *transition) restsOn(strange []deviant) []string {
	if t.c.Verdict != Found || len(strange) == 0 {
		return nil
	}
	var rest []stats.Run
	var names []string
	for i, r := range t.sample.runs {
		if at := slices.IndexFunc(strange, func(d deviant) bool { return d.run == t.sample.of[i] }); at >= 0 {
			names = append(names, strange[at].text)
			continue
		}
		rest = append(rest, r)
	}
	if len(names) == 0 {
		return nil
	}
	test, err := stats.Existence(t.sample.x, rest, stats.Resampling{Seed: t.seed, Max: permutations, StopAfter: permutationsStop})
	if err != nil || test.P < alpha {
		return nil
	}
	return names
}

func share(t classTally) float64 { return float64(allFailures(t)) / float64(max(t.n, 1)) }

// others are the counts of the load's runs without run i.
func (l *load) others(i int) classTally {
	var sum classTally
	for j, r := range l.judged {
		if c := r.counts(); j != i {
			sum.n, sum.errors, sum.sheds = sum.n+c.n, sum.errors+c.errors, sum.sheds+c.sheds
		}
	}
	return sum
}

// deviation is the two-sided p-value of the difference between run i and the
// others of its load, with the larger of the dispersion between the runs of the
// other loads and that inside this load's runs.
func (l *load) deviation(i int, elsewhere stats.Dispersion) float64 {
	mine, others := l.judged[i].counts(), l.others(i)
	n, m := float64(mine.n), float64(others.n)
	k, rest := float64(allFailures(mine)), float64(allFailures(others))
	pooled := (k + rest) / (n + m)
	v := pooled * (1 - pooled) * (1/n + 1/m)
	if !(v > 0) {
		return 1
	}
	d := elsewhere
	if inside := l.inside(i); inside.Phi > d.Phi {
		d = inside
	}
	off := k/n - rest/m
	df := d.DF
	if df < 1 {
		df = math.Inf(1)
	}
	return stats.FSurvival(off*off/v/d.Phi, 1, df)
}

// inside is the dispersion between the blocks of the load's runs, run i left
// out.
func (l *load) inside(i int) stats.Dispersion {
	var blocks []stats.Run
	for j, r := range l.judged {
		for _, b := range r.blocks {
			if j != i && b.n > 0 {
				blocks = append(blocks, stats.Run{Level: j, N: float64(b.n), K: float64(allFailures(b))})
			}
		}
	}
	return stats.WithinLevels(len(l.judged), blocks)
}

// dispersionWithout is that between the runs of all loads but one.
func dispersionWithout(loads []*load, at int) stats.Dispersion {
	var runs []stats.Run
	for i, l := range loads {
		for _, r := range l.judged {
			if c := r.counts(); i != at && c.n > 0 {
				runs = append(runs, stats.Run{Level: i, N: float64(c.n), K: float64(allFailures(c))})
			}
		}
	}
	return stats.WithinLevels(len(loads), runs)
}
