package experiment

// The values of File.APIVersion and File.Kind.
const (
	APIVersion = "lambdac/v1"
	Kind       = "Experiment"
)

// Document is an experiment file. Durations are written as 90s or 20m, shares
// as 5% or 0.05, counts as 2000 or 20M, rates as 12/s.
type Document struct {
	// APIVersion is lambdac/v1.
	APIVersion string `json:"apiVersion"`
	// Kind is Experiment.
	Kind     string   `json:"kind"`
	Metadata Metadata `json:"metadata"`
	Spec     Spec     `json:"spec"`
}

// Metadata says which experiment it is.
type Metadata struct {
	// Name is made of a-z, 0-9, - and _; the run is written to runs/NAME where
	// no other place is given.
	Name string `json:"name"`
}

// Spec is the experiment.
type Spec struct {
	Trace  Trace  `json:"trace"`
	Target Target `json:"target"`
	Load   Load   `json:"load"`
	// Sessions says when turns of a conversation are due: causal, strict or
	// closed.
	Sessions string `json:"sessions,omitempty"`
	// Cancels says whether answers that the recorded client gave up on are given
	// up at the same token; they are where nothing is said.
	Cancels *bool `json:"cancels,omitempty"`
	// Cache says how prompts relate across levels: as_trace, cold or primed.
	Cache string `json:"cache,omitempty"`
	// Faults are injected, each with name, layer, type, share, window, target
	// and what its type takes.
	Faults    []map[string]any `json:"faults,omitempty"`
	Telemetry *Telemetry       `json:"telemetry,omitempty"`
	// Probes are questions with known answers, mixed in: builtin. ProbeShare is
	// their share of all requests, above 0 to 50% (default 5%).
	Probes     string `json:"probes,omitempty"`
	ProbeShare string `json:"probeShare,omitempty" schema:"number,string"`
	// Objectives are limits that the run is judged by.
	Objectives []Objective `json:"objectives,omitempty"`
	Stop       Stop        `json:"stop,omitzero"`
	// Baseline is a run that this one is compared with.
	Baseline *Baseline `json:"baseline,omitempty"`

	// Control replays a second trace after the first, at the same loads.
	Control *Control `json:"control,omitempty"`

	// Arms, Expect, Retry and Schedule are reserved: not yet.
	Arms     any `json:"arms,omitempty"`
	Expect   any `json:"expect,omitempty"`
	Retry    any `json:"retry,omitempty"`
	Schedule any `json:"schedule,omitempty"`
}

// Control is the arm that tells what is due to the content and the order of the
// recorded traffic.
type Control struct {
	// Synthetic makes its trace: the rate and the token lengths of the recorded
	// one, with Poisson arrivals, no conversation and no shared prefix. The limits
	// of stop hold for each arm by itself.
	Synthetic bool `json:"synthetic"`
}

// Trace is what is replayed.
type Trace struct {
	// Path is a trace directory, as seen from the folder in which the program
	// runs.
	Path string `json:"path"`
	// Select keeps the exchanges that match: "api_kind = 'openai.chat' and stream
	// = true".
	Select string `json:"select,omitempty"`
}

// Target is the service under test.
type Target struct {
	// URL is the base URL, without credentials.
	URL string `json:"url"`
	// HeadersFromEnv gives header fields by the names of the environment
	// variables that hold their values.
	HeadersFromEnv map[string]string `json:"headersFromEnv,omitempty"`
	// Model is asked for instead of the recorded one.
	Model string `json:"model,omitempty"`
	// HTTP2 sends over HTTP/2.
	HTTP2 bool `json:"http2,omitempty"`
	// CA is a PEM file of the authority of an https target's certificate.
	CA string `json:"ca,omitempty"`
	// AllowProduction permits a target that was captured in the trace.
	AllowProduction bool `json:"allowProduction,omitempty"`
	// KeepHeaders are fields of answers that the run keeps, such as one that says
	// that the service fell back.
	KeepHeaders []string `json:"keepHeaders,omitempty"`
	// Connections are reuse, fresh or recorded; MaxConnections is the most that
	// are open at once. HTTP/1 only.
	Connections    string `json:"connections,omitempty"`
	MaxConnections int    `json:"maxConnections,omitempty"`
	// TokenIDs sends prompts of /v1/completions as ids of tokens.
	TokenIDs bool `json:"tokenIDs,omitempty"`
	// IgnoreEOS asks the service to generate up to the recorded length.
	IgnoreEOS bool `json:"ignoreEOS,omitempty"`
}

// Load says which loads are held, and how. Exactly one of Rate, Levels, Scale,
// Concurrency and Search is given.
type Load struct {
	// Mode is open (requests go out when they are due, however slow the answers)
	// or closed (one goes out when another has ended); it follows from the loads
	// where it is left out.
	Mode string `json:"mode,omitempty"`
	// Scaling is superpose, thin, compress or resample.
	Scaling string `json:"scaling,omitempty"`
	// Arrivals are drawn instead of recorded: constant, poisson, or gamma:CV with
	// the coefficient of variation of the gaps. NoSpread keeps recorded ones on
	// the grid of the recording's clock.
	Arrivals string `json:"arrivals,omitempty"`
	NoSpread bool   `json:"noSpread,omitempty"`
	// Rate is one load, requests per second.
	Rate float64 `json:"rate,omitempty"`
	// Levels are loads, requests per second; Scale are multiples of the recorded
	// rate.
	Levels []float64 `json:"levels,omitempty"`
	Scale  []float64 `json:"scale,omitempty"`
	// Concurrency are loads of a closed loop: numbers of requests in flight.
	Concurrency []int   `json:"concurrency,omitempty"`
	Search      *Search `json:"search,omitempty"`
	// Hold is the measured time of each level (default 60s), Warmup the time of
	// the same load before it (default 10s), Drain how long answers may take
	// after it, Ramp the part of the warm-up in which the load rises.
	Hold   string `json:"hold,omitempty"`
	Warmup string `json:"warmup,omitempty"`
	Drain  string `json:"drain,omitempty"`
	Ramp   string `json:"ramp,omitempty"`
	// MaxIdle shortens gaps of the trace above it.
	MaxIdle string `json:"maxIdle,omitempty"`
	// Replicates is how often each load is held.
	Replicates int `json:"replicates,omitempty"`
	// Seed decides order, phases, thinning, prompts, and all resampling of the
	// analysis (default 1).
	Seed *uint64 `json:"seed,omitempty"`
	// OnCap says what happens at stop.maxInFlight: drop or queue.
	OnCap string `json:"onCap,omitempty"`
	// CatchUp says what becomes of requests that are overdue because this client
	// was stalled: burst, smooth or drop.
	CatchUp string `json:"catchUp,omitempty"`
}

// Search chooses the loads from what each level shows.
type Search struct {
	// From and To bound the loads: multiples of the recorded rate, such as 0.5,
	// or rates, such as 20/s.
	From string `json:"from" schema:"number,string"`
	To   string `json:"to" schema:"number,string"`
	// Budget is the time that the levels may take in all.
	Budget string `json:"budget,omitempty"`
	// MaxLevels is the most levels.
	MaxLevels int `json:"maxLevels,omitempty"`
	// Objective is searched instead of λc, such as "error_rate 1%" or "ttft_user
	// p99 800ms".
	Objective string `json:"objective,omitempty"`
	// Replicates is how often each load is held at least.
	Replicates int `json:"replicates,omitempty"`
}

// Telemetry is what is sampled beside the load.
type Telemetry struct {
	// Host samples this machine: of use where the service runs on it.
	Host bool `json:"host,omitempty"`
	// GPU is auto (sampled where this machine has one), on or off; auto where Host
	// is set and nothing is said.
	GPU string `json:"gpu,omitempty"`
	// Server is a URL of metrics in Prometheus' text form; Servers are several.
	Server  string   `json:"server,omitempty"`
	Servers []string `json:"servers,omitempty"`
}

// Objective is a limit.
type Objective struct {
	// Metric is a latency metric, error_rate, shed_rate, lambda_c or lambda_slo.
	Metric string `json:"metric"`
	// Quantile in (0, 1), of latency metrics.
	Quantile float64 `json:"quantile,omitempty"`
	// Max is the highest good value of latencies and rates of requests; Min the
	// lowest good load of lambda_c and lambda_slo.
	Max string `json:"max,omitempty" schema:"number,string"`
	Min string `json:"min,omitempty" schema:"number,string"`
}

// Stop says when a run ends early, and what it may use at most.
type Stop struct {
	// ErrorRate ends the run, such as "50% over 30s"; off = no share does.
	ErrorRate string `json:"errorRate,omitempty"`
	// MaxInFlight is the client's own limit of open requests.
	MaxInFlight int `json:"maxInFlight,omitempty"`
	// MaxTokens bounds prompts and answers.
	MaxTokens string `json:"maxTokens,omitempty" schema:"number,string"`
	// MaxCost bounds what they cost at InputPrice and OutputPrice, which are per
	// million tokens.
	MaxCost     float64 `json:"maxCost,omitempty"`
	InputPrice  float64 `json:"inputPrice,omitempty"`
	OutputPrice float64 `json:"outputPrice,omitempty"`
	// MaxRate refuses loads above it, requests per second.
	MaxRate float64 `json:"maxRate,omitempty"`
	// MaxLag bounds the 99th percentile of the client's own delay.
	MaxLag string `json:"maxLag,omitempty"`
	// FirstToken, Idle and Total are deadlines of one request.
	FirstToken string `json:"firstToken,omitempty"`
	Idle       string `json:"idle,omitempty"`
	Total      string `json:"total,omitempty"`
}

// Baseline is a run to compare with.
type Baseline struct {
	// Run is a run directory of the same trace; Control another run of the same
	// build as it.
	Run     string `json:"run"`
	Control string `json:"control,omitempty"`
	// Tolerance and ToleranceErrors are changes that do not matter.
	Tolerance       string `json:"tolerance,omitempty" schema:"number,string"`
	ToleranceErrors string `json:"toleranceErrors,omitempty" schema:"number,string"`
}
