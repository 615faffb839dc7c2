package analyzer

import (
	"math/rand/v2"
	"testing"

	"github.com/lambdac/lambdac/internal/twin"
	"github.com/lambdac/lambdac/trace"
)

// twinRun replays Poisson arrivals against the serving model in virtual time:
// 2 s of warm-up and a window of hold seconds.
func twinRun(tb testing.TB, p twin.Params, mix twin.Mix, load, hold float64, seed uint64) *run {
	tb.Helper()
	engine, err := twin.New(p, seed)
	if err != nil {
		tb.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 11))
	const second = 1e9
	start, end := int64(2*second), int64((2+hold)*second)
	r := &run{level: trace.Level{OfferedPerS: load, StartUnixNs: start, EndUnixNs: end}}
	arrivals := make(map[uint64]int64)
	id := uint64(0)
	for at := rng.ExpFloat64() / load; at < 2+hold; at += rng.ExpFloat64() / load {
		job := mix.Jobs[rng.IntN(len(mix.Jobs))]
		id++
		job.ID, job.ArriveNs = id, int64(at*second)
		if err := engine.Submit(job); err != nil {
			tb.Fatal(err)
		}
		arrivals[id] = job.ArriveNs
	}
	first := make(map[uint64]int64)
	for _, ev := range engine.Advance(end + 60*second) {
		at := arrivals[ev.Job]
		if ev.Kind == twin.FirstToken {
			first[ev.Job] = ev.AtNs
		}
		if !ev.Kind.Ends() || !r.level.InWindow(at) {
			continue
		}
		w := row{StartUnixNs: at, Outcome: trace.OutcomeOK}
		if ev.Status != 0 {
			w.Outcome, w.StatusCode = trace.OutcomeHTTPError, new(int32(ev.Status))
		} else if t, ok := first[ev.Job]; ok {
			w.TFirstTokenUs = new((t - at) / 1000)
		}
		r.level.Scheduled++
		r.take(&w, nil)
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

func TestTwinCapacityIsCovered(t *testing.T) {
	seeds := scale(10, 200)
	type result struct {
		covered bool
		width   float64
	}
	results := parallel(seeds, func(seed int) result {
		p := twin.DemoParams(uint64(seed))
		mix := twin.BuiltinMix(uint64(seed))
		truth, err := twin.Capacity(p, mix.Jobs, uint64(seed))
		if err != nil {
			t.Error(err)
			return result{}
		}
		// The user does not know the capacity: the loads are off by up to 8 %.
		off := 1 + 0.16*(rand.New(rand.NewPCG(uint64(seed), 5)).Float64()-0.5)
		var runs []*run
		for i, load := range demoLoads(truth.Value * off) {
			runs = append(runs, twinRun(t, p, mix, load, 14, uint64(seed*100+i)))
		}
		c := judgeTransition(sampleOf(groupLoads(runs, false), allFailures), false, 1).c
		if c.Low == nil || c.High == nil {
			t.Logf("seed %d: truth %.1f, open interval: %+v %s", seed, truth.Value, c.Verdict, c.Reason)
			return result{}
		}
		covered := *c.Low <= truth.Value && truth.Value <= *c.High
		if !covered || testing.Verbose() {
			t.Logf("seed %d: truth %.2f, [%.2f, %.2f] %s %v %s", seed, truth.Value, *c.Low, *c.High, *c.Family, c.NotSeparable, c.Reason)
		}
		return result{covered: covered, width: (*c.High - *c.Low) / truth.Value}
	})
	covered, widths := 0, []float64{}
	for _, r := range results {
		if r.covered {
			covered++
		}
		widths = append(widths, r.width)
	}
	t.Logf("covered %d of %d, median width %.1f %% of the capacity", covered, seeds, 100*median(widths))
	if float64(covered) < 0.9*float64(seeds) {
		t.Errorf("the interval covers the true capacity in %d of %d seeds, want 90 %%", covered, seeds)
	}
}
