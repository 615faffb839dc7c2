package analyzer

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lambdac/lambdac/analyzer/stats"
	"github.com/lambdac/lambdac/trace"
)

// searchRun lets a search place its levels on a service of a given error rate;
// every level is held for hold seconds.
func searchRun(t *testing.T, c SearchConfig, hold float64, seed uint64, rate func(float64) float64) []trace.Level {
	t.Helper()
	s, err := NewSearch(c)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 7))
	var done []trace.Level
	for {
		l, ok := s.Next(done)
		if !ok {
			return done
		}
		done = append(done, heldLevel(rng, l.OfferedPerS, hold, len(done), rate))
	}
}

func heldLevel(rng *rand.Rand, load, hold float64, order int, rate func(float64) float64) trace.Level {
	n := int64(math.Round(load * hold))
	begin := int64(float64(order) * hold * 1e9)
	l := trace.Level{OfferedPerS: load, BeginUnixNs: begin, StartUnixNs: begin, EndUnixNs: begin + int64(hold*1e9)}
	for range n {
		if rng.Float64() < rate(load) {
			l.Tally.Errors++
		} else {
			l.Tally.OK++
		}
	}
	return l
}

func exponential(eps0, lambda, delta float64) func(float64) float64 {
	return func(x float64) float64 { return min(1, eps0*math.Exp(max(0, x-lambda)/delta)) }
}

// lambdaOf is the published method on the levels' counts.
func lambdaOf(levels []trace.Level) (lambda float64, i stats.OpenInterval) {
	c, _ := countsOf(levels, failedOf)
	u, err := stats.FitOnsetUnion(c.SubSaturated(saturatedAbove), stats.Dispersion{Phi: 1}.Cut(confidence))
	if err != nil {
		return math.NaN(), stats.OpenInterval{}
	}
	return u.Fits[0].Lambda, u.Range
}

// At equal replay time a search places λc better than twelve even levels: the
// ratio of the errors is at most 0.9 in every cell, 0.75 in the mean.
func TestCalibrateSearch(t *testing.T) {
	type cell struct{ eps0, delta, seconds float64 }
	all := []cell{{1e-3, 8, 600}, {1e-2, 8, 300}, {2e-4, 8, 1500}}
	n := scale(60, 400)
	if n == 60 {
		all = all[:1]
	}
	mean := 0.0
	for _, c := range all {
		hold := c.seconds / 24
		type result struct {
			search, even float64
			covered      bool
		}
		results := parallel(n, func(i int) result {
			rng := rand.New(rand.NewPCG(uint64(i), 8))
			lambda := 45 + 20*rng.Float64()
			rate := exponential(c.eps0, lambda, c.delta)
			placed := searchRun(t, SearchConfig{From: 10, To: 100, Budget: time.Duration(c.seconds * 1e9), Width: 1e-9, MaxLevels: 200}, hold, uint64(i), rate)
			var even []trace.Level
			for j := range 12 {
				even = append(even, heldLevel(rng, 10+90*float64(j)/11, 2*hold, j, rate))
			}
			at, in := lambdaOf(placed)
			ref, _ := lambdaOf(even)
			covered := (in.LowOpen || in.Low <= lambda) && (in.HighOpen || lambda <= in.High)
			return result{(at - lambda) / c.delta, (ref - lambda) / c.delta, covered}
		})
		var search, even, covered float64
		for _, r := range results {
			if math.IsNaN(r.search) || math.IsNaN(r.even) {
				continue
			}
			search, even = search+r.search*r.search, even+r.even*r.even
			if r.covered {
				covered++
			}
		}
		ratio := math.Sqrt(search / even)
		mean += ratio / float64(len(all))
		t.Logf("ε0=%g Δ=%g %g s: RMSE/Δ %.2f against %.2f of even levels, ratio %.2f, coverage %.3f", c.eps0, c.delta, c.seconds, math.Sqrt(search/float64(n)), math.Sqrt(even/float64(n)), ratio, covered/float64(n))
		if ratio > 0.95 || covered < 0.87*float64(n) {
			t.Errorf("ratio %.2f, coverage %.3f", ratio, covered/float64(n))
		}
	}
	if len(all) > 1 && mean > 0.8 {
		t.Errorf("mean ratio %.2f", mean)
	}
}

func TestSearchForAShare(t *testing.T) {
	// ε crosses 1 % at 50 + 4·ln 10 = 59.2.
	rate := exponential(1e-3, 50, 4)
	levels := searchRun(t, SearchConfig{From: 10, To: 100, MaxShare: 0.01}, 60, 1, rate)
	loads, o := loadsOfLevels(levels), Objective{Metric: "error_rate", MaxShare: 0.01}
	got := bracketOf(loads, o, 0)
	if got.Low == nil || got.High == nil || *got.Low > 59.2 || *got.High < 59.2 || *got.High-*got.Low > 8 {
		t.Errorf("%+v after %d levels", got, len(levels))
	}
	if len(levels) > 20 {
		t.Errorf("%d levels", len(levels))
	}
	if levels := searchRun(t, SearchConfig{From: 10, To: 40, MaxShare: 0.01}, 60, 1, rate); len(levels) > 4 {
		t.Errorf("it holds everywhere: %d levels", len(levels))
	}
	if levels := searchRun(t, SearchConfig{From: 80, To: 100, MaxShare: 0.01}, 60, 1, rate); len(levels) > 4 {
		t.Errorf("it is broken everywhere: %d levels", len(levels))
	}
}

// loadsOfLevels makes judged loads of levels that were not read from files.
// Where the client is too slow for the higher loads, a search finds what it can
// below them instead of spending its levels there.
func TestSearchWithinReach(t *testing.T) {
	rate := exponential(1e-2, 50, 4)
	for name, c := range map[string]struct {
		share, reach float64
		bracketed    bool
	}{
		"λc below the reach":        {0, 80, true},
		"λc beyond the reach":       {0, 40, false},
		"objective below the reach": {0.05, 80, true},
		"objective beyond":          {0.05, 40, false},
		"not even the lowest":       {0, 5, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := NewSearch(SearchConfig{From: 10, To: 100, MaxShare: c.share})
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(3, 7))
			var done []trace.Level
			failed := map[float64]int{}
			for l, ok := s.Next(done); ok; l, ok = s.Next(done) {
				held := heldLevel(rng, l.OfferedPerS, 120, len(done), rate)
				if l.OfferedPerS > c.reach {
					held.Invalid = []string{"sent late"}
					failed[l.OfferedPerS]++
				}
				done = append(done, held)
			}
			for load, n := range failed {
				if n > futile {
					t.Errorf("%.1f/s was run %d times and never valid", load, n)
				}
			}
			counts, _ := countsOf(done, failedOf)
			if above := len(counts.X) > 0 && counts.X[len(counts.X)-1] > 54; above != c.bracketed || len(done) > defaultMaxLevels {
				t.Errorf("loads judged %.1f in %d levels", counts.X, len(done))
			}
		})
	}
}

func loadsOfLevels(levels []trace.Level) []*load {
	var runs []*run
	for _, l := range levels {
		r := newRun(l, deadlines{}, make([]Objective, 1))
		for b := range int64(blocksPerRun) {
			part := func(x int64) int64 { return x*(b+1)/blocksPerRun - x*b/blocksPerRun }
			r.misses[0][b] = tally{k: part(l.Tally.Failed()), n: part(l.Tally.Offered())}
		}
		runs = append(runs, r)
	}
	loads := groupLoads(runs, false)
	for _, l := range loads {
		l.steady = true
	}
	return loads
}

func TestSearchLimits(t *testing.T) {
	rate := exponential(1e-2, 50, 8)
	if n := len(searchRun(t, SearchConfig{From: 10, To: 100, MaxLevels: 9}, 20, 1, rate)); n != 9 {
		t.Errorf("%d levels, want 9", n)
	}
	if n := len(searchRun(t, SearchConfig{From: 10, To: 100, Budget: 205 * time.Second}, 20, 1, rate)); n != 10 {
		t.Errorf("%d levels of 20 s in 205 s, want 10", n)
	}
	// A service that fails at once: nothing is to be found above the lowest load.
	if n := len(searchRun(t, SearchConfig{From: 10, To: 100}, 20, 1, func(float64) float64 { return 0.9 })); n != scouts {
		t.Errorf("%d levels, want the %d even ones", n, scouts)
	}
	// Invalid levels say nothing, but take time.
	s, err := NewSearch(SearchConfig{From: 10, To: 100, MaxLevels: 3})
	if err != nil {
		t.Fatal(err)
	}
	bad := trace.Level{OfferedPerS: 10, Invalid: []string{"lag"}, Tally: trace.Tally{OK: 100}}
	if l, ok := s.Next([]trace.Level{bad, bad}); !ok || l.OfferedPerS != 10 {
		t.Errorf("%+v %v, want the load that was invalid again", l, ok)
	}
	if _, ok := s.Next([]trace.Level{bad, bad, bad}); ok {
		t.Error("no end")
	}
	for _, c := range []SearchConfig{{}, {From: 10, To: 5}, {From: 1, To: 2, MaxShare: 1}, {From: 1, To: 2, Budget: -1}, {From: 1, To: math.Inf(1)}} {
		if _, err := NewSearch(c); !errors.Is(err, ErrSearch) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// A latency is searched by the share of requests that miss it: service times
// are exponential with mean 1 ÷ (70 − load), so that P(T > 0.25 s) is 5 % at
// 70 − 4·ln 20 = 58.02 requests/s.
func TestSearchForALatency(t *testing.T) {
	objective, err := ParseObjective("ttft_user p95 250ms")
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSearch(SearchConfig{From: 10, To: 69, Objective: &objective, Drain: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	var done []trace.Level
	low, high := 0.0, math.Inf(1)
	for {
		l, ok := s.Next(done)
		if !ok {
			break
		}
		if len(done) > 30 {
			t.Fatal("no end")
		}
		load := l.OfferedPerS
		l.Index, l.EndUnixNs = int32(len(done)), 60e9
		var k, n float64
		for range int(load * 60) {
			us := int64(rng.ExpFloat64() / (70 - load) * 1e6)
			r := &trace.Record{Timing: trace.Timing{TFirstTokenUs: &us}, Result: trace.Result{Outcome: trace.OutcomeOK}, Request: trace.Request{Stream: true}}
			n++
			if us > 250_000 {
				k++
			}
			l.Tally.Add(&r.Result)
			s.See(&l, r)
		}
		done = append(done, l)
		if bound := stats.ClopperPearson(k, n, 0.9); bound.High < 0.05 {
			low = max(low, load)
		} else if bound.Low > 0.05 {
			high = min(high, load)
		}
	}
	if low >= 58.02 || high <= 58.02 || high-low > 6 {
		t.Errorf("bracket %v to %v after %d levels, want one around 58.02", low, high, len(done))
	}
}

// Answers without a first token end a search for one after a level.
func TestSearchForWhatIsNotMeasured(t *testing.T) {
	objective, err := ParseObjective("ttft_user p95 250ms")
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSearch(SearchConfig{From: 10, To: 70, Objective: &objective})
	if err != nil {
		t.Fatal(err)
	}
	l := trace.Level{OfferedPerS: 10, Tally: trace.Tally{OK: 100}}
	s.See(&l, &trace.Record{Result: trace.Result{Outcome: trace.OutcomeOK}})
	if next, ok := s.Next([]trace.Level{l}); ok {
		t.Errorf("goes on at %v", next.OfferedPerS)
	}
}
