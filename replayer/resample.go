package replayer

import (
	"math"
	"math/rand/v2"
	"time"
)

// resample places exactly the needed number of arrivals at gamma gaps and
// draws the exchanges without replacement, shuffled anew each time the trace
// is used up.
func (tl *timeline) resample(p plan) []arrival {
	rng := rand.New(rand.NewPCG(p.key(), saltResample))
	warm := int(math.Round(p.perS * p.warmup.Seconds()))
	draw := func(n int, d time.Duration) []time.Duration {
		if p.even {
			return evenTimes(n, d)
		}
		return gammaTimes(rng, n, d, p.cv)
	}
	times := draw(warm, p.warmup)
	for i := range times {
		times[i] -= p.warmup
	}
	times = append(times, draw(p.need(), p.hold)...)
	out := make([]arrival, len(times))
	var deck []int
	lap := int64(-1)
	for i, at := range times {
		if len(deck) == 0 {
			deck = rng.Perm(len(tl.rec))
			lap++
		}
		out[i] = arrival{at, int32(deck[0]), lap}
		deck = deck[1:]
	}
	return out
}

// evenTimes are n times in [0, d), the first at 0.
func evenTimes(n int, d time.Duration) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = time.Duration(float64(d) * float64(i) / float64(n))
	}
	return out
}

// gammaTimes returns n ascending times in [0, d): a renewal process with gamma
// gaps of the given coefficient of variation, on condition of n arrivals. With
// cv = 1 that is a Poisson process. The gaps are scaled to fill d with one gap
// left over (vLLM's benchmark normalizes its gaps likewise).
func gammaTimes(rng *rand.Rand, n int, d time.Duration, cv float64) []time.Duration {
	shape := 1 / (cv * cv)
	gaps := make([]float64, n+1)
	sum := 0.0
	for i := range gaps {
		gaps[i] = gamma(rng, shape)
		sum += gaps[i]
	}
	out := make([]time.Duration, n)
	if sum <= 0 { // all gaps underflowed, as they may for a huge cv
		return out
	}
	// A random cut of the first gap, else arrivals would repel both borders.
	at := gaps[0] * rng.Float64()
	for i := range out {
		out[i] = min(time.Duration(at/sum*float64(d)), d-1)
		at += gaps[i+1]
	}
	return out
}

// gamma draws from a gamma distribution of the given shape and scale 1
// (Marsaglia and Tsang, ACM TOMS 26(3), 2000; shapes under 1 by their note).
func gamma(rng *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return gamma(rng, shape+1) * math.Pow(1-rng.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := rng.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-rng.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
