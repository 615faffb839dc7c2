package twin

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestValidate(t *testing.T) {
	if err := DefaultParams().Validate(); err != nil {
		t.Errorf("default: %v", err)
	}
	for seed := range uint64(20) {
		if err := DemoParams(seed).Validate(); err != nil {
			t.Errorf("demo %d: %v", seed, err)
		}
	}
	tests := []struct {
		field string
		spoil func(*Params)
	}{
		{"step_fixed", func(p *Params) { p.StepFixed = -1 }},
		{"step_fixed", func(p *Params) { p.StepFixed, p.PerSequence = 0, 0 }},
		{"per_prefill_token", func(p *Params) { p.PerPrefillToken = 2 * time.Second }},
		{"per_sequence", func(p *Params) { p.PerSequence = -1 }},
		{"token_budget", func(p *Params) { p.TokenBudget = p.MaxRunning - 1 }},
		{"max_running", func(p *Params) { p.MaxRunning = 0 }},
		{"max_queue", func(p *Params) { p.MaxQueue = -2 }},
		{"shed_status", func(p *Params) { p.ShedStatus = 500 }},
		{"retry_after", func(p *Params) { p.RetryAfter = -1 }},
		{"error_rate", func(p *Params) { p.ErrorRate = 1 }},
		{"wrong_rate", func(p *Params) { p.WrongRate = -0.1 }},
		{"pathologies", func(p *Params) { p.Pathologies = []string{KVFragmentation, MemoryExhaustion} }},
		{"kv_blocks", func(p *Params) { p.KVBlocks = 0 }},
		{"max_context", func(p *Params) { p.MaxContext = -1 }},
		{"cache_blocks", func(p *Params) { p.CacheBlocks = p.KVBlocks + 1 }},
		{"retain_ratio", func(p *Params) { p.RetainRatio = 0 }},
		{"eviction", func(p *Params) { p.Eviction = "random" }},
	}
	for _, tt := range tests {
		p := DefaultParams()
		tt.spoil(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), "parameter "+tt.field+" is") {
			t.Errorf("%s out of range: error %v does not name it", tt.field, err)
		}
		if _, err := New(p, 1); err == nil {
			t.Errorf("New took parameters with %s out of range", tt.field)
		}
	}
}

// TestDemoPreset holds the demo to what it is made for: a capacity from 100
// to 150/s, another for each seed, base errors alone at half load, and few
// sheds below the capacity.
func TestDemoPreset(t *testing.T) {
	mix := BuiltinMix(1).Jobs
	seen := map[int]bool{}
	for seed := range uint64(10) {
		got := roughCapacity(t, DemoParams(seed), mix)
		if got < 0.98*demoSlowest || got > 1.02*demoFastest {
			t.Errorf("seed %d: capacity %.1f/s, want 100 to 150", seed, got)
		}
		seen[int(got)] = true
	}
	if len(seen) < 8 {
		t.Errorf("ten seeds have only %d capacities", len(seen))
	}
	p := DemoParams(1)
	capacity := roughCapacity(t, p, mix)
	half, near := pointAt(t, p, mix, 0.5*capacity), pointAt(t, p, mix, 0.9*capacity)
	if half.ShedRate > 0.001 || math.Abs(half.ErrorRate-p.ErrorRate) > 0.001 {
		t.Errorf("at half the capacity %.4f fail, %.4f are shed: want %v, 0", half.ErrorRate, half.ShedRate, p.ErrorRate)
	}
	if near.ShedRate < 0.01 || near.ShedRate > 0.06 {
		t.Errorf("at 0.9 of the capacity %.3f are shed: want 0.01 to 0.06", near.ShedRate)
	}
}
