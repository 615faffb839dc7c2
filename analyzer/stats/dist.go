package stats

import "gonum.org/v1/gonum/stat/distuv"

// normalQuantile is the standard normal quantile.
func normalQuantile(p float64) float64 { return distuv.UnitNormal.Quantile(p) }

// FQuantile returns the p-quantile of F(1, ν), the cut of a profile
// likelihood whose dispersion was estimated with ν degrees of freedom;
// ν = +Inf or above 1e7 gives χ²₁.
func FQuantile(p, nu float64) float64 {
	if nu > 1e7 {
		return distuv.ChiSquared{K: 1}.Quantile(p)
	}
	return distuv.F{D1: 1, D2: nu}.Quantile(p)
}

// FSurvival returns P(F > f) for F(d1, d2).
func FSurvival(f, d1, d2 float64) float64 { return distuv.F{D1: d1, D2: d2}.Survival(f) }
