package analyzer

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

const second = int64(1e9)

// levelPlan is one level of a written run: n requests, of which the first
// failed are shed, then excluded are unsent.
type levelPlan struct {
	load      float64
	replicate int32
	n         int
	sheds     int
	errors    int
	excluded  int
	invalid   []string
	edit      func(i int, r *trace.Record)
}

// writeRun writes a run directory, with what else is to be beside the requests,
// and opens it again.
func writeRun(tb testing.TB, plans []levelPlan, edit func(*trace.Manifest), beside ...func(*tracedir.Writer)) *tracedir.Dir {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "run")
	m := &trace.Manifest{
		Version: "test", Origin: trace.OriginReplay, TimeBase: trace.TimeUnix, Clean: true,
		Seal: &trace.Seal{Mode: trace.ModeShape, Version: "test"},
		Run:  &trace.Run{Loop: "open", Scaling: "superpose", HoldNs: 10 * second, Validity: trace.Validity{Verdict: trace.Valid}},
	}
	if edit != nil {
		edit(m)
	}
	w, err := tracedir.Create(path, m, tracedir.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	var levels []trace.Level
	rng := rand.New(rand.NewPCG(1, 1))
	for i, plan := range plans {
		levels = append(levels, writeLevel(tb, w, plan, int32(i), rng))
	}
	for _, write := range beside {
		write(w)
	}
	if err := w.SetLevels(levels); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	d, err := tracedir.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func writeLevel(tb testing.TB, w *tracedir.Writer, p levelPlan, index int32, rng *rand.Rand) trace.Level {
	tb.Helper()
	window := int64(float64(p.n) / p.load * 1e9)
	begin := int64(index) * 1000 * second
	l := trace.Level{
		Index: index, Order: index, Replicate: p.replicate, OfferedPerS: p.load, AchievedPerS: p.load,
		BeginUnixNs: begin, StartUnixNs: begin + 2*second, EndUnixNs: begin + 2*second + window,
		Scheduled: int64(p.n), Outcomes: map[trace.Outcome]int64{}, Invalid: p.invalid,
	}
	warm := testRecord(index, p.n, p)
	warm.StartUnixNs = begin
	if err := w.Write(warm); err != nil {
		tb.Fatal(err)
	}
	order := rng.Perm(p.n)
	for i := range p.n {
		r := testRecord(index, i, p)
		r.StartUnixNs = l.StartUnixNs + window*int64(order[i])/int64(p.n)
		if p.edit != nil {
			p.edit(i, r)
		}
		l.Outcomes[r.Outcome]++
		if err := w.Write(r); err != nil {
			tb.Fatal(err)
		}
	}
	return l
}

func testRecord(level int32, i int, p levelPlan) *trace.Record {
	r := new(trace.Record)
	r.RequestID = fmt.Sprintf("%d-%d", level, i)
	r.Level = &level
	r.SampledWeight = 1
	r.TSentUs = new(int64(0))
	switch {
	case i < p.sheds:
		r.SetOutcome(trace.OutcomeHTTPError, "")
		r.StatusCode = new(int32(429))
		r.TEndUs = new(int64(2000))
	case i < p.sheds+p.errors:
		r.SetOutcome(trace.OutcomeHTTPError, "")
		r.StatusCode = new(int32(500))
		r.TEndUs = new(int64(2000))
	case i < p.sheds+p.errors+p.excluded:
		r.SetOutcome(trace.OutcomeHTTPError, "")
		r.StatusCode = new(int32(400))
	default:
		r.SetOutcome(trace.OutcomeOK, "")
		r.StatusCode = new(int32(200))
		r.TFirstTokenUs = new(int64(100_000 + i%1000))
		r.TEndUs = new(int64(1_100_000))
		r.OutputTokens = new(int64(10))
	}
	return r
}

// shedding is a run on a server of capacity 50/s with 1 % errors of its own.
func sheddingPlans(n int) []levelPlan {
	var plans []levelPlan
	for load := 20.0; load <= 100; load += 10 {
		shed := int(float64(n) * max(0, 1-50/load))
		plans = append(plans, levelPlan{load: load, n: n, sheds: shed, errors: (n - shed) / 100})
	}
	return plans
}

// levelAt is a level of one load, 8 s long.
func levelAt(load float64) trace.Level {
	return trace.Level{OfferedPerS: load, StartUnixNs: 0, EndUnixNs: 8 * second}
}
