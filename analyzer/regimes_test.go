package analyzer

import "testing"

func TestAnalyzeRegimes(t *testing.T) {
	r := analyze(t, sheddingPlans(2000), Options{}, nil).Regimes
	if r.Verdict != Found || r.Sub == nil || r.Super == nil || r.Sub.HighPerS > 50 || r.Super.LowPerS < 50 || r.Super.HighPerS != 100 {
		t.Fatalf("%+v", r)
	}
	// Below: 1 %; above, at 60 to 100/s of a capacity of 50/s: a third.
	if e := r.ErrorRatio; e.Point == nil || !near(*e.Point, 35, 0.1) || *e.Low < 20 || *e.High > 60 || *e.Low > *e.Point {
		t.Errorf("%+v", e)
	}
	if r.Sub.TTFTUserUs.P99 == nil || r.Super.TTFTUserUs.P99 == nil {
		t.Errorf("latencies: %+v %+v", r.Sub.TTFTUserUs, r.Super.TTFTUserUs)
	}
	// Nothing was found: nothing is split.
	var flat []levelPlan
	for load := 10.0; load <= 80; load += 10 {
		flat = append(flat, levelPlan{load: load, n: 500, errors: 10})
	}
	if r := analyze(t, flat, Options{}, nil).Regimes; r.Verdict != Insufficient || r.Sub != nil || r.Reason == "" {
		t.Errorf("%+v", r)
	}
}
