package trace

// Mark is a window in which something was done to the service: a fault of our
// own, or one that another engine injected and we imported.
type Mark struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	StartUnixNs int64  `json:"start_unix_ns"`
	EndUnixNs   int64  `json:"end_unix_ns"`
	// Level is the level it belongs to; nil = the whole run.
	Level *int32 `json:"level,omitempty"`
	// Effect says whether the fault was seen to bite.
	Effect MarkEffect `json:"effect"`
}

// MarkEffect says whether a fault was seen to bite.
type MarkEffect string

const (
	EffectSeen    MarkEffect = "seen"
	EffectNotSeen MarkEffect = "not_seen"
	EffectUnknown MarkEffect = "unknown"
)
