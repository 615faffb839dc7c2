package analyzer

// ComparisonSchema is the value of Comparison.Schema.
const ComparisonSchema = "lambdac.compare/v1"

// Comparison is what two runs of one trace say of the service between them:
// whether the candidate is worse than the baseline. All slices are non-nil; all
// floats are finite.
type Comparison struct {
	Schema   string   `json:"schema"`
	Version  string   `json:"version"`
	Warnings []string `json:"warnings"`

	Verdict Gate `json:"verdict"`
	// Reasons say what the verdict rests on; empty where it is pass.
	Reasons   []string `json:"reasons"`
	Baseline  Arm      `json:"baseline"`
	Candidate Arm      `json:"candidate"`
	// Control is a second run of the baseline's build; nil = none was given.
	Control *Arm    `json:"control"`
	Pairing Pairing `json:"pairing"`
	// Metrics has the primary ones first.
	Metrics []MetricVerdict `json:"metrics"`
	// Classes are the API families that were asked for.
	Classes []ClassPair       `json:"classes"`
	Methods ComparisonMethods `json:"methods"`
}

// Gate is what a pipeline acts on.
type Gate string

const (
	// Pass: for every primary metric it is proven that the candidate is not
	// worse by more than the tolerance, and no metric is proven worse.
	Pass Gate = "pass"
	// Regression: a metric is proven worse by more than the tolerance.
	Regression Gate = "regression"
	// Undecided: neither is proven, or something of the baseline is missing in
	// the candidate; Reasons says what.
	Undecided Gate = "insufficient"
)

// Arm is one of the runs compared.
type Arm struct {
	// Name is the path of the run or file.
	Name     string   `json:"name"`
	TraceID  string   `json:"trace_id,omitempty"`
	Target   string   `json:"target,omitempty"`
	Validity Validity `json:"validity"`
	// Runs is the number of runs, Judged of those that can be judged.
	Runs   int `json:"runs"`
	Judged int `json:"judged"`
	// N is the offered requests of the judged runs, Errors those that failed,
	// sheds included.
	N      int64 `json:"n"`
	Errors int64 `json:"errors"`
}

// Pairing says what was compared with what.
type Pairing struct {
	// Unit is what one difference is taken from: "run" (one run of one load in
	// both arms), "block" (an eighth of such a run, where there are too few), or
	// "unpaired" (the runs of each arm as two samples).
	Unit string `json:"unit"`
	// Units is the number of such differences.
	Units int `json:"units"`
	// Requests is the number of requests found in both arms by their id. Of the
	// others, OnlyBaseline and OnlyCandidate are in one arm only, excluded or
	// faulted there counted with it. All 0 where the arms are files without
	// requests.
	Requests      int64 `json:"requests"`
	OnlyBaseline  int64 `json:"only_baseline"`
	OnlyCandidate int64 `json:"only_candidate"`
	// Duplicates are requests left out because their id comes twice in a run.
	Duplicates int64 `json:"duplicates"`
	// Loads are compared; MissingLoads can be judged in the baseline only.
	Loads        []float64 `json:"loads"`
	MissingLoads []float64 `json:"missing_loads"`
}

// MetricVerdict is what is said of one metric.
type MetricVerdict struct {
	// Metric is the name of a metric, with its quantile where it is one:
	// ttft_user is the typical ratio of paired requests, ttft_user_p99 the ratio
	// of the quantiles.
	Metric string `json:"metric"`
	// Primary: the exit code rests on it.
	Primary bool   `json:"primary"`
	Verdict Change `json:"verdict"`
	// Indicated is better or worse where the data point there without proof.
	Indicated *Change `json:"indicated"`
	// NoRegression: it is proven that the candidate is not worse by more than
	// the tolerance (one-sided, 95 %).
	NoRegression bool       `json:"no_regression"`
	Effect       Difference `json:"effect"`
	// Tolerance is the change that does not matter, in the effect's unit: a
	// ratio of 1 ± it, or points.
	Tolerance float64 `json:"tolerance"`
	// Baseline and Candidate are the metric itself: milliseconds, tokens or good
	// answers per second, the geometric mean over units, or a share of all
	// requests.
	Baseline  *float64 `json:"baseline"`
	Candidate *float64 `json:"candidate"`
	PValue    *float64 `json:"p_value"`
	// PAdjusted is PValue after Holm over the primary metrics, Benjamini and
	// Hochberg over the others.
	PAdjusted *float64 `json:"p_adjusted"`
	// Units is the number of differences, N of the requests behind them.
	Units int   `json:"units"`
	N     int64 `json:"n"`
	// RatioLow is, for rates, the lower end of the one-sided 95 % interval of
	// candidate ÷ baseline, which exists also where the baseline has no failure.
	RatioLow *float64 `json:"ratio_low"`
	// Control is the effect of the control against the baseline.
	Control *Difference `json:"control"`
	// Reason says why a verdict is what it is; Missing what an insufficient one
	// lacks.
	Reason  string `json:"reason,omitempty"`
	Missing string `json:"missing,omitempty"`
}

// Change is the verdict on one metric.
type Change string

const (
	// Better: proven better than the baseline.
	Better Change = "better"
	// Worse: proven worse by more than the tolerance.
	Worse Change = "worse"
	// Equivalent: proven to differ by less than the tolerance, either way.
	Equivalent Change = "equivalent"
	// Unclear: none of these is proven.
	Unclear Change = "insufficient"
)

// Difference is a change from the baseline with its 95 % interval.
type Difference struct {
	Point *float64 `json:"point"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
	// Unit is "ratio" (candidate ÷ baseline) or "points" (candidate − baseline,
	// of a share in percent).
	Unit string `json:"unit"`
}

// ClassPair counts one API family in both arms.
type ClassPair struct {
	Class string `json:"class"`
	// Offered and answered requests in the loads compared.
	BaselineN         int64 `json:"baseline_n"`
	BaselineAnswered  int64 `json:"baseline_answered"`
	CandidateN        int64 `json:"candidate_n"`
	CandidateAnswered int64 `json:"candidate_answered"`
	// Missing: the baseline answered some and the candidate none.
	Missing bool `json:"missing"`
}

// ComparisonMethods says how the numbers were made.
type ComparisonMethods struct {
	Seed         uint64            `json:"seed"`
	Permutations int               `json:"permutations"`
	Alpha        float64           `json:"alpha"`
	Formulas     map[string]string `json:"formulas"`
}
