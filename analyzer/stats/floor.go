package stats

import "math"

// fitFloor maximizes the likelihood of p_i = h_i + ε0·(1 − h_i) over ε0 in
// [0, 1) for a given shape h in [0, 1): base errors at rate ε0, and a shape on
// what is left. p is affine in ε0, so the likelihood is concave in it and one
// safeguarded Newton search finds the maximum.
func fitFloor(c Counts, h []float64) (eps0, logLik float64) {
	if floorScoreAtZero(c, h) <= 0 {
		return 0, floorLogLik(c, h, 0)
	}
	low, high := 0.0, 1.0
	e := floorStart(c, h)
	for range 100 {
		score, info := floorScore(c, h, e)
		if score > 0 {
			low = e
		} else {
			high = e
		}
		next := e + score/info
		if !(next > low && next < high) {
			next = (low + high) / 2
		}
		done := math.Abs(next-e) <= 1e-13*e || high-low <= 1e-16
		e = next
		if done {
			break
		}
	}
	return e, floorLogLik(c, h, e)
}

// floorStart is the smallest observed rate, off 0.
func floorStart(c Counts, h []float64) float64 {
	rate := 1.0
	for i := range h {
		rate = min(rate, (c.K[i]+0.5)/(c.N[i]+1))
	}
	return min(rate, 0.5)
}

// floorScoreAtZero is dℓ/dε0 at 0; +Inf where a level without shape failed.
func floorScoreAtZero(c Counts, h []float64) float64 {
	s := 0.0
	for i, hi := range h {
		s -= c.N[i] - c.K[i]
		if c.K[i] > 0 {
			s += c.K[i] * (1 - hi) / hi
		}
	}
	return s
}

// floorScore is dℓ/dε0 and −d²ℓ/dε0² at ε0 = e > 0.
func floorScore(c Counts, h []float64, e float64) (score, info float64) {
	for i, hi := range h {
		r := (1 - hi) / (hi + e*(1-hi))
		q := 1 / (1 - e)
		good := c.N[i] - c.K[i]
		score += c.K[i]*r - good*q
		info += c.K[i]*r*r + good*q*q
	}
	return score, info
}

func floorLogLik(c Counts, h []float64, e float64) float64 {
	ll := 0.0
	for i, hi := range h {
		ll += binomialLogLik(c.K[i], c.N[i], floorRate(hi, e))
	}
	return ll
}

// floorRate is h + e·(1 − h), kept below 1.
func floorRate(h, e float64) float64 { return min(h+e*(1-h), 1-rateFloor) }
