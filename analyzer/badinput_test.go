package analyzer

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// Runs whose rows are not what a load generator should have written, with the
// verdict on the capacity and what is said of it.
func TestAnalyzeStrangeRuns(t *testing.T) {
	edited := func(edit func(i int, r *trace.Record)) []levelPlan {
		plans := sheddingPlans(1000)
		for i := range plans {
			plans[i].edit = edit
		}
		return plans
	}
	plans := func(load func(i int) float64, errors int) []levelPlan {
		var out []levelPlan
		for i := range 8 {
			out = append(out, levelPlan{load: load(i), n: 200, errors: errors})
		}
		return out
	}
	rising := func(i int) float64 { return float64(10 * (i + 1)) }
	tpot := []Objective{{Metric: "tpot", Quantile: 0.5, Max: time.Hour}}
	tests := []struct {
		name     string
		plans    []levelPlan
		manifest func(*trace.Manifest)
		verdict  Verdict
		says     string
	}{
		{"one level", plans(rising, 2)[:1], nil, Insufficient, "1 load can be judged, 5 are needed"},
		{"all errors", plans(rising, 200), nil, Insufficient, "100.0 % fail already at 10/s"},
		{"no errors", plans(rising, 0), nil, Insufficient, "no failure in 1600 requests"},
		{"equal loads", plans(func(int) float64 { return 10 }, 2), nil, Insufficient, "1 load can be judged, 5 are needed"},
		{"negative times", edited(func(_ int, r *trace.Record) {
			if r.TFirstTokenUs != nil {
				r.TFirstTokenUs = new(int64(-5))
			}
		}), nil, Found, ""},
		{"a tenth of the tokens unknown", edited(func(i int, r *trace.Record) {
			if i%10 == 0 {
				r.OutputTokens, r.InputTokens = nil, nil
			}
		}), nil, Found, ""},
		{"no token known", edited(func(_ int, r *trace.Record) { r.OutputTokens, r.InputTokens = nil, nil }), nil, Found, ""},
		{"ids twice", edited(func(_ int, r *trace.Record) { r.RequestID = "same" }), nil, Found, ""},
		{"marked invalid", sheddingPlans(1000), func(m *trace.Manifest) {
			m.Run.Validity = trace.Validity{Verdict: trace.Invalid, Reasons: []string{"sent late"}}
		}, Insufficient, "0 loads can be judged"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := analyze(t, test.plans, Options{Objectives: tpot}, test.manifest)
			c := a.LambdaC
			if said := c.Missing + c.Reason; c.Verdict != test.verdict || !strings.Contains(said, test.says) || c.Verdict == Insufficient && said == "" {
				t.Errorf("%s, missing %q, reason %q; want %s, %q", c.Verdict, c.Missing, c.Reason, test.verdict, test.says)
			}
			for _, l := range a.Levels {
				if p := l.TTFTUserUs.P50; p != nil && *p < 0 {
					t.Errorf("%g/s: a negative time to first token, %g µs", l.OfferedPerS, *p)
				}
			}
			if len(a.Levels) == 0 {
				t.Error("no level is shown")
			}
			if _, err := json.Marshal(a); err != nil {
				t.Error(err)
			}
		})
	}
}
