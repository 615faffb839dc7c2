package analyzer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

func TestSteady(t *testing.T) {
	tests := []struct {
		name           string
		n, failed      int64
		atStart, atEnd int64
		idle           float64
		want           bool
	}{
		{"as many", 1000, 10, 20, 20, 0, true},
		{"fewer", 1000, 10, 40, 20, 0, true},
		{"a fluctuation", 1000, 10, 4, 10, 0, true},
		{"a queue that fills", 1500, 30, 20, 110, 0, false},
		{"growth that the errors drown", 1500, 700, 20, 55, 0, true},
		{"growth without errors", 1500, 0, 0, 100, 0, false},
		{"as many as the load holds without waiting", 1500, 0, 0, 100, 95, true},
		{"nothing", 0, 0, 0, 5, 0, true},
	}
	for _, test := range tests {
		r := &run{open: presence{atStart: test.atStart, atEnd: test.atEnd}, tally: trace.Tally{OK: test.n - test.failed, Sheds: test.failed}}
		if got := r.steady(test.idle); got != test.want {
			t.Errorf("%s: steady = %v", test.name, got)
		}
	}
}

// The run-halves test sees what the ends of the window do not.
func TestFilling(t *testing.T) {
	tests := []struct {
		name  string
		held  [blocksPerRun]float64
		n     [2]int64 // arrivals of a block of each half
		idle  float64
		grew  bool
		first float64
	}{
		{"level", [blocksPerRun]float64{20, 22, 19, 21, 20, 22, 19, 21}, [2]int64{10, 10}, 0, false, 20.5},
		{"a queue that fills", [blocksPerRun]float64{20, 22, 25, 28, 33, 35, 38, 40}, [2]int64{10, 10}, 0, true, 23.75},
		{"one that fills by a fifth", [blocksPerRun]float64{20, 20, 20, 21, 24, 24, 24, 25}, [2]int64{10, 10}, 0, false, 20.25},
		{"one that empties", [blocksPerRun]float64{40, 38, 35, 33, 28, 25, 22, 20}, [2]int64{10, 10}, 0, false, 36.5},
		{"more arrivals", [blocksPerRun]float64{20, 22, 25, 28, 33, 35, 38, 40}, [2]int64{10, 20}, 0, false, 23.75},
		{"the first answers of long requests", [blocksPerRun]float64{20, 22, 25, 28, 33, 35, 38, 40}, [2]int64{10, 10}, 40, false, 23.75},
		{"a lone peak", [blocksPerRun]float64{20, 20, 20, 20, 20, 90, 20, 20}, [2]int64{10, 10}, 0, false, 20},
	}
	for _, test := range tests {
		r := &run{level: levelAt(10)}
		r.open.warmSeen = true
		for b, held := range test.held {
			r.open.inFlight[b] = held * 1e9 // blocks of 1 s
			r.blocks[b].n = test.n[2*b/blocksPerRun]
		}
		if g := r.filling(test.idle); g.found != test.grew || g.first != test.first {
			t.Errorf("%s: %+v", test.name, g)
		}
	}
}

func TestPresenceHolds(t *testing.T) {
	r := &run{level: levelAt(10)}
	for _, span := range [][2]int64{{-5, -1}, {-1, 1}, {500, 2500}, {7500, 99_000}, {9000, 9500}} {
		r.open.hold(&r.level, span[0]*1e6, span[1]*1e6)
	}
	want := [blocksPerRun]float64{501e6, 1e9, 500e6, 0, 0, 0, 0, 500e6}
	if r.open.inFlight != want {
		t.Errorf("%v, want %v", r.open.inFlight, want)
	}
}

// placesRun is a run of exponential requests of 1 s mean at a service of a number
// of places with a queue without an end, after 10 s of warm-up.
func placesRun(places int, load, hold float64, seed uint64) *run {
	rng := rand.New(rand.NewPCG(seed, 15))
	const warm = 10.0
	r := newRun(trace.Level{StartUnixNs: int64(warm * 1e9), EndUnixNs: int64((warm + hold) * 1e9)}, deadlines{}, nil)
	free := make([]float64, places)
	for at := rng.ExpFloat64() / load; at < warm+hold; at += rng.ExpFloat64() / load {
		place := slices.Index(free, slices.Min(free))
		end := max(at, free[place]) + rng.ExpFloat64()
		free[place] = end
		w := row{judgedColumns: judgedColumns{StartUnixNs: int64(at * 1e9), Outcome: trace.OutcomeOK}}
		w.TEndUs = new(int64((end - at) * 1e6))
		r.see(&w, nil)
	}
	return r
}

// Of loads that a service keeps up with few are left out, of those that it does
// not nearly all.
func TestCalibrateSteady(t *testing.T) {
	n := scale(200, 2000)
	for _, c := range []struct {
		share, hold float64
		low, high   float64
	}{
		{0.3, 60, 0, 0.02},
		{0.5, 60, 0, 0.02},
		{0.7, 60, 0, 0.05},
		{0.7, 600, 0, 0.05},
		{0.9, 600, 0, 0.15},
		{1.05, 600, 0.5, 1},
		{1.2, 60, 0.9, 1},
		{1.2, 600, 0.98, 1},
		{1.5, 60, 0.98, 1},
	} {
		load := 8 * c.share
		halves := parallel(n, func(i int) [2]bool {
			r := placesRun(8, load, c.hold, uint64(i))
			g := r.filling(load)
			return [2]bool{!r.steady(load) || g.found, g.found}
		})
		var out, grew float64
		for _, h := range halves {
			if h[0] {
				out++
			}
			if h[1] {
				grew++
			}
		}
		out, grew = out/float64(n), grew/float64(n)
		t.Logf("%g of 8 places, %g s: %.3f left out, %.3f by their halves", c.share, c.hold, out, grew)
		if out < c.low || out > c.high {
			t.Errorf("%g of 8 places, %g s: %.3f left out, want %g to %g", c.share, c.hold, out, c.low, c.high)
		}
	}
}

func TestAnalyzeLeavesOutFillingLoads(t *testing.T) {
	plans := sheddingPlans(1000)
	plans[3].edit = func(i int, r *trace.Record) {
		if r.StartUnixNs%(1000*second) > 12*second {
			r.TEndUs = new(int64(60_000_000))
		}
	}
	a := analyze(t, plans, Options{Objectives: []Objective{{Metric: "error_rate", MaxShare: 0.1}}}, nil)
	if l := a.Levels[3]; !l.Judged || len(l.Flags) != 1 || l.Flags[0] != "not_steady" || len(l.Reasons) != 1 || !strings.Contains(l.Reasons[0], "in flight") {
		t.Errorf("level: %+v", l)
	}
	if low := a.LambdaSLO.Low; low == nil || *low != 40 {
		t.Errorf("the objective is proven to hold up to %v, want 40: the next load is not steady", low)
	}
}
