package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Divergence is the Kullback–Leibler divergence of one sample's law from
// another's, in nats, with its bias taken off.
type Divergence struct {
	Point float64
	Interval
	// Bias is what was taken off.
	Bias float64
}

// KullbackLeibler estimates KL(P‖Q) over B bins from two samples that were each
// counted in groups of what was drawn together (answers), every group with B
// counts:
//
//	Σ_b p̂_b ln(p̂_b ÷ q̂_b), p̂_b = (count + ½) ÷ (N + B/2)
//
// less the bias of independent counts, (B−1)/2·(1/N_P + 1/N_Q), or that of the
// jackknife over groups where it is more: counts that come together make two
// samples of one law differ by more. The interval is that of the jackknife. ok
// is false where a sample has fewer than two groups with counts.
//
// Source: the χ² approximation of 2N·KL (Kullback 1959, §6); delete-a-group
// jackknife, Kott, J. Official Statist. 17:521 (2001).
func KullbackLeibler(p, q [][]float64, confidence float64) (d Divergence, ok bool) {
	p, q = nonEmpty(p), nonEmpty(q)
	if len(p) < 2 || len(q) < 2 {
		return Divergence{}, false
	}
	all, base := total(p), total(q)
	raw := divergence(all, base)
	bins := float64(len(all))
	bias := (bins - 1) / 2 * (1/sum(all) + 1/sum(base))
	biasP, varP := leaveOut(p, all, func(rest []float64) float64 { return divergence(rest, base) }, raw)
	biasQ, varQ := leaveOut(q, base, func(rest []float64) float64 { return divergence(all, rest) }, raw)
	d.Bias = max(bias, biasP+biasQ)
	d.Point = raw - d.Bias
	t := distuv.StudentsT{Sigma: 1, Nu: float64(min(len(p), len(q)) - 1)}
	half := t.Quantile(1-(1-confidence)/2) * math.Sqrt(varP+varQ)
	d.Interval = Interval{Low: d.Point - half, High: d.Point + half, Confidence: confidence}
	return d, true
}

func nonEmpty(groups [][]float64) [][]float64 {
	var out [][]float64
	for _, g := range groups {
		if sum(g) > 0 {
			out = append(out, g)
		}
	}
	return out
}

func total(groups [][]float64) []float64 {
	out := make([]float64, len(groups[0]))
	for _, g := range groups {
		for b, c := range g {
			out[b] += c
		}
	}
	return out
}

// divergence of counts with half a count in each bin.
func divergence(p, q []float64) float64 {
	half := float64(len(p)) / 2
	np, nq := sum(p)+half, sum(q)+half
	kl := 0.0
	for b := range p {
		share := (p[b] + 0.5) / np
		kl += share * math.Log(share*nq/(q[b]+0.5))
	}
	return kl
}

// leaveOut is the jackknife's bias and variance of a statistic of all groups.
func leaveOut(groups [][]float64, all []float64, of func([]float64) float64, whole float64) (bias, variance float64) {
	n := float64(len(groups))
	rest := make([]float64, len(all))
	values := make([]float64, len(groups))
	for i, g := range groups {
		for b := range all {
			rest[b] = all[b] - g[b]
		}
		values[i] = of(rest)
	}
	mean := sum(values) / n
	for _, v := range values {
		variance += (v - mean) * (v - mean)
	}
	return (n - 1) * (mean - whole), variance * (n - 1) / n
}
