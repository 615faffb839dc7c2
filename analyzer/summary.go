package analyzer

// SummarySchema is the value of Summary.Schema.
const SummarySchema = "lambdac.summary/v1"

// Summary is what `record` and `show` print of a trace or run directory.
type Summary struct {
	Schema   string   `json:"schema"`
	Version  string   `json:"version"`
	Warnings []string `json:"warnings"`

	Exchanges   int64            `json:"exchanges"`
	Outcomes    map[string]int64 `json:"outcomes"`
	APIKinds    map[string]int64 `json:"api_kinds"`
	FirstUnixNs *int64           `json:"first_unix_ns"`
	LastUnixNs  *int64           `json:"last_unix_ns"`
	// TimeBase says what *_unix_ns counts from: unix or relative.
	TimeBase string           `json:"time_base"`
	Bytes    SummaryBytes     `json:"bytes"`
	Losses   map[string]int64 `json:"losses"`
	Unpaired int64            `json:"unpaired"`
	Sealed   bool             `json:"sealed"`
	// Sanitizer is nil where the directory has no seal.
	Sanitizer *SummarySanitizer `json:"sanitizer"`

	// Marks is the number of fault windows of a run.
	Marks int64 `json:"marks"`

	Rates    Rates            `json:"rates"`
	Tokens   Tokens           `json:"tokens"`
	Models   map[string]int64 `json:"models"`
	Sessions Sessions         `json:"sessions"`
	Prefix   PrefixSharing    `json:"prefix"`
}

// SummaryBytes are the bytes of the capture: of TCP's payload, or, in a run,
// of the bodies.
type SummaryBytes struct {
	// Wire is what crossed the wire, Captured the part that was seen, Lost the
	// rest: wire = captured + lost. What was seen and not understood is in
	// Captured; it stands among the losses as "blind:REASON".
	Wire     *int64 `json:"wire"`
	Captured *int64 `json:"captured"`
	Lost     *int64 `json:"lost"`
	// Reason says why they are nil.
	Reason string `json:"reason,omitempty"`
}

// SummarySanitizer is the seal.
type SummarySanitizer struct {
	Mode       string `json:"mode"`
	Version    string `json:"version"`
	PolicyHash string `json:"policy_hash"`
}

// Rates are arrivals per second.
type Rates struct {
	// SpanS is last less first arrival, seconds; MeanPerS is (n − 1) ÷ span.
	SpanS    float64  `json:"span_s"`
	MeanPerS *float64 `json:"mean_per_s"`
	// Busiest are the busiest 1-minute windows on the grid of minutes since
	// the first arrival, most requests first; empty where the trace is shorter.
	Busiest []BusyWindow `json:"busiest"`
	// GapCV is the coefficient of variation of the gaps between arrivals: 1
	// for a Poisson stream, above for bursts.
	GapCV *float64 `json:"gap_cv"`
	// Stationary says whether the rate holds over the trace: "yes", "no",
	// "unknown".
	Stationary string `json:"stationary"`
	// Reason says why a field is nil or doubtful.
	Reason string `json:"reason,omitempty"`
}

// BusyWindow is one minute.
type BusyWindow struct {
	StartUnixNs int64   `json:"start_unix_ns"`
	Requests    int64   `json:"requests"`
	PerS        float64 `json:"per_s"`
}

// Tokens are the lengths in tokens.
type Tokens struct {
	Input  Lengths `json:"input"`
	Output Lengths `json:"output"`
	// Sources counts exchanges by who counted their tokens.
	Sources map[string]int64 `json:"sources"`
}

// Lengths are quantiles of a length; nil where N = 0.
type Lengths struct {
	N    int64    `json:"n"`
	Mean *float64 `json:"mean"`
	P50  *float64 `json:"p50"`
	P90  *float64 `json:"p90"`
	P99  *float64 `json:"p99"`
	Max  *float64 `json:"max"`
}

// Sessions counts conversations.
type Sessions struct {
	Sessions int64 `json:"sessions"`
	// InSession is the number of exchanges that belong to one.
	InSession int64 `json:"in_session"`
	Tenants   int64 `json:"tenants"`
}

// PrefixSharing says how much of the prompts was seen before.
type PrefixSharing struct {
	// Blocks is the number of prefix blocks; SeenShare the share of them whose
	// id had appeared in an earlier exchange; nil where no block is known.
	Blocks    int64    `json:"blocks"`
	SeenShare *float64 `json:"seen_share"`
	// CachedShare is the share of the prompt tokens that usage says came from a
	// cache, of exchanges whose usage tells; nil where none does.
	CachedShare *float64 `json:"cached_share"`
	BlockSize   *int32   `json:"block_size"`
	BlockUnit   *string  `json:"block_unit"`
}
