package twin

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestFindTruth(t *testing.T) {
	mix := BuiltinMix(1)
	mix.Jobs = append(mix.Jobs, Job{InputTokens: 1 << 30, OutputTokens: 1})
	mix.Estimated = 2
	p := DemoParams(1)
	got, err := FindTruth(TruthConfig{Params: p, Seed: 1, Version: "v", Mix: &mix, Loads: []float64{20}})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Warnings) != 2 || !strings.Contains(got.Warnings[0], "context") || !strings.Contains(got.Warnings[1], "estimated") {
		t.Errorf("warnings %q", got.Warnings)
	}
	raw, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"schema", "version", "warnings", "capacity_per_s", "error_curve", "parameters", "seed"} {
		if doc[key] == nil {
			t.Errorf("the document lacks %q", key)
		}
	}
	if doc["schema"] != TruthSchema || len(got.ErrorCurve) != 1 {
		t.Errorf("schema %v, %d points", doc["schema"], len(got.ErrorCurve))
	}
}

func TestTruthRefuses(t *testing.T) {
	if _, err := FindTruth(TruthConfig{Params: DemoParams(1), Mix: &Mix{}}); !errors.Is(err, ErrEmptyMix) {
		t.Errorf("empty mix: %v", err)
	}
	if _, err := FindTruth(TruthConfig{}); err == nil {
		t.Error("zero parameters were taken")
	}
	if _, err := ErrorCurve(DemoParams(1), BuiltinMix(1).Jobs, []float64{0}, 1); err == nil {
		t.Error("load 0 was taken")
	}
}
