package twin

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// Estimate is a number from simulation with its standard error.
type Estimate struct {
	Value  float64
	StdErr float64
	// N is the number of jobs it is taken from.
	N int64
}

// ErrEmptyMix is a mix without a job that the server would take.
var ErrEmptyMix = errors.New("the mix has no request that fits the server")

const (
	// capacityRelErr is the relative standard error at which a capacity is
	// precise enough; curveStdErr that of an error rate.
	capacityRelErr = 0.0005
	curveStdErr    = 0.001
	// workLimit bounds what is simulated for one number, in jobs, sequences of
	// steps and blocks: about a second. Long prompts that wait for memory are
	// looked up again in each step, so that answer tokens alone would not do.
	workLimit = 10_000_000
	batches   = 40
	// minPerBatch keeps the batch means from being correlated; leastPerBatch
	// jobs are simulated whatever the work, and mergeSmall batches of fewer than
	// minPerBatch are taken together for the standard error.
	minPerBatch   = 250
	leastPerBatch = 25
	mergeSmall    = 4
)

// Capacity is the number of requests of the mix that the server serves per
// second while its queue is never empty: those that fail by ErrorRate
// included, those that exceed the context left out. It is measured in virtual
// time after a warm-up, until the relative standard error of the batch means
// is 0.05 % or the work of about a second is spent.
func Capacity(p Params, mix []Job, seed uint64) (Estimate, error) {
	p.MaxQueue = Unbounded
	v, err := newVirtual(p, mix, seed)
	if err != nil {
		return Estimate{}, fmt.Errorf("measure capacity: %w", err)
	}
	return v.capacity(capacityRelErr), nil
}

// capacity measures the service rate to the given relative standard error.
func (v *virtual) capacity(wantErr float64) Estimate {
	fill := 2*v.engine.p.MaxRunning + 16
	perBatch := max(minPerBatch, fill)
	v.saturate(fill, perBatch) // warm-up
	perBatch = v.affordable(perBatch)
	for {
		rates := make([]float64, batches)
		served, seconds := 0, 0.0
		for i := range rates {
			n, t := v.saturate(fill, perBatch)
			served, seconds = served+n, seconds+t
			rates[i] = float64(n) / t
		}
		stdErr := batchError(rates, perBatch)
		rate := float64(served) / seconds
		if stdErr <= wantErr*rate || v.spent() {
			return Estimate{Value: rate, StdErr: stdErr, N: int64(served)}
		}
		perBatch *= 2
	}
}

// Point is the error rate at one offered load.
type Point struct {
	OfferedPerS float64 `json:"offered_per_s"`
	// ErrorRate is (sheds + errors) ÷ offered, those by ErrorRate in expectation;
	// StdErr is its standard error.
	ErrorRate float64 `json:"error_rate"`
	StdErr    float64 `json:"std_err"`
	// ShedRate is sheds ÷ offered.
	ShedRate float64 `json:"shed_rate"`
	Requests int64   `json:"requests"`
}

// ErrorCurve measures the error rate under Poisson arrivals at each load, in
// requests per second, > 0, in virtual time after a warm-up, until its
// standard error is 0.001 or the work of about a second is spent at that load.
func ErrorCurve(p Params, mix []Job, loads []float64, seed uint64) ([]Point, error) {
	points := make([]Point, 0, len(loads))
	for i, load := range loads {
		if !(load > 0) || math.IsInf(load, 1) {
			return nil, fmt.Errorf("measure error curve: load %v: want > 0", load)
		}
		run, err := newVirtual(p, mix, seed+uint64(i))
		if err != nil {
			return nil, fmt.Errorf("measure error curve: %w", err)
		}
		points = append(points, run.point(load, curveStdErr))
	}
	return points, nil
}

// virtual is an engine fed from a mix.
type virtual struct {
	engine *Engine
	source *source
	r      *rand.Rand
	atNs   float64 // of the last Poisson arrival
}

func newVirtual(p Params, mix []Job, seed uint64) (*virtual, error) {
	e, err := New(p, seed)
	if err != nil {
		return nil, err
	}
	e.quiet = true
	fits := make([]Job, 0, len(mix))
	for _, j := range mix {
		if p.fits(j) {
			fits = append(fits, j)
		}
	}
	if len(fits) == 0 {
		return nil, ErrEmptyMix
	}
	r := rand.New(rand.NewPCG(seed, hashOf(seed, streamArrivals)))
	return &virtual{engine: e, source: newSource(fits, seed), r: r}, nil
}

func (v *virtual) spent() bool { return v.work() > workLimit }

func (v *virtual) work() int64 { return v.engine.stats.Submitted + v.engine.work }

// affordable is the size of a batch, lowered to what the limit bears at the
// work of the jobs so far.
func (v *virtual) affordable(perBatch int) int {
	perJob := v.work() / max(v.engine.stats.Submitted, 1)
	return min(perBatch, max(int(workLimit/batches/max(perJob, 1)), leastPerBatch))
}

// saturate serves at least n more jobs with fill in the server, up to the end
// of a step, and returns how many and the seconds from the end of the step
// before.
func (v *virtual) saturate(fill, n int) (served int, seconds float64) {
	e, begin := v.engine, v.engine.now
	for served < n {
		for len(e.open) < fill {
			v.submit(e.now)
		}
		served += len(e.Advance(e.NextEventNs()))
	}
	return served, float64(e.now-begin) / 1e9
}

func (v *virtual) submit(atNs int64) {
	j := v.source.draw()
	j.ArriveNs = atNs
	_ = v.engine.Submit(j) // ids of a source never repeat
}

// point measures the error rate at one load to the given standard error. Only
// sheds and what pathologies break are counted: whether a job fails by ErrorRate
// is independent of all else, so its expectation is exact where its count would
// add noise.
func (v *virtual) point(load, wantErr float64) Point {
	perBatch := max(minPerBatch, 8*v.places())
	for n := 0; n < perBatch && v.work() < workLimit/2; n += leastPerBatch { // warm-up
		v.poisson(load, min(leastPerBatch, perBatch-n))
	}
	perBatch = v.affordable(perBatch)
	for {
		rates := make([]float64, batches)
		var shed, broken, n int64
		for i := range rates {
			s, b, all := v.poisson(load, perBatch)
			shed, broken, n = shed+s, broken+b, n+all
			rates[i] = share(s+b, all)
		}
		stdErr := batchError(rates, perBatch)
		if stdErr <= wantErr || v.spent() {
			base, blocked := v.engine.p.ErrorRate, share(shed, n)
			return Point{
				OfferedPerS: load, ErrorRate: base + (1-base)*blocked + share(broken, n),
				// where no shed was seen, one more request might have been
				StdErr:   (1 - base) * max(stdErr, share(1, n)),
				ShedRate: blocked, Requests: n,
			}
		}
		perBatch *= 2
	}
}

// share is part ÷ all, 0 of nothing: an overloaded server without a bound on its
// queue may end none of a whole batch.
func share(part, all int64) float64 {
	return float64(part) / float64(max(all, 1))
}

// places is the number of requests that the server holds, for the length of
// its memory.
func (v *virtual) places() int { return v.engine.p.MaxRunning + max(v.engine.p.MaxQueue, 0) }

// poisson lets n jobs arrive and returns how many of those that ended
// meanwhile were shed, how many broken, and all.
func (v *virtual) poisson(load float64, n int) (shed, broken, all int64) {
	before := v.engine.stats
	for range n {
		v.atNs += v.r.ExpFloat64() / load * 1e9
		at := int64(v.atNs)
		v.engine.Advance(at - 1)
		v.submit(at)
	}
	st := v.engine.stats
	shed, broken = st.Shed-before.Shed, st.Broken-before.Broken
	return shed, broken, shed + broken + st.Failed - before.Failed + st.Done - before.Done
}

// batchError is the standard error of the mean of batches. Small ones depend on
// their neighbours and are taken together first.
func batchError(rates []float64, perBatch int) float64 {
	if perBatch < minPerBatch {
		merged := make([]float64, len(rates)/mergeSmall)
		for i := range merged {
			merged[i], _ = meanAndError(rates[i*mergeSmall : (i+1)*mergeSmall])
		}
		rates = merged
	}
	_, stdErr := meanAndError(rates)
	return stdErr
}

// meanAndError returns the mean and its standard error from batch means
// (Law & Kelton, Simulation Modeling and Analysis, §9.5.3).
func meanAndError(x []float64) (mean, stdErr float64) {
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	ss := 0.0
	for _, v := range x {
		ss += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(ss / float64(len(x)-1) / float64(len(x)))
}
