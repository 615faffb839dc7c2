package twin

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// single is a server that takes one request at a time and needs a microsecond
// for each prompt token: service times are input lengths.
func single(maxQueue int) Params {
	p := DefaultParams()
	p.StepFixed, p.PerSequence, p.PerPrefillToken = 0, 1, time.Microsecond
	p.MaxRunning, p.MaxQueue, p.ChunkedPrefill = 1, maxQueue, false
	p.KVBlocks = maxCount
	p.PrefixCaching = false
	return p
}

// pointAt is one point of the error curve to a standard error of 0.005.
func pointAt(t *testing.T, p Params, mix []Job, load float64) Point {
	t.Helper()
	v, err := newVirtual(p, mix, 5)
	if err != nil {
		t.Fatal(err)
	}
	return v.point(load, 0.005)
}

// roughCapacity is good to half a percent.
func roughCapacity(t *testing.T, p Params, mix []Job) float64 {
	t.Helper()
	p.MaxQueue = Unbounded
	v, err := newVirtual(p, mix, 5)
	if err != nil {
		t.Fatal(err)
	}
	return v.capacity(0.005).Value
}

const meanService = 10_000 // µs, in prompt tokens

// TestMD1 compares the mean wait with Pollaczek–Khinchine for constant
// service: W = ρ·s ÷ 2(1 − ρ) (Kleinrock, Queueing Systems I, §5.6). A
// request's wait ends when it is admitted.
func TestMD1(t *testing.T) {
	for _, rho := range []float64{0.3, 0.8} {
		jobs := poissonJobs(rho, 50_000, func(*rand.Rand) int { return meanService })
		arrive := map[uint64]int64{}
		for _, j := range jobs {
			arrive[j.ID] = j.ArriveNs
		}
		_, events := run(t, single(Unbounded), 1, jobs...)
		sum, n := 0.0, 0.0
		for _, ev := range events {
			if ev.Kind == Admitted {
				sum += float64(ev.AtNs-arrive[ev.Job]) / 1e3
				n++
			}
		}
		want := rho * meanService / (2 * (1 - rho))
		if got := sum / n; math.Abs(got/want-1) > 0.04 {
			t.Errorf("ρ = %v: mean wait %.0f µs, want %.0f ± 4 %%", rho, got, want)
		}
	}
}

// poissonJobs are n arrivals at load rho, with the given prompt lengths and
// nothing to generate.
func poissonJobs(rho float64, n int, length func(*rand.Rand) int) []Job {
	r := rand.New(rand.NewPCG(11, uint64(rho*1000)))
	jobs, at := make([]Job, n), 0.0
	for i := range jobs {
		at += r.ExpFloat64() * meanService * 1e3 / rho
		jobs[i] = Job{ID: uint64(i), ArriveNs: int64(at), InputTokens: length(r)}
	}
	return jobs
}

// TestMM1K compares the share of sheds with the blocking of M/M/1/K,
// (1−ρ)ρ^K ÷ (1−ρ^(K+1)), K places in all. Values from R, analyzer.md T17.
func TestMM1K(t *testing.T) {
	tests := []struct {
		rho  float64
		k    int
		want float64
	}{
		{0.8, 5, .0888194987},
		{1, 5, .1666666667},
		{1.2, 10, .1925864951},
		{2, 50, .5},
	}
	for _, tt := range tests {
		mix := exponentialMix(func(length int) Job { return Job{InputTokens: length} }, meanService)
		got := pointAt(t, single(tt.k-1), mix, tt.rho*loadOf(mix, 1e-6))
		if math.Abs(got.ErrorRate-tt.want) > 4*got.StdErr {
			t.Errorf("ρ = %v, K = %d: shed %.5f ± %.5f, want %.5f", tt.rho, tt.k, got.ErrorRate, got.StdErr, tt.want)
		}
	}
}

// TestMM1KByTokens does the same with answers of exponential length: one
// token a millisecond, so that the service is exponential to the width of a
// token.
func TestMM1KByTokens(t *testing.T) {
	p := single(4)
	p.PerPrefillToken, p.PerSequence = 0, time.Millisecond
	mix := exponentialMix(func(length int) Job { return Job{InputTokens: 1, OutputTokens: length} }, 60)
	got := pointAt(t, p, mix, 0.8*loadOf(mix, 1e-3))
	// Arrivals wait for a step's end, on average half a token of 60.
	if math.Abs(got.ErrorRate-.0888194987) > 4*got.StdErr+.0888*0.5/60 {
		t.Errorf("shed %.5f ± %.5f, want .08882", got.ErrorRate, got.StdErr)
	}
}

// exponentialMix has exponential lengths by stratified inversion, so that its
// mean is that of the law.
func exponentialMix(job func(length int) Job, mean float64) []Job {
	r := rand.New(rand.NewPCG(3, 4))
	const n = 50_000
	mix := make([]Job, n)
	for i := range mix {
		u := (float64(i) + 0.5) / n
		mix[i] = job(max(int(math.Round(-mean*math.Log(u))), 1))
	}
	r.Shuffle(n, func(i, j int) { mix[i], mix[j] = mix[j], mix[i] })
	return mix
}

// loadOf is the arrival rate at ρ = 1.
func loadOf(mix []Job, secondsPerToken float64) float64 {
	sum := 0.0
	for _, j := range mix {
		sum += float64(j.InputTokens + max(j.OutputTokens-1, 0))
	}
	return float64(len(mix)) / sum / secondsPerToken
}

// TestErlangB: without a queue, and with a cost that no batch shares, places
// serve independently and the loss is Erlang's, insensitive to the law of the
// service. Erlang-B(10, 8) from R, analyzer.md T17.
func TestErlangB(t *testing.T) {
	p := DefaultParams()
	p.StepFixed, p.PerSequence, p.PerPrefillToken = time.Millisecond, 0, 0
	p.MaxRunning, p.MaxQueue = 10, 0
	r, mix := rand.New(rand.NewPCG(1, 1)), make([]Job, 10_000)
	for i := range mix { // independent, so that the loss is Erlang's
		mix[i] = Job{InputTokens: 1, OutputTokens: 50 + 100*(i%2)}
	}
	r.Shuffle(len(mix), func(i, j int) { mix[i], mix[j] = mix[j], mix[i] })
	got := pointAt(t, p, mix, 8/0.1)
	// An arrival waits for a step's end: its service is half a token longer.
	if math.Abs(got.ErrorRate-.1218757837) > 4*got.StdErr+.0006 {
		t.Errorf("shed %.5f ± %.5f, want .12188", got.ErrorRate, got.StdErr)
	}
}

// TestCapacityByHand: with equal jobs the saturated server is periodic.
func TestCapacityByHand(t *testing.T) {
	p := plain()
	p.MaxRunning = 4
	got, err := Capacity(p, []Job{{InputTokens: 8, OutputTokens: 1}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := 4 / 0.050 // 10 + 4·8 + 4·2 = 50 ms for four
	if math.Abs(got.Value/want-1) > 1e-9 || got.StdErr > 1e-9 {
		t.Errorf("capacity %v ± %v, want %v", got.Value, got.StdErr, want)
	}
}

// TestCurveCountsErrors: the curve, which takes base errors in expectation, is
// what a client would count.
func TestCurveCountsErrors(t *testing.T) {
	p := DemoParams(1)
	p.ErrorRate = 0.2
	mix := BuiltinMix(1).Jobs
	load := roughCapacity(t, p, mix)
	v, err := newVirtual(p, mix, 9)
	if err != nil {
		t.Fatal(err)
	}
	v.poisson(load, 40_000)
	st := v.engine.stats
	counted := share(st.Shed+st.Failed, st.Shed+st.Failed+st.Done)
	if got := pointAt(t, p, mix, load); math.Abs(got.ErrorRate-counted) > 0.02 {
		t.Errorf("curve %.4f, counted %.4f", got.ErrorRate, counted)
	}
}

// TestOverload: far above capacity the server serves just its capacity, and
// errors of its own do not change it.
func TestOverload(t *testing.T) {
	mix := BuiltinMix(1).Jobs
	p := DemoParams(1)
	got := pointAt(t, p, mix, 3*roughCapacity(t, p, mix))
	want := p.ErrorRate + (1-p.ErrorRate)*(1-1.0/3)
	if math.Abs(got.ErrorRate-want) > 4*got.StdErr {
		t.Errorf("error rate at 3μ %.4f ± %.4f, want %.4f", got.ErrorRate, got.StdErr, want)
	}
}
