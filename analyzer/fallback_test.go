package analyzer

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// struckPlans are two loads of 500 requests each, of which every fifth is hit by
// the fault "empty". The first fell of those fall back, say why, and are answered
// 35 ms later; the base differs by load.
func struckPlans(fell int) []levelPlan {
	var plans []levelPlan
	for i, load := range []float64{50, 100} {
		base := int64(100_000 * (i + 1))
		plans = append(plans, levelPlan{load: load, n: 500, edit: func(k int, r *trace.Record) {
			r.TFirstTokenUs = new(base + int64(k%7)*1000)
			r.RespHeaders = map[string]string{"content-type": "text/event-stream"}
			if k%5 != 0 {
				return
			}
			r.Faults = []string{"empty"}
			if k/5 < fell {
				*r.TFirstTokenUs += 35_000
				r.RespHeaders["x-fallback"] = "nothing found"
			}
		}})
	}
	return plans
}

func keeping(m *trace.Manifest) {
	m.Run.Knobs = []string{"keep_headers=X-Fallback", "fault=retrieval.empty"}
}

// TestFallback: 97 of 100 a load fall back: 97 % with Clopper and Pearson's
// interval of 194 of 200, 0.9358 to 0.9889 (R 4.2: binom.test(194, 200)), 35 ms
// later than others, whatever the load.
func TestFallback(t *testing.T) {
	scores := func(w *tracedir.Writer) {
		for i := range 500 {
			score := 1.0
			if i%10 == 0 { // half of those that the fault fell on
				score = 0
			}
			f := &trace.Features{RequestID: fmt.Sprintf("0-%d", i), ProbeID: new("q"), ProbeScore: &score}
			if err := w.WriteFeatures(f); err != nil {
				t.Error(err)
			}
		}
	}
	a, err := Analyze(writeRun(t, struckPlans(97), keeping, scores), Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := a.Fallback
	if f == nil || f.Verdict != Found || f.Header != "x-fallback" || f.Missing != "" || len(f.Faults) != 1 {
		t.Fatalf("%+v", f)
	}
	got := f.Faults[0]
	if got.Name != "empty" || got.Verdict != Found || got.Requests != 200 || got.Answered != 200 || got.Errors != 0 {
		t.Errorf("%+v", got)
	}
	if !cmp.Equal(got.Reasons, map[string]int64{"nothing found": 194}) {
		t.Errorf("reasons %v", got.Reasons)
	}
	if !nearShare(got.FellBack, 0.97, 0.9358, 0.9889) {
		t.Errorf("share %v %v %v", *got.FellBack.Point, *got.FellBack.Low, *got.FellBack.High)
	}
	if d := got.Delay; d.Unit != "ms" || math.Abs(*d.Point-35) > 0.5 || *d.Low > 35 || *d.High < 35 || *d.High-*d.Low > 2 {
		t.Errorf("delay %v %v %v", *d.Point, *d.Low, *d.High)
	}
	if acc := got.Accuracy; math.Abs(*acc.Point-0.5) > 1e-9 || *f.Others.Accuracy.Point != 1 {
		t.Errorf("accuracy %v, of the others %v", *acc.Point, *f.Others.Accuracy.Point)
	}
	// 0 of 800: the upper end is 1 - 0.025^(1/800).
	if o := f.Others; o.Requests != 800 || !nearShare(o.FellBack, 0, 0, 1-math.Pow(0.025, 1.0/800)) {
		t.Errorf("others %+v", o)
	}
}

func nearShare(p Proportion, point, low, high float64) bool {
	return p.Point != nil && math.Abs(*p.Point-point) < 1e-4 && math.Abs(*p.Low-low) < 1e-4 && math.Abs(*p.High-high) < 1e-4
}

// TestFallbackVerdicts: what the data do not tell is named.
func TestFallbackVerdicts(t *testing.T) {
	for _, tt := range []struct {
		name    string
		plans   []levelPlan
		edit    func(*trace.Manifest)
		verdict Verdict // "" = nothing is said
		missing string
	}{
		{"never", struckPlans(0)[:1], keeping, Insufficient, "a header field such as X-Fallback"},
		{"rarely", struckPlans(1), keeping, NotFound, ""},
		{"sometimes", func() []levelPlan { p := struckPlans(4)[:1]; p[0].n = 100; return p }(), keeping, Found, ""},
		{"faults of another program", func() []levelPlan {
			p := struckPlans(97)
			edit := p[0].edit
			p[0].edit = func(i int, r *trace.Record) { edit(i, r); r.Faults = nil }
			return p[:1]
		}(), keeping, Insufficient, "the run injected none itself"},
		{"no fault, no field", sheddingPlans(100), nil, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := analyze(t, tt.plans, Options{}, tt.edit).Fallback
			if f == nil {
				if tt.verdict != "" {
					t.Errorf("nothing, want %s", tt.verdict)
				}
				return
			}
			if f.Verdict != tt.verdict || !strings.Contains(f.Missing, tt.missing) || (f.Missing == "") != (tt.missing == "") {
				t.Errorf("%s, missing %q; %+v", f.Verdict, f.Missing, f)
			}
		})
	}
}
