package replayer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/trace"
)

// describe is the plan, as the manifest says it.
func (r *run) describe() trace.Run {
	return trace.Run{
		TraceID: r.trace.Manifest.TraceID, Target: r.target.Scheme + "://" + r.target.Host, Seed: r.cfg.Seed,
		Loop: loopOf(r.cfg), Sessions: string(r.cfg.Sessions), Scaling: string(r.cfg.Scaling),
		RecordedPerS: r.timeline.recordedPerS(), RecordedPeakPerS: r.timeline.peak,
		HoldNs: int64(r.cfg.Hold), WarmupNs: int64(r.cfg.Warmup), DrainNs: int64(r.cfg.Drain),
		FirstTokenNs: int64(r.cfg.Timeouts.FirstToken), IdleNs: int64(r.cfg.Timeouts.Idle), TotalNs: int64(r.cfg.Timeouts.Total),
		Replicates: int32(r.cfg.Replicates),
		Cache:      string(r.cfg.Cache), Knobs: r.knobs(), Shard: r.cfg.Shard.String(),
		Validity: trace.Validity{Verdict: trace.Invalid, Reasons: []string{"not finished: the replay is still running, or it was killed"}},
	}
}

func loopOf(c *Config) string {
	if c.closed() {
		return "closed"
	}
	return "open"
}

// knobs names each departure from the recording.
func (r *run) knobs() []string {
	cfg, n := r.cfg, len(r.recs)
	knobs := []string{promptKnob(r.recs, r.trace.Manifest.Seal), "max_tokens=recorded", "warmup_prompts=disjoint", "policy_in_flight=" + string(cfg.CapPolicy)}
	if cfg.MaxLag != defaultMaxLag {
		knobs = append(knobs, fmt.Sprintf("max_lag=%v", cfg.MaxLag))
	}
	if cfg.MaxCost > 0 {
		knobs = append(knobs, cfg.costKnob())
	}
	if cfg.Connections != ConnReuse {
		knobs = append(knobs, "connections="+string(cfg.Connections))
	}
	if cfg.CatchUp != CatchUpBurst {
		knobs = append(knobs, "catch_up="+string(cfg.CatchUp))
	}
	if cfg.MaxConns > 0 {
		knobs = append(knobs, fmt.Sprintf("max_connections=%d", cfg.MaxConns))
	}
	if cfg.TokenIDs {
		knobs = append(knobs, "prompts of completions=token ids")
	}
	if cfg.HTTP2 {
		knobs = append(knobs, "http=2")
	}
	knobs = append(knobs, cfg.faultKnobs()...)
	if len(cfg.KeepHeaders) > 0 {
		knobs = append(knobs, "keep_headers="+strings.Join(cfg.KeepHeaders, ","))
	}
	if cfg.Model != "" {
		knobs = append(knobs, "model="+cfg.Model)
	}
	if n := r.turns.followers(); n > 0 {
		knobs = append(knobs, fmt.Sprintf("sessions=%s: %d of %d requests follow another", cfg.Sessions, n, len(r.recs)))
	}
	if n := r.cancels(); n > 0 {
		knobs = append(knobs, fmt.Sprintf("cancels=%s: %d of %d recorded clients gave up", onOff(!cfg.NoCancels), n, len(r.recs)))
	}
	if r.quality != nil {
		knobs = append(knobs, r.quality.knob())
	}
	if r.features != nil {
		knobs = append(knobs, r.features.knob())
	}
	if cfg.IgnoreEOS {
		knobs = append(knobs, "ignore_eos")
	}
	if cfg.Scaling == Resample {
		cv := cfg.CV
		if cfg.Even {
			cv = 0
		}
		knobs = append(knobs, fmt.Sprintf("gap_cv=%g", cv))
	} else if d := r.timeline.length; d < cfg.Hold+cfg.Warmup {
		knobs = append(knobs, fmt.Sprintf("cycled: the trace of %v is shorter than warm-up and hold", d))
	}
	if n := r.timeline.shortened; n > 0 {
		knobs = append(knobs, fmt.Sprintf("max_idle=%v: %d gaps shortened by %v in all; without them the trace has %.4g/s, not %.4g/s",
			cfg.MaxIdle, n, r.timeline.idle.Round(time.Millisecond), r.timeline.perS(), r.timeline.recordedPerS()))
	}
	if cfg.Ramp > 0 {
		knobs = append(knobs, fmt.Sprintf("ramp=%v", cfg.Ramp))
	}
	if cfg.NoSpread {
		knobs = append(knobs, "arrivals on the grid of the recording's clock")
	}
	if r.timeline.spread > 0 {
		knobs = append(knobs, fmt.Sprintf("arrivals spread inside the recording's clock of %v", r.timeline.spread))
	}
	count := func(format string, k int) {
		if k > 0 {
			knobs = append(knobs, fmt.Sprintf(format, k, n))
		}
	}
	count("input_tokens=estimated from bytes for %d of %d", r.guessedInputs)
	count("max_tokens=estimated for %d of %d", r.guessedOutputs)
	count("tool messages sent as user messages in %d of %d", r.toolRequests)
	count("model="+defaultModel+" for %d of %d that name none", r.namelessModels)
	return append(knobs, r.leftOut...)
}

// survey counts what the trace does not tell.
func (r *run) survey() {
	for _, rec := range r.recs {
		if rec.InputTokens == nil || *rec.InputTokens <= 0 {
			r.guessedInputs++
		}
		if _, guessed := r.prompts.ledger.outputTokens(rec); guessed && rec.APIKind != trace.KindOpenAIEmbeddings {
			r.guessedOutputs++
		}
		if slices.ContainsFunc(rec.Messages, func(m trace.Message) bool { return m.Role == trace.RoleTool }) {
			r.toolRequests++
		}
		if r.cfg.Model == "" && modelOf(rec) == "" {
			r.namelessModels++
		}
	}
}

// replayable returns the exchanges that can be sent again, and what was left
// out.
func replayable(recs []*trace.Record) (kept []*trace.Record, leftOut []string) {
	can := make(map[trace.APIKind]bool)
	out := make(map[string]int)
	for _, r := range recs {
		if _, seen := can[r.APIKind]; !seen {
			can[r.APIKind] = buildable(r.APIKind)
		}
		switch {
		case !can[r.APIKind]:
			out["api_kind "+string(r.APIKind)]++
		case r.OutcomeDetail != nil && *r.OutcomeDetail == trace.DetailLateJoin:
			out["request not seen (late_join)"]++
		default:
			kept = append(kept, r)
		}
	}
	for why, n := range out {
		leftOut = append(leftOut, fmt.Sprintf("left out: %d of %d, %s", n, len(recs), why))
	}
	slices.SortFunc(leftOut, strings.Compare)
	return kept, leftOut
}

// buildable reports whether requests of a kind can be made from a shape.
func buildable(kind trace.APIKind) bool {
	if kind == trace.KindOther || kind == "" {
		return false
	}
	_, body, err := llmwire.Build(llmwire.Spec{Kind: kind, Model: defaultModel, Messages: []llmwire.Message{{Role: trace.RoleUser, Text: "a"}}})
	return err == nil && len(body) > 0
}
