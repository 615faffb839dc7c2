package analyzer

import (
	"cmp"
	"slices"

	"github.com/lambdac/lambdac/analyzer/stats"
	"github.com/lambdac/lambdac/trace"
)

// notice says whether the requests due in a fault's window, those that it fell
// on too, miss an objective by more than chance, and how many seconds after its
// start that was known: when the limit had passed of the request whose miss
// proves it. nil = no request that tells of an objective was due in it.
func (r *run) notice(m *trace.Mark, objectives []Objective) (noticed *bool, after *float64) {
	var due []moment
	for _, all := range [][]moment{r.moments, r.struck} {
		for _, q := range all {
			if q.at >= m.StartUnixNs && q.at < m.EndUnixNs {
				due = append(due, q)
			}
		}
	}
	slices.SortStableFunc(due, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	for i, o := range objectives[:min(len(objectives), 32)] {
		var seen tally
		for _, q := range due {
			seen.n += int64(q.measured >> i & 1)
			if q.missed>>i&1 == 0 {
				continue
			}
			seen.k++
			if stats.BinomialSurvival(float64(seen.k), float64(seen.n), o.share()) < chance {
				known := float64(q.at+int64(o.Max)-m.StartUnixNs) / 1e9
				if after == nil || known < *after {
					after = &known
				}
				break
			}
		}
		if seen.n > 0 {
			noticed = new(after != nil)
		}
	}
	return noticed, after
}
