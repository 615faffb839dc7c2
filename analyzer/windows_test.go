package analyzer

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

// watchedLoads are the lowest load, of ten minutes, and another of as many
// minutes, each with so many answers a minute.
func watchedLoads(perMinute int, minutes int64, baseline, latency func() float64) []*load {
	var out []*load
	for i, seconds := range []int64{600, 60 * minutes} {
		r := newRun(trace.Level{OfferedPerS: float64(i + 1), StartUnixNs: 0, EndUnixNs: seconds * second}, deadlines{}, nil)
		us := baseline
		if i == 1 {
			us = latency
		}
		n := perMinute * int(seconds) / 60
		for k := range n {
			r.answers = append(r.answers, Answer{StartUnixNs: seconds * second * int64(k) / int64(n), LatencyUs: int64(us())})
		}
		out = append(out, &load{perS: float64(i + 1), judged: []*run{r}, all: []*run{r}})
	}
	return out
}

// targetOf is one target of a set of loads.
func targetOf(t *testing.T, loads []*load, name string) Target {
	t.Helper()
	for _, target := range windowsOf(loads).Targets {
		if target.Name == name {
			return target
		}
	}
	t.Fatalf("no target %s", name)
	return Target{}
}

// False alarms of a P99 shift, of windows in which nothing changed.
func TestCalibrateWindows(t *testing.T) {
	n := scale(10, 100)
	for _, c := range []struct {
		name string
		draw func(*rand.Rand) float64
	}{
		{"lognormal", func(r *rand.Rand) float64 { return 50e3 * math.Exp(0.8*r.NormFloat64()) }},
		{"Pareto", func(r *rand.Rand) float64 { return 50e3 * math.Pow(1-r.Float64(), -1/2.5) }},
	} {
		for _, perMinute := range []int{60, 300, 1200} {
			windows, alarms, found := 0, 0, 0
			for seed := range n {
				rng := rand.New(rand.NewPCG(uint64(seed), uint64(perMinute)))
				draw := func() float64 { return c.draw(rng) }
				l := targetOf(t, watchedLoads(perMinute, 60, draw, draw), "p99_shift").Loads[1]
				windows, alarms = windows+l.Windows, alarms+l.Breached+l.Indicated
				slow := func() float64 { return 3 * c.draw(rng) }
				if targetOf(t, watchedLoads(perMinute, 10, draw, slow), "p99_shift").Loads[1].State != Within {
					found++
				}
			}
			share := float64(alarms) / float64(windows)
			t.Logf("%s, %d a minute: %d of %d windows alarmed; three times as slow is seen in %d of %d runs", c.name, perMinute, alarms, windows, found, n)
			if share > 0.01+2.5*math.Sqrt(0.01/float64(windows)) {
				t.Errorf("%s, %d a minute: %.2f %% false alarms, want at most 1 %%", c.name, perMinute, 100*share)
			}
			if perMinute >= 300 && float64(found) < 0.9*float64(n) {
				t.Errorf("%s, %d a minute: three times as slow is seen in %d of %d", c.name, perMinute, found, n)
			}
		}
	}
}

func TestWindows(t *testing.T) {
	even := func(us float64) func() float64 {
		i := 0
		return func() float64 { i++; return us * (1 + float64(i%100)/100) }
	}
	cutEvery := func(n int) func(*run) {
		return func(r *run) {
			for i := range r.answers {
				r.answers[i].Cut = i%n == 0
			}
		}
	}
	probes := func(wrongEvery int) func(*run) {
		return func(r *run) {
			for i := range 300 {
				score := 1.0
				if i%wrongEvery == 0 {
					score = 0
				}
				r.probes = append(r.probes, Probe{StartUnixNs: int64(i) * second, Score: &score})
			}
		}
	}
	rows := []struct {
		name, target string
		low, high    func(*run)
		us           float64
		want         TargetState
	}{
		{"no change", "p99_shift", nil, nil, 50e3, Within},
		{"twice as slow", "p99_shift", nil, nil, 100e3, Breach},
		{"a quarter slower", "p99_shift", nil, nil, 62e3, Within},
		{"P95 of 1 s", "p95_latency", nil, nil, 520e3, Breach},
		{"P95 of 0.1 s", "p95_latency", nil, nil, 50e3, Within},
		{"one of 20 cut", "truncation", cutEvery(20), cutEvery(20), 50e3, Within},
		{"a quarter cut", "truncation", cutEvery(1000), cutEvery(4), 50e3, Breach},
		{"no probe", "wrong_answers", nil, nil, 50e3, TooFew},
		{"wrong as before", "wrong_answers", probes(10), probes(10), 50e3, Within},
		{"half wrong", "wrong_answers", probes(10), probes(2), 50e3, Breach},
		{"10 points more: not by 8 for certain", "wrong_answers", probes(10), probes(5), 50e3, BreachIndicated},
		{"no tokens", "token_shift", nil, nil, 50e3, TooFew},
	}
	for _, row := range rows {
		loads := watchedLoads(300, 6, even(50e3), even(row.us))
		if row.low != nil {
			row.low(loads[0].judged[0])
			row.high(loads[1].judged[0])
		}
		got := targetOf(t, loads, row.target)
		if got.State != row.want {
			t.Errorf("%s: %+v, want %s", row.name, got, row.want)
		}
		if got.State == TooFew && got.Missing == "" {
			t.Errorf("%s: insufficient without what is missing", row.name)
		}
	}
	if got := windowsOf(nil); len(got.Targets) != 5 || got.BaselinePerS != nil {
		t.Errorf("no load: %+v", got)
	}
}

// Windows are lengthened until they hold enough, and cover a run once.
func TestWindowsCover(t *testing.T) {
	w := slowP95()
	for _, row := range []struct {
		n       int
		seconds int64
		want    int
	}{{1200, 240, 4}, {1200, 90, 1}, {400, 240, 2}, {199, 240, 0}, {250, 600, 1}, {700, 14, 1}} {
		r := newRun(trace.Level{EndUnixNs: row.seconds * second}, deadlines{}, nil)
		for i := range row.n {
			r.answers = append(r.answers, Answer{StartUnixNs: row.seconds * second * int64(i) / int64(row.n)})
		}
		got, n := w.cut(r), 0
		for _, at := range got {
			n += len(at.events)
		}
		if len(got) != row.want || row.want > 0 && n != row.n {
			t.Errorf("%d in %d s: %d windows with %d, want %d", row.n, row.seconds, len(got), n, row.want)
		}
	}
}
