package stats

import "math"

// Run is one replicate: K failures of N at the level with index Level.
type Run struct {
	Level int
	N, K  float64
}

// Pool sums the runs of each level; x are the loads by level.
func Pool(x []float64, runs []Run) Counts {
	c := Counts{X: x, N: make([]float64, len(x)), K: make([]float64, len(x))}
	for _, r := range runs {
		c.N[r.Level] += r.N
		c.K[r.Level] += r.K
	}
	return c
}

// Dispersion is φ̂, the variance of counts between runs in units of the
// binomial variance.
type Dispersion struct {
	// Phi is at least 1; DF are its degrees of freedom, 0 where there is no
	// replicate to take it from (Phi is then 1).
	Phi, DF float64
}

// Cut returns the deviance by which a profile may fall inside its 95 %
// interval: φ̂·F.95(1, ν).
func (d Dispersion) Cut(confidence float64) float64 {
	if d.DF < 1 {
		return FQuantile(confidence, math.Inf(1))
	}
	return d.Phi * FQuantile(confidence, d.DF)
}

// Deflation is the factor by which counts are divided before an interval for
// coin tosses is taken from them: [Dispersion.Cut] in units of χ².95(1). 1
// where nothing is known of the dispersion.
func (d Dispersion) Deflation(confidence float64) float64 {
	if d.DF < 1 {
		return 1
	}
	return d.Cut(confidence) / FQuantile(confidence, math.Inf(1))
}

// Between is the geometric mean of two dispersions, for something half-way
// between them; the one that is known where the other is not.
func (d Dispersion) Between(o Dispersion) Dispersion {
	switch {
	case o.DF < 1:
		return d
	case d.DF < 1:
		return o
	}
	return Dispersion{Phi: math.Sqrt(d.Phi * o.Phi), DF: d.DF + o.DF}
}

// Pool is the estimate from both, each weighted by its degrees of freedom. It
// serves where d alone has so few that the F quantile says little but that: at
// one degree of freedom F.95(1, 1) is 161, against 5.6 at seven.
func (d Dispersion) Pool(o Dispersion) Dispersion {
	df := d.DF + o.DF
	if df < 1 {
		return Dispersion{Phi: 1}
	}
	return Dispersion{Phi: (d.Phi*d.DF + o.Phi*o.DF) / df, DF: df}
}

// WithinLevels estimates φ from runs of the same level:
//
//	φ̂ = max(1, X²/ν ÷ (1 + s̄)), X² = Σ (k − np̂)² ÷ np̂(1−p̂)
//
// with p̂ the level's pooled rate, ν = Σ (runs − 1) over levels with 0 < p̂ < 1,
// and s̄ the mean of (1 − 2p̂)(k − np̂) ÷ np̂(1−p̂), which takes out the bias of
// X² at small counts. Source: Fletcher, Biometrika 99:230 (2012).
func WithinLevels(levels int, runs []Run) Dispersion {
	k, n, count := make([]float64, levels), make([]float64, levels), make([]float64, levels)
	for _, r := range runs {
		k[r.Level], n[r.Level], count[r.Level] = k[r.Level]+r.K, n[r.Level]+r.N, count[r.Level]+1
	}
	var x2, s, terms, df float64
	for _, r := range runs {
		p := k[r.Level] / max(n[r.Level], 1)
		v := r.N * p * (1 - p)
		if !(v > 0) || count[r.Level] < 2 {
			continue
		}
		d := r.K - r.N*p
		x2 += d * d / v
		s += (1 - 2*p) * d / v
		terms++
		df += 1 - 1/count[r.Level]
	}
	df = math.Round(df)
	if df < 1 {
		return Dispersion{Phi: 1}
	}
	return Dispersion{Phi: max(1, x2/df/(1+s/terms)), DF: df}
}

// Successive estimates φ from the differences between successive blocks of a
// level, in which a trend of the level hardly shows:
//
//	φ̂ = max(1, Σ (r_{b+1} − r_b)² ÷ 2m), r = (k − np̂) ÷ √(np̂(1−p̂))
//
// over the m pairs of all levels with 0 < p̂ < 1, with two thirds of m as its
// degrees of freedom. Source: von Neumann, Ann. Math. Statist. 12:367 (1941).
func Successive(levels int, blocks []Run) Dispersion {
	k, n := make([]float64, levels), make([]float64, levels)
	for _, b := range blocks {
		k[b.Level], n[b.Level] = k[b.Level]+b.K, n[b.Level]+b.N
	}
	residual := func(b Run) float64 {
		p := k[b.Level] / n[b.Level]
		return (b.K - b.N*p) / math.Sqrt(b.N*p*(1-p))
	}
	squares, pairs := 0.0, 0.0
	for i := 1; i < len(blocks); i++ {
		level := blocks[i].Level
		if blocks[i-1].Level != level || k[level] <= 0 || k[level] >= n[level] {
			continue
		}
		d := residual(blocks[i]) - residual(blocks[i-1])
		squares += d * d
		pairs++
	}
	if pairs < 2 {
		return Dispersion{Phi: 1}
	}
	return Dispersion{Phi: max(1, squares/(2*pairs)), DF: 2 * pairs / 3}
}

// Residual estimates φ from the fit of a model to pooled levels, where no
// level has replicates: max(1, X²/ν), ν = levels − parameters.
func Residual(m Model, c Counts) Dispersion {
	x2, df := m.Pearson(c)
	return Dispersion{Phi: max(1, x2/df), DF: df}
}
