package stats

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// newRand returns the generator of one resampling; stream tells resamplings
// of one seed apart.
func newRand(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// drawCount draws from the beta-binomial with mean np and dispersion
// φ = 1 + (n−1)ρ; φ ≤ 1 is the binomial.
func drawCount(rng *rand.Rand, n, p, phi float64) float64 {
	if p <= 0 || n <= 0 {
		return 0
	}
	if p >= 1 {
		return n
	}
	if rho := (phi - 1) / (n - 1); phi > 1 && n > 1 && rho < 1 {
		size := (1 - rho) / rho
		p = distuv.Beta{Alpha: p * size, Beta: (1 - p) * size, Src: rng}.Rand()
		if p <= 0 || p >= 1 {
			return n * max(0, min(1, p))
		}
	}
	return distuv.Binomial{N: n, P: p, Src: rng}.Rand()
}
