package analyzer

import (
	"math"
	"time"

	"github.com/lambdac/lambdac/analyzer/stats"
)

const (
	// bucketsPerOctave of a latency histogram: neighbours differ by 2.2 %.
	bucketsPerOctave = 32
	latencyBuckets   = 36 * bucketsPerOctave // up to 2^36 µs, 19 hours
)

// histogram counts latencies on a logarithmic scale.
type histogram [latencyBuckets]uint32

func (h *histogram) add(d time.Duration) {
	us := max(float64(d.Microseconds()), 1)
	h[min(int(math.Log2(us)*bucketsPerOctave), latencyBuckets-1)]++
}

// addSlowest counts a request whose latency is not known but beyond any limit.
func (h *histogram) addSlowest() { h[latencyBuckets-1]++ }

// clustering is φ̂ at one load: how much more the requests that decide an
// objective come together in time than coin tosses would.
//
// Whether an objective holds at a load is a test of the hypothesis that the
// share s of misses it allows is just reached there, and a test wants the
// variance under its hypothesis. For a latency that is known whatever the
// limit: it is that of the requests above the load's own quantile 1 − s, a
// share s by construction. The misses themselves say nothing of it where there
// are none. For a rate there are only the failures.
func (l *load) clustering(o Objective, index int) clustering {
	return clusteringOf(l.deciding(o, index), l.steady)
}

// failing is the clustering of failures at the load.
func (l *load) failing() clustering {
	var blocks []stats.Run
	for i, r := range l.shown() {
		for _, b := range r.blocks {
			if b.n > 0 {
				blocks = append(blocks, stats.Run{Level: i, N: float64(b.n), K: float64(allFailures(b))})
			}
		}
	}
	return clusteringOf(blocks, l.steady)
}

// clustering is the dispersion between the blocks of a load's windows, and that
// between its runs.
type clustering struct{ blocks, runs stats.Dispersion }

// clusteringOf takes both from blocks whose Level is the number of their run.
// Where more requests were open at the end of the window than at its start, the
// rise is no chance, and only the differences between successive blocks count.
func clusteringOf(blocks []stats.Run, steady bool) clustering {
	var runs []stats.Run
	for _, b := range blocks {
		for b.Level >= len(runs) {
			runs = append(runs, stats.Run{})
		}
		at := &runs[b.Level]
		at.N, at.K = at.N+b.N, at.K+b.K
	}
	c := clustering{runs: stats.WithinLevels(1, runs), blocks: stats.Successive(len(runs), blocks)}
	if steady {
		for i := range blocks {
			blocks[i].Level = 0
		}
		c.blocks = stats.WithinLevels(1, blocks)
	}
	return c
}

// runEffect is how much more than the blocks tell the runs of the loads differ,
// as a dispersion in units of theirs: mean of the ratios, where it is beyond
// chance; DF 0 where it is not. Two runs of one load say next to nothing of it,
// those of all loads together do.
func runEffect(cs []clustering) stats.Dispersion {
	ratio, runs, blocks := 0.0, 0.0, 0.0
	for _, c := range cs {
		ratio += c.runs.DF * c.runs.Phi / c.blocks.Phi
		runs, blocks = runs+c.runs.DF, blocks+c.blocks.DF
	}
	if runs < 1 || blocks < 1 || stats.FSurvival(ratio/runs, runs, blocks) >= alpha {
		return stats.Dispersion{Phi: 1}
	}
	return stats.Dispersion{Phi: max(1, ratio/runs), DF: runs}
}

// dispersion is that of the blocks, with the effect of runs on top.
func (c clustering) dispersion(effect stats.Dispersion) stats.Dispersion {
	if effect.DF < 1 {
		return c.blocks
	}
	return stats.Dispersion{Phi: c.blocks.Phi * effect.Phi, DF: min(effect.DF, max(c.blocks.DF, 1))}
}

// deciding counts, per block of the load's runs, the requests above the load's
// own quantile, or the failures of a rate; Level is the number of the run.
func (l *load) deciding(o Objective, index int) []stats.Run {
	from := 0
	if !o.isRate() {
		from = l.quantileBucket(index, o.share())
	}
	var out []stats.Run
	for at, r := range l.judged {
		for i := range blocksPerRun {
			b := stats.Run{Level: at, N: float64(r.misses[index][i].n), K: float64(r.misses[index][i].k)}
			if !o.isRate() {
				b.K = r.spread[index][i].from(from)
			}
			if b.N > 0 {
				out = append(out, b)
			}
		}
	}
	return out
}

// quantileBucket is the bucket from which on the share of latencies is nearest
// to the one asked for.
func (l *load) quantileBucket(index int, share float64) int {
	var all histogram
	total := 0.0
	for _, r := range l.judged {
		for b := range r.spread[index] {
			for i, n := range r.spread[index][b] {
				all[i] += n
				total += float64(n)
			}
		}
	}
	best, nearest, above := latencyBuckets-1, math.Inf(1), 0.0
	for i := latencyBuckets - 1; i >= 0; i-- {
		above += float64(all[i])
		if off := math.Abs(math.Log(above / total / share)); off < nearest {
			best, nearest = i, off
		}
	}
	return best
}

// from counts the latencies in buckets from the given one on.
func (h *histogram) from(bucket int) float64 {
	sum := 0.0
	for _, n := range h[bucket:] {
		sum += float64(n)
	}
	return sum
}

// deflations divide the counts of each load before an exact bound is taken.
// The dispersion is that of the load and of the next above it, their geometric
// mean. At a load that breaks the objective it is at least that at the limit,
// since requests cluster the more the nearer the load comes to the capacity; but
// a window that by chance falls between two busy periods shows few misses and
// little clustering at once. The next window does not share that chance, and
// dispersion grows about exponentially from load to load, which makes the
// geometric mean that of a load half-way to the next. Dispersions of loads
// farther up say nothing of this one: they reach the hundreds. Above the highest
// load there is no next window; there the load below stands in for it, if its
// requests cluster more.
func deflations(loads []*load, o Objective, index int) []float64 {
	clusters := make([]clustering, len(loads))
	for i, l := range loads {
		clusters[i] = l.clustering(o, index)
	}
	effect := runEffect(clusters)
	all := make([]stats.Dispersion, len(loads))
	for i, c := range clusters {
		all[i] = c.dispersion(effect)
	}
	out := make([]float64, len(loads))
	for i, d := range all {
		switch {
		case i+1 < len(all):
			d = d.Between(all[i+1])
		case i > 0 && all[i-1].Phi > d.Phi:
			d = all[i-1]
		}
		out[i] = d.Deflation(confidence)
	}
	return out
}
