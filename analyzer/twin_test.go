package analyzer

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lambdac/lambdac/internal/twin"
	"github.com/lambdac/lambdac/trace"
)

// twinRun replays Poisson arrivals against the serving model in virtual time:
// 2 s of warm-up and a window of hold seconds.
func twinRun(tb testing.TB, p twin.Params, mix twin.Mix, load, hold float64, seed uint64, objectives ...Objective) *run {
	tb.Helper()
	engine, err := twin.New(p, seed)
	if err != nil {
		tb.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 11))
	const second = 1e9
	start, end := int64(2*second), int64((2+hold)*second)
	r := newRun(trace.Level{OfferedPerS: load, StartUnixNs: start, EndUnixNs: end}, deadlines{}, objectives)
	arrivals, tokens := make(map[uint64]int64), make(map[uint64]int)
	id := uint64(0)
	for at := rng.ExpFloat64() / load; at < 2+hold; at += rng.ExpFloat64() / load {
		job := mix.Jobs[rng.IntN(len(mix.Jobs))]
		id++
		job.ID, job.ArriveNs = id, int64(at*second)
		if err := engine.Submit(job); err != nil {
			tb.Fatal(err)
		}
		arrivals[id], tokens[id] = job.ArriveNs, job.OutputTokens
	}
	first := make(map[uint64]int64)
	for _, ev := range engine.Advance(end + 60*second) {
		at := arrivals[ev.Job]
		if ev.Kind == twin.FirstToken {
			first[ev.Job] = ev.AtNs
		}
		if !ev.Kind.Ends() {
			continue
		}
		w := row{judgedColumns: judgedColumns{StartUnixNs: at, Outcome: trace.OutcomeOK}}
		w.TEndUs = new((ev.AtNs - at) / 1000)
		if ev.Status != 0 {
			w.Outcome, w.StatusCode = trace.OutcomeHTTPError, new(int32(ev.Status))
		} else if t, ok := first[ev.Job]; ok {
			w.TFirstTokenUs = new((t - at) / 1000)
			w.OutputTokens = new(int64(tokens[ev.Job]))
		}
		if r.level.InWindow(at) {
			r.level.Scheduled++
		}
		r.see(&w, objectives)
	}
	r.reasons = r.invalid()
	return r
}

// demoLoads are nine loads from 0.5 to 1.6 times the capacity.
func demoLoads(capacity float64) []float64 {
	var loads []float64
	for i := range 9 {
		loads = append(loads, capacity*(0.5+1.1*float64(i)/8))
	}
	return loads
}

// twinCase is one server of the serving model.
type twinCase struct {
	name       string
	params     func(seed uint64) twin.Params
	replicates int
	short      int // seeds in the unit tests
	full       int // seeds in a calibration
}

// twinCases are the demo's server, and servers whose many places are still
// filling in a window of 14 s at loads near the capacity.
func twinCases() []twinCase {
	many := func(uint64) twin.Params {
		p := twin.DefaultParams()
		p.PrefixCaching = false
		return p
	}
	long := func(seed uint64) twin.Params {
		p := twin.DemoParams(seed)
		p.MaxQueue = 64
		return p
	}
	without := func(from func(uint64) twin.Params) func(uint64) twin.Params {
		return func(seed uint64) twin.Params {
			p := from(seed)
			p.MaxQueue = 0
			return p
		}
	}
	one := func(seed uint64) twin.Params {
		p := twin.DemoParams(seed)
		p.MaxQueue = 1
		return p
	}
	return []twinCase{
		{"demo", twin.DemoParams, 1, 10, 200},
		{"demo, three runs a load", twin.DemoParams, 3, 2, 50},
		{"64 running, 128 waiting", many, 1, 4, 50},
		{"64 running, 128 waiting, three runs a load", many, 3, 0, 30},
		{"8 running, 64 waiting", long, 1, 4, 50},
		{"8 running, 64 waiting, three runs a load", long, 3, 0, 30},
		{"8 running, no queue", without(twin.DemoParams), 1, 10, 200},
		{"8 running, no queue, three runs a load", without(twin.DemoParams), 3, 0, 30},
		{"8 running, one may wait", one, 1, 0, 100},
		{"64 running, no queue", without(many), 1, 4, 100},
		{"64 running, no queue, three runs a load", without(many), 3, 0, 30},
	}
}

func TestTwinCapacityIsCovered(t *testing.T) {
	for _, c := range twinCases() {
		t.Run(c.name, func(t *testing.T) {
			seeds := scale(c.short, c.full)
			widths := parallel(seeds, func(seed int) *float64 { return c.width(t, uint64(seed)) })
			covered := slices.DeleteFunc(widths, func(w *float64) bool { return w == nil })
			var shown []float64
			for _, w := range covered {
				shown = append(shown, *w)
			}
			t.Logf("covered %d of %d", len(covered), seeds)
			if len(shown) > 0 {
				t.Logf("median width %.1f %% of the capacity", 100*median(shown))
			}
			if float64(len(covered)) < 0.9*float64(seeds) {
				t.Errorf("the interval covers the true capacity in %d of %d seeds, want 90 %%", len(covered), seeds)
			}
		})
	}
}

// width runs one experiment and returns the width of the interval in units of
// the capacity, nil where it is open or misses the truth.
func (c twinCase) width(t *testing.T, seed uint64) *float64 {
	p, mix := c.params(seed), twin.BuiltinMix(seed)
	truth, err := twin.Capacity(p, mix.Jobs, seed)
	if err != nil {
		t.Error(err)
		return nil
	}
	// The user does not know the capacity: the loads are off by up to 8 %.
	off := 1 + 0.16*(rand.New(rand.NewPCG(seed, 5)).Float64()-0.5)
	var runs []*run
	for i, load := range demoLoads(truth.Value * off) {
		for r := range c.replicates {
			runs = append(runs, twinRun(t, p, mix, load, 14, seed*1000+uint64(10*i+r)))
		}
	}
	got := judgeTransition(sampleOf(groupLoads(runs, false), allFailures), false, 1).c
	if got.Low == nil || got.High == nil || *got.Low > truth.Value || *got.High < truth.Value {
		lo, hi := 0.0, 0.0
		if got.Low != nil && got.High != nil {
			lo, hi = *got.Low/truth.Value, *got.High/truth.Value
		}
		t.Logf("seed %d: truth %.2f, got %s %s %s; %.3f to %.3f of it", seed, truth.Value, got.Verdict, got.Missing, got.Reason, lo, hi)
		return nil
	}
	return new((*got.High - *got.Low) / truth.Value)
}
