package trace

import (
	"errors"
	"fmt"
)

// ManifestSchema is the value of Manifest.Schema.
const ManifestSchema = "lambdac.manifest/v1"

// ErrUnsanitized reports a directory without a sanitizer's seal: it was not
// made by lambdac, or not to its end, and nothing may read text from it.
var ErrUnsanitized = errors.New("trace is not sealed by a sanitizer")

// Manifest is manifest.json: what a trace or run directory is.
type Manifest struct {
	Schema string `json:"schema"`
	// Version is the version of the tool.
	Version string `json:"version"`
	// SchemaVersion is that of the Parquet schema.
	SchemaVersion int `json:"schema_version"`
	// TraceID is random; no clock is in it.
	TraceID string `json:"trace_id"`
	Origin  Origin `json:"origin"`
	// TimeBase says what *_unix_ns counts from.
	TimeBase TimeBase `json:"time_base"`
	// Seal is the sanitizer's. A run carries its trace's seal.
	Seal *Seal `json:"seal"`
	// Semconv is the version of the OpenTelemetry GenAI conventions that the
	// names follow.
	Semconv string `json:"semconv"`
	// Clean: the recording or replay ended by its own end or a clean stop.
	Clean bool `json:"clean"`
	// Losses are the totals of the capture table.
	Losses LossTotals `json:"losses"`
	// NullReasons says why a column is NULL where no column says it.
	NullReasons map[string]string `json:"null_reasons,omitempty"`
	// CapturedTargets are hashes of the hosts that were captured; a replay
	// against one of them is refused.
	CapturedTargets []TargetHash `json:"captured_targets,omitempty"`
	// Source describes an import.
	Source *Source `json:"source,omitempty"`
	// Run is set in run directories.
	Run *Run `json:"run,omitempty"`
	// Warnings are doubts about the trace or run; none = empty, never null.
	Warnings []string `json:"warnings"`
}

// TimeBase says what nanosecond times count from.
type TimeBase string

const (
	// TimeUnix: nanoseconds since the Unix epoch.
	TimeUnix TimeBase = "unix"
	// TimeRelative: nanoseconds since the trace's first arrival.
	TimeRelative TimeBase = "relative"
)

// Seal is the sanitizer's word that the trace went through it.
type Seal struct {
	Mode       Mode   `json:"mode"`
	Version    string `json:"version"`
	PolicyHash string `json:"policy_hash,omitempty"`
	// Earlier names the modes and policies that the trace was sealed in before
	// it was sanitized again, the oldest first.
	Earlier []string `json:"earlier,omitempty"`
}

// Source says where an import comes from.
type Source struct {
	Format  string `json:"format"`
	File    string `json:"file"`
	SHA256  string `json:"sha256"`
	License string `json:"license,omitempty"`
	// Rows read and rows refused.
	Rows    int64 `json:"rows"`
	Refused int64 `json:"refused"`
}

// Run is what a replay did: the plan, and whether its numbers can be used.
type Run struct {
	// TraceID is that of the trace replayed.
	TraceID string `json:"trace_id"`
	// Target is the URL's scheme, host and port.
	Target string `json:"target"`
	Seed   uint64 `json:"seed"`
	// Loop is open or closed; Scaling is one of superpose, thin, compress,
	// resample. One scaling per run: a fit never mixes them.
	Loop string `json:"loop"`
	// Sessions is when turns of a conversation were due: causal, strict or
	// closed.
	Sessions string `json:"sessions,omitempty"`
	Scaling  string `json:"scaling"`
	// RecordedPerS is the trace's mean rate; RecordedPeakPerS its highest rate
	// over one minute, nil where the trace is shorter.
	RecordedPerS     float64  `json:"recorded_per_s"`
	RecordedPeakPerS *float64 `json:"recorded_peak_per_s"`
	HoldNs           int64    `json:"hold_ns"`
	WarmupNs         int64    `json:"warmup_ns"`
	// DrainNs is how long answers might take after a window. FirstTokenNs,
	// IdleNs and TotalNs are the client's deadlines of one request, 0 = none:
	// to the first token, between bytes, for the whole.
	DrainNs      int64 `json:"drain_ns"`
	FirstTokenNs int64 `json:"first_token_ns,omitempty"`
	IdleNs       int64 `json:"idle_ns,omitempty"`
	TotalNs      int64 `json:"total_ns,omitempty"`
	Replicates   int32 `json:"replicates"`
	// Cache is the state of the prefix cache: cold, primed, as_trace.
	Cache string `json:"cache"`
	// Knobs are declared departures from the recording, such as
	// "max_tokens=recorded".
	Knobs []string `json:"knobs,omitempty"`
	// Shard is "i/N".
	Shard string `json:"shard,omitempty"`
	// Prompts compares intended and reported prompt tokens, per model.
	Prompts []PromptFit `json:"prompts,omitempty"`
	// Validity is the verdict over all levels.
	Validity Validity `json:"validity"`
}

// PromptFit compares the prompt tokens that a replay meant to send with those
// the service reported, over the first answers of one model.
type PromptFit struct {
	Model string `json:"model"`
	// N is the number of answers compared.
	N int64 `json:"n"`
	// MedianError is the median of |reported − intended| ÷ intended.
	MedianError float64 `json:"median_error"`
	// Scale is the factor that was applied to later prompts; 1 = none.
	Scale float64 `json:"scale"`
}

// Validity says whether a run's numbers may be used.
type Validity struct {
	// Verdict is "valid" or "invalid".
	Verdict string   `json:"verdict"`
	Reasons []string `json:"reasons,omitempty"`
}

// Valid and Invalid are the values of Validity.Verdict.
const (
	Valid   = "valid"
	Invalid = "invalid"
)

// CheckSeal returns an error that matches [ErrUnsanitized] where the manifest
// has no seal.
func (m *Manifest) CheckSeal() error {
	if m.Seal == nil || m.Seal.Mode == "" || m.Seal.Version == "" {
		return fmt.Errorf("manifest of trace %q: %w", m.TraceID, ErrUnsanitized)
	}
	return nil
}
