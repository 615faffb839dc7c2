package analyzer

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

func analyze(t *testing.T, plans []levelPlan, o Options, edit func(*trace.Manifest)) *Analysis {
	t.Helper()
	a, err := Analyze(writeRun(t, plans, edit), o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAnalyzeShedding(t *testing.T) {
	peak := func(m *trace.Manifest) { m.Run.RecordedPeakPerS = new(40.0) }
	slo := Objective{Metric: "error_rate", MaxShare: 0.05}
	a := analyze(t, sheddingPlans(2000), Options{Version: "v", Objectives: []Objective{slo}}, peak)
	c := a.LambdaC
	if c.Verdict != Found || c.Point == nil || c.Low == nil || c.High == nil {
		t.Fatalf("lambda_c: %+v", c)
	}
	if *c.Low > 50 || *c.High < 50 || *c.High-*c.Low > 3 {
		t.Errorf("capacity in [%g, %g], want 50", *c.Low, *c.High)
	}
	if *c.Family != "shed" && *c.Family != "queue" {
		t.Errorf("family %s", *c.Family)
	}
	if !near(*c.Epsilon0, 0.01, 0.1) {
		t.Errorf("ε0 = %g, want 0.01", *c.Epsilon0)
	}
	if a.LambdaSLO.Verdict != Found || *a.LambdaSLO.Low != 50 || *a.LambdaSLO.High != 60 {
		t.Errorf("lambda_slo: %+v", a.LambdaSLO)
	}
	// The objective on the error rate counts the sheds and is no rival of theirs.
	if a.FirstToBreak == nil || a.FirstToBreak.Name != "sheds" {
		t.Errorf("first to break: %+v %s", a.FirstToBreak, a.FirstToBreakReason)
	}
	if a.Headroom.Share == nil || *a.Headroom.Share < 0.1 || *a.Headroom.Share > 0.25 {
		t.Errorf("head-room: %+v", a.Headroom)
	}
	if a.Validity.Verdict != trace.Valid {
		t.Errorf("validity: %+v", a.Validity)
	}
	if len(a.Levels) != 9 || len(a.Curve) == 0 || len(a.Families) != 8 {
		t.Errorf("%d levels, %d curve points, %d families", len(a.Levels), len(a.Curve), len(a.Families))
	}
}

func near(got, want, rel float64) bool { return got >= want*(1-rel) && got <= want*(1+rel) }

func TestAnalyzeFirstToBreak(t *testing.T) {
	a := analyze(t, sheddingPlans(2000), Options{}, nil)
	if a.FirstToBreak == nil || a.FirstToBreak.Name != "sheds" {
		t.Errorf("first to break: %+v %s", a.FirstToBreak, a.FirstToBreakReason)
	}
}

// A latency objective that breaks where the sheds begin is a rival.
func TestAnalyzeFirstToBreakOverlaps(t *testing.T) {
	plans := sheddingPlans(2000)
	for i := range plans {
		slow := plans[i].load > 50
		plans[i].edit = func(_ int, r *trace.Record) {
			if slow && r.TFirstTokenUs != nil {
				r.TFirstTokenUs = new(int64(2_000_000))
			}
		}
	}
	a := analyze(t, plans, Options{Objectives: []Objective{{Metric: "ttft_user", Quantile: 0.5, Max: time.Second}}}, nil)
	if a.FirstToBreak != nil || a.FirstToBreakReason != "the onsets of sheds and ttft_user p50 1s overlap" {
		t.Errorf("first to break: %+v %s", a.FirstToBreak, a.FirstToBreakReason)
	}
}

// A service that fails at one rate whatever the load has no transition to be
// found, however high that rate is.
func TestAnalyzeFailingThroughout(t *testing.T) {
	var plans []levelPlan
	for load := 20.0; load <= 100; load += 10 {
		plans = append(plans, levelPlan{load: load, n: 1000, errors: 300})
	}
	c := analyze(t, plans, Options{}, nil).LambdaC
	if c.Verdict != Insufficient || c.High != nil || c.NextPerS == nil || *c.NextPerS != 10 || !strings.Contains(c.Missing, "30.0 % fail already at 20/s") {
		t.Errorf("%+v", c)
	}
}

// The same service with a capacity: what fails below it is no overload.
func TestAnalyzeCapacityAboveManyErrors(t *testing.T) {
	plans := sheddingPlans(2000)
	for i := range plans {
		plans[i].errors = 3 * (plans[i].n - plans[i].sheds) / 10
	}
	c := analyze(t, plans, Options{}, nil).LambdaC
	if c.Verdict != Found || c.Low == nil || c.High == nil || *c.Low > 50 || *c.High < 50 || *c.Low < 40 {
		t.Errorf("%+v, want about 50", c)
	}
	if c.Epsilon0 == nil || !near(*c.Epsilon0, 0.3, 0.05) {
		t.Errorf("ε0 %v", c.Epsilon0)
	}
}

// Overloaded by every load: λc is below the first, by the spec's word.
func TestAnalyzeAllAboveTheCut(t *testing.T) {
	var plans []levelPlan
	for load := 80.0; load <= 200; load += 20 {
		plans = append(plans, levelPlan{load: load, n: 1000, sheds: int(1000 * (1 - 50/load))})
	}
	c := analyze(t, plans, Options{}, nil).LambdaC
	if c.Verdict != Found || c.Point != nil || c.High == nil || *c.High != 80 || *c.NextPerS != 40 {
		t.Errorf("%+v", c)
	}
}

// Overloaded by every load but below the cut at the first: one load cannot tell
// a base rate from sheds.
func TestAnalyzeAllAboveTheCapacity(t *testing.T) {
	var plans []levelPlan
	for load := 60.0; load <= 120; load += 10 {
		plans = append(plans, levelPlan{load: load, n: 1000, sheds: int(1000 * (1 - 50/load))})
	}
	c := analyze(t, plans, Options{}, nil).LambdaC
	if c.Verdict != Found || c.Point != nil || c.Epsilon0 != nil || c.Low == nil || *c.Low > 50 || c.High == nil || *c.High < 50 || *c.NextPerS != 30 {
		t.Errorf("%+v", c)
	}
}

// Requests that the client gave up at the end of the drain had waited longer
// than the objective: a service that hangs is not one that holds it.
func TestAnalyzeObjectiveOfHangingService(t *testing.T) {
	hang := func(r *trace.Record, afterToken bool) {
		r.SetOutcome(trace.OutcomeClientAbort, trace.DetailDrain)
		r.Stream, r.StatusCode, r.TEndUs = true, nil, nil
		if !afterToken {
			r.TFirstTokenUs = nil
		}
	}
	plans := func(hanging func(load float64, i int, r *trace.Record)) []levelPlan {
		var out []levelPlan
		for load := 10.0; load <= 50; load += 10 {
			out = append(out, levelPlan{load: load, n: 500, edit: func(i int, r *trace.Record) { r.Stream = true; hanging(load, i, r) }})
		}
		return out
	}
	drain := func(d time.Duration) func(*trace.Manifest) {
		return func(m *trace.Manifest) { m.Run.DrainNs = int64(d) }
	}
	o := Options{Objectives: []Objective{{Metric: "ttft_user", Quantile: 0.95, Max: 20 * time.Second}}}
	all := plans(func(load float64, _ int, r *trace.Record) {
		if load > 30 {
			hang(r, false)
		}
	})
	if got := analyze(t, all, o, drain(30*time.Second)).LambdaSLO; got.Verdict != Found || *got.Low != 30 || *got.High != 40 {
		t.Errorf("waited 30 s at least: %+v", got)
	}
	// A shorter wait says nothing of them.
	got := analyze(t, all, o, drain(time.Second)).LambdaSLO
	if got.Verdict != Insufficient || *got.Low != 30 || got.High != nil || !strings.Contains(got.Reason, "no sample of it at 40 and 50/s") {
		t.Errorf("waited 14 s at most: %+v", got)
	}
	// What they showed before they were given up counts as it is.
	quick := plans(func(load float64, i int, r *trace.Record) {
		if load > 30 && i%2 == 0 {
			hang(r, true)
		}
	})
	if got := analyze(t, quick, o, drain(30*time.Second)).LambdaSLO; got.Verdict != NotFound || *got.Low != 50 {
		t.Errorf("first tokens in time: %+v", got)
	}
}

func TestAnalyzeIsRepeatable(t *testing.T) {
	d := writeRun(t, sheddingPlans(300), nil)
	first, err := Analyze(d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := Analyze(d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("two analyses of one run differ:\n%s", diff)
	}
}

// Case 19 of the public record: 14,572 requests, 9,337 of them refused in 2 ms.
func TestAnalyzeFastFailures(t *testing.T) {
	slow := func(_ int, r *trace.Record) {
		if r.TFirstTokenUs != nil {
			r.TFirstTokenUs = new(int64(1_100_000))
		}
	}
	a := analyze(t, []levelPlan{{load: 100, n: 14572, sheds: 9337, edit: slow}}, Options{}, nil)
	l := a.Levels[0]
	if *l.TTFTUserUs.P50 != 1_100_000 || l.TTFTUserUs.N != 5235 {
		t.Errorf("p50 %g of n %d, want 1.1 s of 5,235", *l.TTFTUserUs.P50, l.TTFTUserUs.N)
	}
	if !near(*l.ErrorRate.Point, 0.641, 0.001) {
		t.Errorf("error rate %g, want 64.1 %%", *l.ErrorRate.Point)
	}
	if share := *l.GoodputPerS / l.OfferedPerS; share > 0.3595 {
		t.Errorf("goodput is %g of offered", share)
	}
	if diff := cmp.Diff([]string{"saturated", "under_half_answered"}, l.Flags); diff != "" {
		t.Error(diff)
	}
	if a.LambdaC.Verdict != Insufficient || a.LambdaC.Missing == "" {
		t.Errorf("lambda_c of one level: %+v", a.LambdaC)
	}
}

// Case 15: a time that was not measured is not 0.
func TestAnalyzeUnmeasuredTimes(t *testing.T) {
	edit := func(i int, r *trace.Record) {
		switch i {
		case 0: // usage but no content event
			r.TFirstTokenUs = nil
		case 1: // one token
			r.ChunkCount, r.OutputTokens = new(int32(1)), new(int64(1))
		case 2: // 8 tokens in one event
			r.ChunkCount, r.OutputTokens = new(int32(1)), new(int64(8))
		case 3:
			r.SetOutcome(trace.OutcomeHTTPError, "")
			r.StatusCode, r.TFirstTokenUs, r.OutputTokens = new(int32(503)), nil, nil
		default:
			r.ChunkCount = new(int32(10))
			r.TFirstTokenUs, r.TLastTokenUs = new(int64(100_000)), new(int64(280_000))
		}
	}
	tpot := Objective{Metric: "tpot", Quantile: 0.5, Max: 20 * time.Millisecond}
	d := writeRun(t, []levelPlan{{load: 1, n: 5, edit: edit}}, nil)
	levels, err := readLevels(d)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := readRuns(d, levels, []Objective{tpot}, new(aside))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(runs[0].ttft); n != 3 {
		t.Errorf("%d times to first token, want 3", n)
	}
	var tpots tally
	for _, b := range runs[0].misses[0] {
		tpots.k, tpots.n = tpots.k+b.k, tpots.n+b.n
	}
	if diff := cmp.Diff(tally{k: 0, n: 1}, tpots, cmp.AllowUnexported(tally{})); diff != "" {
		t.Errorf("TPOT is known of one request and is 20 ms there:\n%s", diff)
	}
}

// Case 18: an objective without a sample is not met.
func TestAnalyzeObjectiveWithoutSample(t *testing.T) {
	unstreamed := func(_ int, r *trace.Record) { r.TFirstTokenUs = nil }
	plans := sheddingPlans(200)
	for i := range plans {
		plans[i].edit = unstreamed
	}
	slo := Objective{Metric: "ttft_user", Quantile: 0.99, Max: 800 * time.Millisecond}
	a := analyze(t, plans, Options{Objectives: []Objective{slo}}, nil)
	if a.LambdaSLO.Verdict != Insufficient || !strings.Contains(a.LambdaSLO.Reason, "not streamed") {
		t.Errorf("lambda_slo: %+v", a.LambdaSLO)
	}
	if l := a.Levels[0].TTFTUserUs; l.P50 != nil || l.Reason == "" {
		t.Errorf("latency: %+v", l)
	}
	if g := a.Levels[0].GoodputPerS; g != nil {
		t.Errorf("goodput %g without a measured latency, want unknown", *g)
	}
}

// An answer that was not streamed has no first token: it is no miss of an
// objective on it, and the level says so.
func TestGoodputOfMixedAnswers(t *testing.T) {
	plans := sheddingPlans(200)
	for i := range plans {
		plans[i].edit = func(i int, r *trace.Record) {
			if i%3 == 0 {
				r.TFirstTokenUs = nil
			}
		}
	}
	slo := Objective{Metric: "ttft_user", Quantile: 0.99, Max: time.Hour}
	with := analyze(t, plans, Options{Objectives: []Objective{slo}}, nil).Levels[0]
	without := analyze(t, plans, Options{}, nil).Levels[0]
	if *with.GoodputPerS != *without.GoodputPerS {
		t.Errorf("goodput %g with an objective that nothing misses, %g without", *with.GoodputPerS, *without.GoodputPerS)
	}
	if !slices.Contains(with.Flags, "goodput_not_all_measured") || slices.Contains(without.Flags, "goodput_not_all_measured") {
		t.Errorf("flags %v and %v", with.Flags, without.Flags)
	}
}

func TestAnalyzeLeavesOutWhatSaysNothing(t *testing.T) {
	plans := sheddingPlans(500)
	plans[1].excluded = 20
	plans[2].edit = func(i int, r *trace.Record) {
		if i >= 400 {
			r.Faults = []string{"slow"}
		}
	}
	plans[3].invalid = []string{"lag p99 above 5 ms"}
	plans[4].edit = func(i int, r *trace.Record) {
		if i >= 490 {
			r.SetOutcome(trace.OutcomeNotSent, trace.DetailCap)
			r.StatusCode, r.TFirstTokenUs = nil, nil
		}
	}
	a := analyze(t, plans, Options{}, nil)
	if l := a.Levels[1]; l.Excluded != 20 || l.N != 480 || l.Requests != 500 {
		t.Errorf("excluded: %+v", l)
	}
	if l := a.Levels[2]; l.Faulted != 100 || l.N != 400 || !l.Judged {
		t.Errorf("faulted: %+v", l)
	}
	if l := a.Levels[3]; l.Judged || len(l.Reasons) != 1 || l.N != 500 {
		t.Errorf("invalid: %+v", l)
	}
	if l := a.Levels[4]; l.Judged || !strings.Contains(l.Reasons[0], "load generator") {
		t.Errorf("lost by us: %+v", l)
	}
	if a.Validity.Verdict != trace.Valid || len(a.Validity.Reasons) != 2 {
		t.Errorf("validity: %+v", a.Validity)
	}
}

func TestAnalyzeVerdicts(t *testing.T) {
	flat := func(n, errors int) []levelPlan {
		var plans []levelPlan
		for load := 10.0; load <= 80; load += 10 {
			plans = append(plans, levelPlan{load: load, n: n, errors: errors})
		}
		return plans
	}
	tests := []struct {
		name    string
		plans   []levelPlan
		verdict Verdict
		says    string
	}{
		{"no error at all", flat(200, 0), Insufficient, "raise the load"},
		{"too few errors", append(flat(200, 0)[:7], levelPlan{load: 80, n: 200, errors: 3}), Insufficient, "more requests"},
		{"four loads", flat(200, 2)[:4], Insufficient, "1 more, about 200 requests"},
		{"five loads once", flat(200, 2)[:5], Insufficient, "5 runs can be judged, 6 are needed"},
		{"flat", flat(500, 10), NotFound, "would have been found with 80 % power"},
		{"all saturated", sheddingPlans(500)[5:], Insufficient, "4 loads"},
		{"clean, then errors", append(flat(1000, 0), levelPlan{load: 90, n: 1000, errors: 20}, levelPlan{load: 100, n: 1000, errors: 90}), Found, "no failure was seen below"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := analyze(t, test.plans, Options{}, nil).LambdaC
			if c.Verdict != test.verdict || !strings.Contains(c.Missing+c.Reason, test.says) {
				t.Errorf("%s: missing %q, reason %q; want %s saying %q", c.Verdict, c.Missing, c.Reason, test.verdict, test.says)
			}
		})
	}
}

func TestAnalyzeBelowFirstLoad(t *testing.T) {
	var plans []levelPlan
	for load := 100.0; load <= 200; load += 20 {
		plans = append(plans, levelPlan{load: load, n: 1000, sheds: int(1000 * (1 - 50/load))})
	}
	c := analyze(t, plans, Options{}, nil).LambdaC
	if c.Verdict != Found || c.Low != nil || c.High == nil || *c.High != 100 || c.NextPerS == nil {
		t.Errorf("lambda_c: %+v", c)
	}
	if !strings.Contains(c.Reason, "extrapolated") {
		t.Errorf("reason %q", c.Reason)
	}
}

func TestAnalyzeClosedLoop(t *testing.T) {
	plans := sheddingPlans(1000)
	d := writeRun(t, plans, func(m *trace.Manifest) { m.Run.Loop = "closed" })
	a, err := Analyze(d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Families {
		if capacity := f.Family == "shed" || f.Family == "queue" || f.Family == "step"; f.Allowed == capacity {
			t.Errorf("closed loop: %s allowed = %v", f.Family, f.Allowed)
		}
	}
	if f := a.LambdaC.Family; f != nil && *f == "shed" {
		t.Error("1 − c/λ was published for a load that is a number in flight")
	}
}

func TestAnalyzeDrift(t *testing.T) {
	var plans []levelPlan
	for replicate := range int32(4) {
		for _, load := range []float64{10, 20, 30, 40, 50} {
			plans = append(plans, levelPlan{load: load, n: 500, replicate: replicate, errors: 5 + 15*int(replicate)})
		}
	}
	a := analyze(t, plans, Options{}, nil)
	if a.LambdaC.Verdict != Insufficient || !strings.Contains(a.LambdaC.Missing, "drifted") {
		t.Errorf("lambda_c: %+v", a.LambdaC)
	}
}

func TestAnalyzeRefusesTraces(t *testing.T) {
	_, err := Analyze(writeRun(t, sheddingPlans(10), func(m *trace.Manifest) { m.Run = nil }), Options{})
	if !errors.Is(err, ErrNoRun) || !strings.Contains(err.Error(), "replay it first") {
		t.Errorf("error %v", err)
	}
}

func TestAnalysisJSONHasItsNames(t *testing.T) {
	data, err := json.Marshal(analyze(t, sheddingPlans(300), Options{Version: "v"}, nil))
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"schema", "version", "warnings", "validity", "levels", "lambda_c", "lambda_slo", "inflections", "first_to_break",
		"headroom", "regimes", "usl", "entropy", "steady_state", "windows", "recovery", "tenants", "stalls", "stability",
	} {
		if _, ok := doc[name]; !ok {
			t.Errorf("analysis.json has no %q", name)
		}
	}
	slo := doc["lambda_slo"].(map[string]any)
	if slo["slo"] != nil || slo["reason"] == "" {
		t.Errorf("lambda_slo without an objective: %v", slo)
	}
}

func BenchmarkAnalyze(b *testing.B) {
	var plans []levelPlan
	for replicate := range int32(3) {
		for i := range 16 {
			load := 20 + 5*float64(i)
			shed := int(5000*max(0, 1-60/load)) + int(replicate)*7
			plans = append(plans, levelPlan{load: load, replicate: replicate, n: 5000, sheds: shed, errors: 50 - int(replicate)})
		}
	}
	d := writeRun(b, plans, nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Analyze(d, Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(240_000*float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}
