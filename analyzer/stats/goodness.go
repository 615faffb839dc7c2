package stats

// Goodness returns the probability of a deviance at least that of the
// fitted model if the model is true, by parametric bootstrap: counts drawn
// from its rates, beta-binomial with dispersion phi where phi > 1, and the
// same shape fitted to each. p = (1 + hits) ÷ (1 + B).
func Goodness(c Counts, m Model, phi float64, r Resampling) (TestResult, error) {
	rng := newRand(r.Seed, 3)
	rates := m.Rates(c.X)
	draw := Counts{X: c.X, N: c.N, K: make([]float64, len(c.K))}
	hits, drawn := 0, 0
	for drawn < r.draws() {
		for i, p := range rates {
			draw.K[i] = drawCount(rng, c.N[i], p, phi)
		}
		again, err := FitShape(draw, m.Shape)
		if err != nil {
			return TestResult{}, err
		}
		drawn++
		if again.Deviance >= m.Deviance {
			hits++
		}
		if r.StopAfter > 0 && hits >= r.StopAfter {
			return TestResult{Statistic: m.Deviance, P: float64(hits) / float64(drawn), Resamples: drawn}, nil
		}
	}
	return TestResult{Statistic: m.Deviance, P: float64(hits+1) / float64(drawn+1), Resamples: drawn}, nil
}
