package analyzer

// AnalysisSchema is the value of Analysis.Schema.
const AnalysisSchema = "lambdac.analysis/v1"

// Verdict is the answer of one analysis.
type Verdict string

const (
	// Found: the effect is there, with the error rate of the test.
	Found Verdict = "found"
	// NotFound: the data are enough and do not show it.
	NotFound Verdict = "not_found"
	// Insufficient: the data cannot tell; Missing says what it would take.
	Insufficient Verdict = "insufficient"
)

// Analysis is analysis.json: everything that was found in one run. All
// slices are non-nil; all floats are finite.
type Analysis struct {
	Schema   string   `json:"schema"`
	Version  string   `json:"version"`
	Warnings []string `json:"warnings"`

	Run      RunInfo  `json:"run"`
	Validity Validity `json:"validity"`
	// Levels are in ascending order of load, one per offered load; runs of
	// one load are pooled.
	Levels    []Level   `json:"levels"`
	LambdaC   LambdaC   `json:"lambda_c"`
	LambdaSLO LambdaSLO `json:"lambda_slo"`
	// Objectives holds the bracket of every objective that was asked for; the
	// one that binds first is LambdaSLO.
	Objectives  []LambdaSLO  `json:"objectives"`
	Inflections []Inflection `json:"inflections"`
	// FirstToBreak is what leaves its sub-critical regime first; nil where
	// only one class can be judged or brackets overlap.
	FirstToBreak *FirstToBreak `json:"first_to_break"`
	// FirstToBreakReason says why FirstToBreak is nil.
	FirstToBreakReason string   `json:"first_to_break_reason,omitempty"`
	Headroom           Headroom `json:"headroom"`
	// Control is nil where an experiment has no control arm.
	Control *ControlArm `json:"control,omitempty"`
	// WhatIf is nil where neither a forecast nor a price was given.
	WhatIf *WhatIf `json:"what_if"`
	// Families are the shapes that were fitted to the error rate, best first.
	Families []Family `json:"families"`
	// Curve is the error rate of the published family over load, for drawing;
	// empty where no family was published.
	Curve   []CurvePoint `json:"curve"`
	Methods Methods      `json:"methods"`
	// Regimes are the loads below and above λc, compared.
	Regimes *Regimes `json:"regimes"`
	// Stability is the load up to which the service kept up, which errors do not
	// show where nothing is refused.
	Stability *Stability `json:"stability"`
	// USL is how the throughput grows with the requests in flight.
	USL *USL `json:"usl"`

	// Entropy and SteadyState are taken from features; nil where there are none.
	Entropy     *Entropy     `json:"entropy"`
	SteadyState *SteadyState `json:"steady_state"`
	// Windows are the service-level targets watched over time; nil for tables.
	Windows *Windows `json:"windows"`
	// Recovery is the time to meet the objectives again after faults; nil where
	// no fault window is marked.
	Recovery *Recovery `json:"recovery"`

	// Fallback is what became of the requests that faults fell on; nil where none
	// did and no answer says that the service fell back.
	Fallback *Fallback `json:"fallback"`

	// Reserved names: nil until they work.
	Tenants *Reserved `json:"tenants"`
	Stalls  *Reserved `json:"stalls"`
}

// Reserved is the type of a name that is kept for a later analysis; always
// nil now.
type Reserved struct{}

// RunInfo says which run was analyzed.
type RunInfo struct {
	TraceID string `json:"trace_id"`
	Target  string `json:"target"`
	Seed    uint64 `json:"seed"`
	// Loop is open or closed; Scaling is how the load was scaled.
	Loop    string `json:"loop"`
	Scaling string `json:"scaling"`
	// Runs is the number of levels that were run, replicates counted.
	Runs int `json:"runs"`
	// WindowS and WarmupS are seconds per level.
	WindowS float64 `json:"window_s"`
	WarmupS float64 `json:"warmup_s"`
}

// Validity says whether the run's numbers may be used.
type Validity struct {
	// Verdict is "valid" or "invalid".
	Verdict string   `json:"verdict"`
	Reasons []string `json:"reasons"`
}

// Level is what one offered load showed. Counts are sums over its runs.
type Level struct {
	OfferedPerS float64 `json:"offered_per_s"`
	// Requests is Σ outcomes: every exchange due in the window. Excluded says
	// nothing of the service; Faulted had a fault injected by us. Neither is
	// in N = Requests − Excluded − Faulted, the denominator of ε.
	Requests int64 `json:"requests"`
	N        int64 `json:"n"`
	// Errors includes the sheds.
	Errors   int64 `json:"errors"`
	Sheds    int64 `json:"sheds"`
	Excluded int64 `json:"excluded"`
	Faulted  int64 `json:"faulted"`

	ErrorRate  Proportion `json:"error_rate"`
	TTFTUserUs Latency    `json:"ttft_user_us"`
	// GoodputPerS counts answered requests that met every latency objective,
	// per second of window; without an objective, answered requests. A time
	// that an answer does not have (the first token of one that was not
	// streamed) misses no objective; the flag goodput_not_all_measured tells.
	GoodputPerS *float64 `json:"goodput_per_s"`
	// OutputTokensPerS counts the tokens whose events fell in the window, per
	// second of it, those of requests due before it too (in runs and tables that
	// do not tell them, the tokens of requests due in the window); nil where no
	// token was counted.
	OutputTokensPerS *float64 `json:"output_tokens_per_s"`
	// AnsweredPerS counts the answers that ended in the window, per second of it;
	// nil where the run does not tell.
	AnsweredPerS *float64 `json:"answered_per_s"`

	// PrefixExpectedShare is the share of the prompts' tokens that a prefix cache
	// without limits would serve: those with which a prompt sent before in the run
	// began as well; nil where it was not followed. PrefixUsageShare is the share
	// that the answers' usage says came from a cache; nil where none told.
	PrefixExpectedShare *float64 `json:"prefix_expected_share"`
	PrefixUsageShare    *float64 `json:"prefix_usage_share"`
	// PrefixHitShare is the share of the prompt tokens that the server found in
	// its prefix cache, by its own counters; nil where it has none.
	PrefixHitShare *float64 `json:"prefix_hit_share"`

	// Runs are the replicates pooled here, invalid ones left out unless all
	// are invalid.
	Runs int `json:"runs"`
	// Seconds is the length of the windows, summed over Runs.
	Seconds float64 `json:"seconds"`
	// AchievedPerS is what was really sent, mean over Runs.
	AchievedPerS float64 `json:"achieved_per_s"`
	// Judged: the level takes part in the fits, unless it is flagged not_steady.
	// Reasons says why not, and what shows that it was not steady.
	Judged  bool     `json:"judged"`
	Reasons []string `json:"reasons"`
	// Flags are doubts and marks that do not void the level: "saturated"
	// (ε above the cut of the onset fit), "under_half_answered"; "not_steady": the
	// requests in flight grew and moved the error rate, so it is left out of the
	// fits; "in_flight_grew": they grew from the first half of the window to the
	// second, so nothing is proven to hold there; "server_restarted": its counters
	// began again, so its answers are not those of one system.
	Flags []string `json:"flags"`
}

// Proportion is a share with its 95 % interval: Wilson's, on counts deflated by
// φ̂·F.95(1, ν) ÷ χ².95(1) where failures vary more between the blocks or runs of
// the load than coin tosses would. All nil at n = 0.
type Proportion struct {
	Point *float64 `json:"point"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}

// Latency is a latency over answered requests, in microseconds.
type Latency struct {
	P50     *float64 `json:"p50"`
	P99     *float64 `json:"p99"`
	P99Low  *float64 `json:"p99_low"`
	P99High *float64 `json:"p99_high"`
	// N is the number of answered requests that have the time.
	N int64 `json:"n"`
	// Reason says why a field is nil.
	Reason string `json:"reason,omitempty"`
}

// LambdaC is the critical load. An open end is nil; no point with two ends is
// an interval only.
type LambdaC struct {
	Verdict Verdict  `json:"verdict"`
	Point   *float64 `json:"point"`
	Low     *float64 `json:"low"`
	High    *float64 `json:"high"`
	// Confidence of the interval, 0.95.
	Confidence float64 `json:"confidence"`
	// Family is const, loglinear, onset, step, logistic, shed, queue or loss; nil
	// where none was published. For shed and queue the point is the capacity.
	Family *string `json:"family"`
	// Epsilon0 is the error rate below λc; Delta the load over which it grows
	// e-fold above (onset only).
	Epsilon0 *float64 `json:"epsilon0"`
	Delta    *float64 `json:"delta"`
	// PValue is that of the existence test.
	PValue *float64 `json:"p_value"`
	// Missing says what an insufficient verdict lacks, and how many more
	// requests it takes.
	Missing string `json:"missing,omitempty"`
	// Reason says in words what is published and why ends or points are nil.
	Reason string `json:"reason,omitempty"`
	// JumpLow and JumpHigh are the neighbouring levels between which the
	// error rate jumps, where only that can be said.
	JumpLow  *float64 `json:"jump_low"`
	JumpHigh *float64 `json:"jump_high"`
	// DetectableRatio is, where nothing was found, the smallest ε(λ_m)/ε0
	// that would have been found with 80 % power.
	DetectableRatio *float64 `json:"detectable_ratio"`
	// NotSeparable are the families that the data cannot tell from Family;
	// the interval is the union over them.
	NotSeparable []string `json:"not_separable"`
	// NextPerS is the load to try next; nil where none is suggested.
	NextPerS *float64 `json:"next_per_s"`
}

// LambdaSLO is the highest load up to which an objective holds: it is proven
// to hold at Low and proven to be broken at High.
type LambdaSLO struct {
	Verdict Verdict  `json:"verdict"`
	Low     *float64 `json:"low"`
	High    *float64 `json:"high"`
	// SLO is the objective as text; nil where none was given.
	SLO *string `json:"slo"`
	// Reason says why ends are nil.
	Reason string `json:"reason,omitempty"`
	// Modelled is where the curve fitted to the error rate crosses an objective
	// on it; nil for other objectives, where no curve was published, or where it
	// does not cross inside the bracket.
	Modelled *Modelled `json:"modelled"`
}

// Modelled is a load taken from a fitted curve, with the 95 % percentile
// interval of a parametric bootstrap, clipped to the bracket.
type Modelled struct {
	Point  float64 `json:"point"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Family string  `json:"family"`
}

// Inflection is the answer of one detector of a counter-intuitive turn.
type Inflection struct {
	ID      string  `json:"id"`
	Verdict Verdict `json:"verdict"`
	// Indicated: the turn is seen by its size, or by the rule it was published
	// with, whether it is proven or not.
	Indicated bool   `json:"indicated"`
	Effect    Effect `json:"effect"`
	// PValue is the largest of the tests that the verdict needs.
	PValue *float64 `json:"p_value"`
	// Evidence are the conditions of the verdict, each with what was measured.
	Evidence []Evidence `json:"evidence"`
	// Competing are other explanations, tested.
	Competing []Cause `json:"competing"`
	// Reason says in words what was or was not found.
	Reason string `json:"reason,omitempty"`
	// Missing says what an insufficient verdict lacks, and how much more it takes.
	Missing string `json:"missing,omitempty"`
}

// Effect is a size with its interval and unit; nil = not measured.
type Effect struct {
	Point *float64 `json:"point"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
	Unit  string   `json:"unit"`
}

// FirstToBreak names what breaks at the lowest load: "sheds", "errors" or an
// objective. It breaks between the loads Low and High.
type FirstToBreak struct {
	Name string  `json:"name"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Family is one fitted shape.
type Family struct {
	Family string `json:"family"`
	// Link is that of onset and loglinear.
	Link string `json:"link,omitempty"`
	// AICc is the quasi-AICc with the number of levels as n; DeltaAICc is the
	// distance to the best.
	AICc      float64 `json:"aicc"`
	DeltaAICc float64 `json:"delta_aicc"`
	// Deviance is the binomial deviance; GoodnessP the bootstrap p-value that
	// so bad a fit arises if the family is true, nil where not computed.
	Deviance  float64  `json:"deviance"`
	GoodnessP *float64 `json:"goodness_p"`
	// Critical is λc or the capacity, nil for families without one.
	Critical *float64 `json:"critical"`
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
	Epsilon0 *float64 `json:"epsilon0"`
	Delta    *float64 `json:"delta"`
	// Allowed is false where the family does not apply to this loop.
	Allowed bool `json:"allowed"`
}

// CurvePoint is one point of a fitted curve.
type CurvePoint struct {
	OfferedPerS float64 `json:"offered_per_s"`
	ErrorRate   float64 `json:"error_rate"`
}

// Methods says how the numbers were made.
type Methods struct {
	// Seed of every resampling; Permutations is B of the existence test;
	// Bootstraps that of the goodness of fit.
	Seed         uint64 `json:"seed"`
	Permutations int    `json:"permutations"`
	Bootstraps   int    `json:"bootstraps"`
	// Dispersion is φ̂, how much more the error counts vary between runs (or
	// blocks of a run) than coin tosses would; DispersionFrom says where it
	// comes from, DispersionDF its degrees of freedom.
	Dispersion     *float64 `json:"dispersion"`
	DispersionFrom string   `json:"dispersion_from,omitempty"`
	DispersionDF   *float64 `json:"dispersion_df"`
	// Truncated is the number of levels left out of the onset fit because of
	// their error rate.
	Truncated int `json:"truncated"`
	// Formulas name the methods used, by quantity.
	Formulas map[string]string `json:"formulas"`
}
