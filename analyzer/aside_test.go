package analyzer

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// What lies beside the requests is read, joined and judged.
func TestAnalyzeAside(t *testing.T) {
	var plans []levelPlan
	for i, load := range []float64{10, 10, 20, 20, 30, 30, 40, 40} {
		plans = append(plans, levelPlan{load: load, n: 1500, replicate: int32(i % 2), edit: func(j int, r *trace.Record) {
			score := 1.0
			if float64(j%100) < load/2 {
				score = 0
			}
			r.InputTokens, r.ConnReused = new(int64(100)), new(true)
			r.Features = &trace.Features{RequestID: r.RequestID, ProbeID: new(fmt.Sprint(j % 1400)), ProbeScore: &score}
			if r.Outcome != trace.OutcomeOK {
				r.Features.ProbeScore = nil
			}
		}})
	}
	beside := func(w *tracedir.Writer) {
		// Levels begin every 1,000 s; the last has its window from 7,002 s on.
		if err := w.SetMarks([]trace.Mark{mark("spike", 7_004, 7_006)}); err != nil {
			t.Fatal(err)
		}
		for at := int64(7_002); at < 7_030; at++ {
			for metric, v := range map[string]float64{trace.MetricOOMKills: 0, trace.MetricCPUUtilization: 0.2} {
				if err := w.WriteSample(&trace.Sample{AtUnixNs: at * second, Source: trace.SampleHost, Metric: metric, Value: &v}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	a, err := Analyze(writeRun(t, plans, nil, beside), Options{Objectives: []Objective{{Metric: "ttft_user", Quantile: 0.99, Max: time.Second}}})
	if err != nil {
		t.Fatal(err)
	}
	quality := a.Inflections[0]
	checkInflection(t, "accuracy", quality, Found, true, "accuracy falls by 15 points")
	if math.Abs(*quality.Effect.Point+15) > 0.5 {
		t.Errorf("a fall of %g points, want 15", *quality.Effect.Point)
	}
	checkInflection(t, "memory", a.Inflections[1], NotFound, false, "no out-of-memory event")
	checkInflection(t, "tail", a.Inflections[2], Insufficient, false, "3 against 3")
	if a.Recovery == nil || len(a.Recovery.Faults) != 1 || *a.Recovery.Faults[0].OfferedPerS != 40 {
		t.Errorf("recovery: %+v", a.Recovery)
	}
	i := slices.IndexFunc(a.Windows.Targets, func(x Target) bool { return x.Name == "wrong_answers" })
	if w := a.Windows.Targets[i]; w.State != Breach || len(w.Loads) != 4 {
		t.Errorf("wrong answers: %+v", w)
	}
}

// An answer that has as many tokens as were asked for, which a replay does by the
// recording, is not one that was cut for want of context.
func TestCutAnswers(t *testing.T) {
	for _, row := range []struct {
		reason string
		asked  *int32
		want   TargetState
	}{{"length", new(int32(10)), Within}, {"length", new(int32(4000)), Breach}, {"length", nil, Breach}, {"stop", nil, Within}} {
		edit := func(_ int, r *trace.Record) { r.FinishReasons, r.MaxTokens = []string{row.reason}, row.asked }
		got := targetOf(t, groupLoads(runsOf(t, []levelPlan{{load: 10, n: 600, edit: edit}}), false), "truncation")
		if got.State != row.want {
			t.Errorf("%s: %+v, want %s", row.reason, got, row.want)
		}
	}
}

// runsOf writes a run directory and reads its runs.
func runsOf(t *testing.T, plans []levelPlan) []*run {
	t.Helper()
	d := writeRun(t, plans, nil)
	levels, err := readLevels(d)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := readRuns(d, levels, nil, new(aside))
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// Case 22: counters that restart count on from 0, and are told of; a counter of
// another instance has its own.
func TestServerCounters(t *testing.T) {
	beside := func(w *tracedir.Writer) {
		for metric, values := range map[string][]float64{
			trace.MetricServerPrefixHits: {1000, 1500, 40, 400}, trace.MetricServerPrefixAsked: {2000, 3000, 100, 1000},
		} {
			for i, v := range values {
				s := trace.Sample{AtUnixNs: int64(3+i) * second, Source: trace.SampleServer, Instance: "a", Metric: metric, Value: &v}
				if err := w.WriteSample(&s); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	levels := analyzed(t, []levelPlan{{load: 10, n: 100}, {load: 20, n: 100}}, beside).Levels
	if l := levels[0]; l.PrefixHitShare == nil || *l.PrefixHitShare != 0.45 || !slices.Contains(l.Flags, "server_restarted") {
		t.Errorf("hits of 10/s: %+v, %v, want 900 of 2000 and a restart", l.PrefixHitShare, l.Flags)
	}
	if l := levels[1]; l.PrefixHitShare != nil || slices.Contains(l.Flags, "server_restarted") {
		t.Errorf("20/s: %+v, %v", l.PrefixHitShare, l.Flags)
	}
}

// Telemetry of another clock is told of and finds nothing; so is a request whose
// features are there twice, and a score out of its range.
func TestAnalyzeStrangeAside(t *testing.T) {
	edit := func(i int, r *trace.Record) {
		r.RequestID = fmt.Sprint(i / 2)
		r.Features = &trace.Features{RequestID: r.RequestID, ProbeID: new("q"), ProbeScore: new(5.0)}
	}
	beside := func(w *tracedir.Writer) {
		if err := w.WriteSample(&trace.Sample{AtUnixNs: 1e18, Source: trace.SampleHost, Metric: trace.MetricOOMKills, Value: new(1.0)}); err != nil {
			t.Fatal(err)
		}
	}
	a := analyzed(t, []levelPlan{{load: 10, n: 100, edit: edit}, {load: 20, n: 100}}, beside)
	warnings := strings.Join(a.Warnings, "\n")
	for _, want := range []string{"features: 50 rows are of a request id that is there already", "another clock"} {
		if !strings.Contains(warnings, want) {
			t.Errorf("warnings without %q: %s", want, warnings)
		}
	}
}

// Readings that are null are none; a counter's rise, and its restart, is an event.
func TestTelemetry(t *testing.T) {
	var tel Telemetry
	tel.Add(&trace.Sample{AtUnixNs: 1, Metric: "m", Reason: new("not supported")})
	if tel.of("m") != nil {
		t.Error("a null is a reading")
	}
	for i, v := range []float64{0, 0, 1, 1, 3, 0, 2} {
		sampled(&tel, int64(10-i), "back", "", v) // out of order
		sampled(&tel, int64(i), "m", "", v)
	}
	var at []int64
	for _, r := range tel.one("m", "").rises() {
		at = append(at, r.at)
	}
	if !slices.Equal(at, []int64{2, 4, 6}) {
		t.Errorf("rises at %v", at)
	}
	if s := tel.one("back", ""); s.readings[0].at != 4 || s.readings[0].value != 2 {
		t.Errorf("not in order of time: %+v", s.readings)
	}
}
