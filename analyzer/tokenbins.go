package analyzer

import (
	"fmt"

	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

const (
	// tokenBins of a row of features.
	tokenBins = 256
	// binGroups into which the answers of a run are put at random: what the
	// interval of a divergence is made from, without keeping the bins of each.
	binGroups = 32
	// maxVectors bounds the memory for the bins of probes, 2 KiB each.
	maxVectors = 20_000
)

// readBins sums the token bins of the answers of each run, once the rows of
// features are joined with the requests.
func (a *aside) readBins(d *tracedir.Dir) error {
	vectors := 0
	for f, err := range tracedir.Rows[trace.Features](d) {
		if err != nil {
			return fmt.Errorf("read features: %w", err)
		}
		id := featureKey(f.RequestID, f.Level)
		at := a.features[id]
		if at == nil || at.run == nil || len(f.OutTokenBins) != tokenBins {
			continue
		}
		at.run.addBins(f.OutTokenBins, int(id%binGroups))
		if at.probe != "" && vectors < maxVectors {
			vectors++
			at.vector = make([]float64, tokenBins)
			for b, n := range f.OutTokenBins {
				at.vector[b] = float64(n)
			}
		}
	}
	return nil
}

// addBins counts one answer's tokens into a group.
func (r *run) addBins(bins []int32, group int) {
	if r.bins == nil {
		r.bins = make([][]float64, binGroups)
	}
	if r.bins[group] == nil {
		r.bins[group] = make([]float64, tokenBins)
	}
	for b, n := range bins {
		r.bins[group][b] += float64(n)
	}
}

// binsOf are the groups of all runs of a load, and their tokens.
func binsOf(runs []*run) (groups [][]float64, tokens float64) {
	for _, r := range runs {
		for g, bins := range r.bins {
			if bins == nil {
				continue
			}
			for len(groups) <= g {
				groups = append(groups, make([]float64, tokenBins))
			}
			for b, n := range bins {
				groups[g][b] += n
				tokens += n
			}
		}
	}
	return groups, tokens
}
