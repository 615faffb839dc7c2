package twin

import (
	"context"
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
	got, err := FindTruth(t.Context(), TruthConfig{Params: p, Seed: 1, Version: "v", Mix: &mix, Loads: []float64{20}})
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
	if _, err := FindTruth(t.Context(), TruthConfig{Params: DemoParams(1), Mix: &Mix{}}); !errors.Is(err, ErrEmptyMix) {
		t.Errorf("empty mix: %v", err)
	}
	if _, err := FindTruth(t.Context(), TruthConfig{}); err == nil {
		t.Error("zero parameters were taken")
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := FindTruth(stopped, TruthConfig{Params: DemoParams(1)}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	if _, err := ErrorCurve(DemoParams(1), BuiltinMix(1).Jobs, []float64{0}, 1); err == nil {
		t.Error("load 0 was taken")
	}
}

// Prompts that fill the memory wait long, and looking each of them up in every
// step would make one number cost minutes: the work is bounded all the same.
func TestWorkOfLongPromptsIsBounded(t *testing.T) {
	mix := Mix{}
	for i := range 40 {
		j := Job{InputTokens: 1000 + 3000*i, OutputTokens: 200}
		for b := range j.InputTokens / BlockTokens {
			j.Blocks = append(j.Blocks, int64(i*10_000+b))
		}
		mix.Jobs = append(mix.Jobs, j)
	}
	v, err := newVirtual(DefaultParams(), mix.Jobs, 1)
	if err != nil {
		t.Fatal(err)
	}
	got := v.capacity(capacityRelErr)
	if v.work() > 3*workLimit {
		t.Errorf("work of %d for one number, limit %d", v.work(), workLimit)
	}
	if got.N < batches*leastPerBatch || !(got.Value > 0) || !(got.StdErr > 0) || got.StdErr > 0.1*got.Value {
		t.Errorf("capacity %+v", got)
	}
}
