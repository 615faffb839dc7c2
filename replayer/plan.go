package replayer

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/lambdac/lambdac/trace"
)

// fixedPlan holds a list of loads. Their order is random, since a service that
// warms up or wears out would otherwise look like one that feels the load; but
// the lowest comes first, where a dead service is noticed, and once more at the
// end, where drift is.
type fixedPlan []float64

func newFixedPlan(loads []float64, replicates int, repeat bool, seed uint64) fixedPlan {
	var order []float64
	for _, load := range loads {
		for range replicates {
			order = append(order, load)
		}
	}
	slices.Sort(order)
	rest := order[1:]
	rng := rand.New(rand.NewPCG(seed, saltOrder))
	rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	if repeat && len(loads) >= 3 {
		order = append(order, order[0])
	}
	return order
}

// Next implements Planner.
func (p fixedPlan) Next(done []trace.Level) (trace.Level, bool) {
	if len(done) >= len(p) {
		return trace.Level{}, false
	}
	return trace.Level{OfferedPerS: p[len(done)]}, true
}

// resolve turns loads into rates.
func resolve(loads []Load, recordedPerS float64) ([]float64, error) {
	var rates []float64
	for _, l := range loads {
		rate, err := l.rate(recordedPerS)
		if err != nil {
			return nil, err
		}
		rates = append(rates, rate)
	}
	slices.SortFunc(rates, cmp.Compare)
	return slices.Compact(rates), nil
}

func (l Load) rate(recordedPerS float64) (float64, error) {
	switch {
	case (l.PerS > 0) == (l.Scale > 0):
		return 0, inputError("give --rate or --levels in requests per second, or --scale", "load %v/s, scale %v: exactly one must be above 0", l.PerS, l.Scale)
	case l.PerS > 0:
		return l.PerS, nil
	case recordedPerS <= 0:
		return 0, inputError("give --rate or --levels instead", "scale %v of a trace without a rate", l.Scale)
	}
	return l.Scale * recordedPerS, nil
}
