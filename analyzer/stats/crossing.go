package stats

import "slices"

// CrossingInterval is the percentile interval of [Model.Crossing] by parametric
// bootstrap: counts drawn from the model's rates, beta-binomial with dispersion
// phi where phi > 1, and the same shape fitted to each. Draws whose fit does not
// reach the share in [low, high] count as beyond the nearer end; ok is false
// where that makes an end of the interval. Errors match [ErrInput].
func CrossingInterval(c Counts, m Model, share, phi, low, high float64, r Resampling) (i Interval, ok bool, err error) {
	const confidence = 0.95
	rng := newRand(r.Seed, 5)
	rates := m.Rates(c.X)
	draw := Counts{X: c.X, N: c.N, K: make([]float64, len(c.K))}
	at := make([]float64, r.draws())
	for j := range at {
		for i, p := range rates {
			draw.K[i] = drawCount(rng, c.N[i], p, phi)
		}
		again, err := FitShape(draw, m.Shape)
		if err != nil {
			return Interval{}, false, err
		}
		at[j] = clampedCrossing(again, share, low, high)
	}
	slices.Sort(at)
	i.Low, _ = Quantile(at, (1-confidence)/2)
	i.High, _ = Quantile(at, (1+confidence)/2)
	i.Confidence = confidence
	return i, i.Low > low && i.High < high, nil
}

func clampedCrossing(m Model, share, low, high float64) float64 {
	if x, ok := m.Crossing(share, low, high); ok {
		return x
	}
	if m.Rate(low) >= share {
		return low
	}
	return high
}
