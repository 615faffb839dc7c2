package analyzer

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lambdac/lambdac/trace"
)

var slowSLO = Objective{Metric: "ttft_user", Quantile: 0.99, Max: 120 * time.Millisecond}

// faulted is a run of 300 s whose fault ends at 100 s; latency says how long an
// answer takes that is due at a second.
func faulted(perS int, latency func(at float64) float64) []*load {
	level := trace.Level{OfferedPerS: float64(perS), EndUnixNs: 300 * second}
	r := newRun(level, deadlines{}, []Objective{slowSLO})
	r.watched = true
	for i := range 300 * perS {
		at := float64(i) / float64(perS)
		w := row{judgedColumns: judgedColumns{StartUnixNs: int64(at * 1e9), Outcome: trace.OutcomeOK}}
		w.TFirstTokenUs = new(int64(1e6 * latency(at)))
		r.see(&w, []Objective{slowSLO})
	}
	return []*load{{perS: float64(perS), judged: []*run{r}, all: []*run{r}}}
}

func mark(name string, from, to int64) trace.Mark {
	return trace.Mark{ID: name, Name: name, Kind: "delay", StartUnixNs: from * second, EndUnixNs: to * second}
}

func TestRecovery(t *testing.T) {
	slowUntil := func(end float64) func(float64) float64 {
		return func(at float64) float64 {
			if at > 90 && at < end {
				return 0.18
			}
			return 0.05
		}
	}
	rows := []struct {
		name     string
		perS     int
		latency  func(float64) float64
		mark     trace.Mark
		seconds  float64
		censored bool
		unknown  bool
	}{
		{"18 s", 20, slowUntil(118), mark("a", 90, 100), 18, false, false},
		{"at once", 20, slowUntil(100), mark("a", 90, 100), 0, false, false},
		{"one request a second", 1, slowUntil(118), mark("a", 90, 100), 17, false, false}, // 1 of 60 may miss
		{"one slow answer in 200 is met", 20, func(at float64) float64 {
			if math.Mod(at, 10) < 0.04 {
				return 0.5
			}
			return slowUntil(118)(at)
		}, mark("a", 90, 100), 18, false, false},
		{"never", 20, func(at float64) float64 { return 0.05 + at/100 }, mark("a", 90, 100), 140, true, false},
		{"relapse after 30 s", 20, func(at float64) float64 {
			if at > 130 && at < 140 {
				return 0.5
			}
			return slowUntil(110)(at)
		}, mark("a", 90, 100), 40, false, false},
		{"the level ends too soon", 20, slowUntil(118), mark("a", 240, 250), 0, false, true},
		{"outside of every level", 20, slowUntil(118), mark("a", 400, 410), 0, false, true},
	}
	for _, row := range rows {
		got := recoveryOf(faulted(row.perS, row.latency), []trace.Mark{row.mark}, []Objective{slowSLO}).Faults[0]
		switch {
		case row.unknown:
			if got.Seconds != nil || got.Missing == "" {
				t.Errorf("%s: %+v", row.name, got)
			}
		case got.Seconds == nil || *got.Seconds != row.seconds || got.Censored != row.censored:
			t.Errorf("%s: %+v, want %g s, censored %v", row.name, got, row.seconds, row.censored)
		}
	}
	if got := recoveryOf(nil, nil, nil); got != nil {
		t.Errorf("without faults: %+v", got)
	}
	if got := recoveryOf(nil, []trace.Mark{mark("a", 1, 2)}, nil); got.Verdict != Insufficient || got.Missing == "" {
		t.Errorf("without objective: %+v", got)
	}
}

// A server that stood still for d seconds with arrivals of rate λ has worked off
// its backlog after λd ÷ (μ − λ) on average. Each experiment is judged by when its
// own queue was empty, for the arrivals of one differ: the backlog and what comes
// on top of it while it is worked off have a standard deviation of √(λ·50 s) = 63
// requests, or 3.2 s at a net rate of 20/s.
func TestRecoveryOfBacklog(t *testing.T) {
	const mu, lambda, stood = 100.0, 80.0, 10.0
	var all Recovery
	patient := Objective{Metric: "ttft_user", Quantile: 0.99, Max: 400 * time.Millisecond}
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 3))
		free, now, emptied := 0.0, 0.0, 0.0
		r := newRun(trace.Level{OfferedPerS: lambda, EndUnixNs: 300 * second}, deadlines{}, []Objective{patient})
		r.watched = true
		for now < 300 {
			now += rng.ExpFloat64() / lambda
			if emptied == 0 && now > 90+stood && free <= now {
				emptied = free - 90 - stood
			}
			begin := max(now, free)
			if begin > 90 && begin < 90+stood {
				begin = 90 + stood
			}
			free = begin + 1/mu
			w := row{judgedColumns: judgedColumns{StartUnixNs: int64(now * 1e9), Outcome: trace.OutcomeOK}}
			w.TFirstTokenUs = new(int64(1e6 * (free - now)))
			r.see(&w, []Objective{patient})
		}
		loads := []*load{{perS: lambda, judged: []*run{r}, all: []*run{r}}}
		got := recoveryOf(loads, []trace.Mark{mark("stop", 90, 100)}, []Objective{patient})
		if s := got.Faults[0].Seconds; s == nil || math.Abs(*s-emptied) > 0.1*emptied || got.Verdict != Found || *got.Medians[0].Seconds != *s {
			t.Errorf("seed %d: %+v, the queue was empty after %.1f s", seed, got.Faults[0], emptied)
		} else {
			t.Logf("seed %d: %g s, the queue was empty after %.1f s", seed, *s, emptied)
		}
		all.Faults = append(all.Faults, got.Faults...)
	}
	all.medians()
	want := lambda * stood / (mu - lambda)
	if m := all.Medians[0]; m.Seconds == nil || math.Abs(*m.Seconds-want) > 0.1*want || m.Recovered != 10 {
		t.Errorf("median %+v, backlog ÷ (μ − λ) = %g s", m, want)
	} else {
		t.Logf("median %g s, backlog ÷ (μ − λ) = %g s", *m.Seconds, want)
	}
}
