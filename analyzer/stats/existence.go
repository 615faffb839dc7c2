package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Resampling says how often and with which seed.
type Resampling struct {
	Seed uint64
	// Max is B, the most resamples; 0 = 999.
	Max int
	// StopAfter ends the resampling at this many exceedances, with
	// p = exceedances ÷ resamples (Besag & Clifford, Biometrika 78:301, 1991);
	// 0 = never. p-values near and below 0.05 are not affected by 50.
	StopAfter int
}

func (r Resampling) draws() int {
	if r.Max == 0 {
		return 999
	}
	return r.Max
}

// TestResult is a resampling test.
type TestResult struct {
	Statistic, P float64
	// Resamples drawn; Exact where all arrangements were enumerated.
	Resamples int
	Exact     bool
}

// maxEnumerated is the most runs of which all arrangements are tried:
// 6! = 720, fewer than the resamples they stand for.
const maxEnumerated = 6

// Existence tests whether the error rate rises with load: the statistic is
// T = 2(ℓ_onset − ℓ_const) on counts pooled by level, its null distribution
// that over permutations of the runs, as pairs (n, k), over the levels. It
// holds its level whatever the dispersion between runs, where a likelihood
// ratio test rejects a constant rate in 30 % of cases at φ = 5 (calibrated).
//
//	p = (1 + #{T* ≥ T}) ÷ (1 + B), and #{T* ≥ T} ÷ n! where enumerated
//
// x are the loads of at least four levels, each with at least one run. Errors
// match [ErrInput].
func Existence(x []float64, runs []Run, r Resampling) (TestResult, error) {
	e, err := newExistence(x, runs)
	if err != nil {
		return TestResult{}, err
	}
	observed := e.statistic()
	if len(runs) <= maxEnumerated {
		return e.enumerate(observed), nil
	}
	return e.sample(observed, r), nil
}

type existenceTest struct {
	hinge  *hinge
	runs   []Run
	order  []int
	levels []int
}

func newExistence(x []float64, runs []Run) (*existenceTest, error) {
	for _, run := range runs {
		if run.Level < 0 || run.Level >= len(x) {
			return nil, fmt.Errorf("test existence: %w: a run of level %d of %d", ErrInput, run.Level, len(x))
		}
	}
	c := Pool(x, runs)
	if err := c.Check(); err != nil {
		return nil, err
	}
	if len(x) < 4 {
		return nil, fmt.Errorf("test existence: %w: %d levels, need 4", ErrInput, len(x))
	}
	e := &existenceTest{hinge: newHinge(c, LinkLogit), runs: runs, order: make([]int, len(runs)), levels: make([]int, len(runs))}
	for i, run := range runs {
		e.order[i], e.levels[i] = i, run.Level
	}
	return e, nil
}

// statistic pools the runs in their present order and returns T. The logit is
// the link under which the likelihood is concave to saturation.
func (e *existenceTest) statistic() float64 {
	c := e.hinge.counts
	clear(c.N)
	clear(c.K)
	for slot, i := range e.order {
		c.N[e.levels[slot]] += e.runs[i].N
		c.K[e.levels[slot]] += e.runs[i].K
	}
	return e.hinge.onsetGain()
}

// onsetGain is 2(ℓ_onset − ℓ_const) over a grid of λc.
func (h *hinge) onsetGain() float64 {
	constant, best := h.constant().logLik, math.Inf(-1)
	for i := range len(h.counts.X) - 2 {
		for j := range 3 {
			at := h.counts.X[i] + (h.counts.X[i+1]-h.counts.X[i])*float64(j)/3
			best = max(best, h.at(at).logLik)
		}
	}
	best = max(best, h.at(h.counts.X[len(h.counts.X)-2]).logLik)
	return 2 * (best - constant)
}

// tie is how near two statistics count as equal.
const tie = 1e-9

func (e *existenceTest) sample(observed float64, r Resampling) TestResult {
	rng := newRand(r.Seed, 1)
	hits, drawn := 0, 0
	for drawn < r.draws() {
		shuffle(rng, e.order)
		drawn++
		if e.statistic() >= observed-tie*(1+observed) {
			hits++
		}
		if r.StopAfter > 0 && hits >= r.StopAfter {
			return TestResult{Statistic: observed, P: float64(hits) / float64(drawn), Resamples: drawn}
		}
	}
	return TestResult{Statistic: observed, P: float64(hits+1) / float64(drawn+1), Resamples: drawn}
}

func shuffle(rng *rand.Rand, order []int) {
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
}

func (e *existenceTest) enumerate(observed float64) TestResult {
	hits, drawn := 0, 0
	permute(e.order, len(e.order), func() {
		drawn++
		if e.statistic() >= observed-tie*(1+observed) {
			hits++
		}
	})
	return TestResult{Statistic: observed, P: float64(hits) / float64(drawn), Resamples: drawn, Exact: true}
}

// permute visits all orders of the first k elements (Heap 1963).
func permute(order []int, k int, visit func()) {
	if k <= 1 {
		visit()
		return
	}
	for i := range k {
		permute(order, k-1, visit)
		if i == k-1 {
			break
		}
		if k%2 == 0 {
			order[i], order[k-1] = order[k-1], order[i]
		} else {
			order[0], order[k-1] = order[k-1], order[0]
		}
	}
}

// DetectableRatio is the smallest ε(λ_m)/ε0 that [Existence] at 5 % would
// have found with 80 % power, by simulation: an exponential onset half-way
// along the loads, the runs' own sizes, the pooled rate below and dispersion
// phi. ok is false where not even 1,000 would have been, or no error was seen.
func DetectableRatio(x []float64, runs []Run, phi float64, seed uint64) (ratio float64, ok bool) {
	e, err := newExistence(x, runs)
	if err != nil || sum(e.hinge.counts.K) == 0 {
		return 0, false
	}
	base := sum(e.hinge.counts.K) / sum(e.hinge.counts.N)
	rng := newRand(seed, 2)
	critical := e.nullQuantile(rng, base, phi, 0.95)
	for ratio := 1.5; ratio <= 1000; ratio *= 1.3 {
		if e.power(rng, base, ratio, phi, critical) >= 0.8 {
			return ratio, true
		}
	}
	return 0, false
}

const powerDraws = 100

// nullQuantile is a quantile of T at a constant rate.
func (e *existenceTest) nullQuantile(rng *rand.Rand, base, phi, q float64) float64 {
	values := make([]float64, 2*powerDraws)
	for i := range values {
		values[i] = e.simulate(rng, base, 1, phi)
	}
	value, _ := Quantile(sorted(values), q)
	return value
}

func (e *existenceTest) power(rng *rand.Rand, base, ratio, phi, critical float64) float64 {
	found := 0
	for range powerDraws {
		if e.simulate(rng, base, ratio, phi) > critical {
			found++
		}
	}
	return float64(found) / powerDraws
}

// simulate draws one experiment and returns its T.
func (e *existenceTest) simulate(rng *rand.Rand, base, ratio, phi float64) float64 {
	c := e.hinge.counts
	clear(c.N)
	clear(c.K)
	first, last := c.X[0], c.X[len(c.X)-1]
	middle := (first + last) / 2
	for slot, level := range e.levels {
		run := e.runs[slot]
		rise := max(0, c.X[level]-middle) / (last - middle)
		c.N[level] += run.N
		c.K[level] += drawCount(rng, run.N, min(base*math.Pow(ratio, rise), 1), phi)
	}
	return e.hinge.onsetGain()
}
