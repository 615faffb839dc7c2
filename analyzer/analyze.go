package analyzer

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// Options of an analysis; the zero value works.
type Options struct {
	// Objectives are judged for λ_SLO and goodput.
	Objectives []Objective
	// Seed of all resampling; 0 = 1.
	Seed uint64
	// Version of the tool, written to the result.
	Version string
	// Plan is what a planner wants to know beside the loads that were found.
	Plan Plan
}

// ErrNoRun reports a directory that is a trace but not a run.
var ErrNoRun = errors.New("not a run directory")

// Analyze reads a run directory and returns what was found in it: equal
// directories and options give equal results. It needs 40 bytes of memory per
// answered request, more per row of features, and never reads chunks.
//
// Errors match [ErrNoRun] where the directory has no levels; a row that cannot
// be read is an error, a level that cannot be judged is not.
func Analyze(d *tracedir.Dir, o Options) (*Analysis, error) {
	levels, err := readLevels(d)
	if err != nil {
		return nil, err
	}
	seen, err := readAside(d)
	if err != nil {
		return nil, fmt.Errorf("analyze %q: %w", d.Path(), err)
	}
	runs, err := readRuns(d, levels, o.Objectives, seen)
	if err != nil {
		return nil, fmt.Errorf("analyze %q: %w", d.Path(), err)
	}
	if err := seen.readBins(d); err != nil {
		return nil, fmt.Errorf("analyze %q: %w", d.Path(), err)
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	m := d.Manifest()
	a := newAnalysis(m, o)
	loads := groupLoads(runs, a.closed())
	a.Warnings = append(a.Warnings, append(d.Warnings(), m.Warnings...)...)
	a.warnOfKnobs(m.Run.Knobs)
	a.Run.Runs = len(runs)
	for _, r := range runs {
		for _, warning := range r.level.Warnings {
			a.Warnings = append(a.Warnings, ofLevel(r, warning))
		}
	}
	a.judge(loads, runs, m.Run, o)
	a.judgeAside(loads, seen, o.Objectives)
	if a.Fallback, err = fallbackOf(d, loads, seen); err != nil {
		return nil, fmt.Errorf("analyze %q: %w", d.Path(), err)
	}
	return a, nil
}

// judge fills everything that is found in the loads.
func (a *Analysis) judge(loads []*load, runs []*run, m *trace.Run, o Options) {
	a.Validity = validityOf(m.Validity, runs)
	if m.Validity.Verdict == trace.Invalid {
		dismiss(loads)
	}
	for _, l := range loads {
		a.Levels = append(a.Levels, levelOf(l))
	}
	a.Stability = stabilityOf(loads)
	a.findSLO(loads, o.Objectives)
	a.findTransitions(loads, o.Objectives)
	a.Regimes = regimesOf(loads, a.LambdaC, a.Methods.Dispersion)
	a.USL = uslOf(loads, a.closed(), o.Seed)
	a.Headroom = headroomOf(m.RecordedPeakPerS, o.Plan.PeakPerS, a.LambdaC, a.closed())
	a.WhatIf = whatIf(a, o.Plan)
}

func readLevels(d *tracedir.Dir) ([]trace.Level, error) {
	if d.Manifest().Run == nil {
		return nil, fmt.Errorf("analyze %q: %w: it is a trace; replay it first, then analyze the run", d.Path(), ErrNoRun)
	}
	levels, err := d.Levels()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("analyze %q: %w", d.Path(), err)
	}
	if len(levels) == 0 {
		return nil, fmt.Errorf("analyze %q: %w: no level was run to its end", d.Path(), ErrNoRun)
	}
	return levels, nil
}

// warnOfKnobs repeats what of the replay's settings a reader of latencies and
// token counts must know.
func (a *Analysis) warnOfKnobs(knobs []string) {
	for _, knob := range knobs {
		if limit, ok := strings.CutPrefix(knob, "max_lag="); ok {
			a.Warnings = append(a.Warnings, "the client's own lag was allowed up to "+limit+" at the 99th percentile: latencies hold it, the error rate does not feel it")
		}
		if strings.Contains(knob, "=estimated") {
			a.Warnings = append(a.Warnings, "replayed with "+knob)
		}
	}
}

// newAnalysis is an analysis of which nothing is known yet.
func newAnalysis(m *trace.Manifest, o Options) *Analysis {
	return &Analysis{
		Schema: AnalysisSchema, Version: o.Version, Warnings: []string{},
		Run: RunInfo{
			TraceID: m.Run.TraceID, Target: m.Run.Target, Seed: m.Run.Seed, Loop: m.Run.Loop, Scaling: m.Run.Scaling,
			WindowS: float64(m.Run.HoldNs) / 1e9, WarmupS: float64(m.Run.WarmupNs) / 1e9,
		},
		Levels: []Level{}, Objectives: []LambdaSLO{}, Inflections: []Inflection{}, Families: []Family{}, Curve: []CurvePoint{},
		Methods: Methods{Seed: o.Seed, Permutations: permutations, Bootstraps: bootstraps, Formulas: formulas()},
	}
}

// formulas name the method of each quantity.
func formulas() map[string]string {
	return map[string]string{
		"error_rate":          "(errors + sheds) / offered; Wilson 1927 on counts deflated by the dispersion between blocks and runs of the load",
		"ttft_user_us":        "type-7 quantile over answered requests; equal-tail order-statistic interval",
		"lambda_c.existence":  "permutation of runs over loads of 2(l_onset - l_const), one-sided",
		"lambda_c.onset":      "binomial profile likelihood of g(e) = a + b(x - xc)+, links log, cloglog, logit; hull of the three intervals; levels up to the first above 25 %",
		"lambda_c.capacity":   "binomial profile likelihood of e0 + (1 - e0)(1 - c/x)+ and e0 + (1 - e0) M/M/1/K blocking, K real",
		"lambda_c.family":     "quasi-AICc with the number of loads as n",
		"lambda_c.goodness":   "parametric (beta-)binomial bootstrap of the deviance",
		"lambda_c.interval":   "deviance cut phi F.95(1, nu)",
		"lambda_slo":          "fixed-sequence Clopper-Pearson bracket, 97.5 % one-sided, on counts deflated by phi F.95(1, nu) / chi2.95(1), phi of the requests above the load's own quantile, geometric mean with the next load; loads too small to prove anything are pooled upward",
		"lambda_slo.modelled": "load at which the fitted curve crosses the share; percentile interval of a parametric (beta-)binomial bootstrap, clipped to the bracket",
		"stability":           "more requests open at the end of the window than at its start; answers per second in the second halves of such windows, t interval over runs",
		"usl":                 "least squares of log X over runs, alpha and beta >= 0; percentile interval of a parametric bootstrap with t noise",
		"in_flight_grew":      "requests in flight in four blocks of each half of the window, one-sided Welch t-test at 0.01, a quarter more at least",
		"methods.dispersion":  "Pearson within loads / nu with Fletcher's correction, else model residual",
		"headroom":            "1 - peak / lambda_c; interval of the ratio from Garwood's of the peak minute's count and that of lambda_c, on the logarithm (Zou & Donner 2008)",
		"inflections.throughput_up_accuracy_down": "pairs of loads: Welch's t-test of throughput over runs, t-test of scores paired by question, Holm over pairs; slope of the runs' mean scores over load among the permutations of runs",
		"inflections.oom_below_cpu_60":            "per event: mean CPU of 60 s before, six batches; the kernel's fragmentation index; free memory in blocks too small, windows of 10 s before events among those of the same load without, permuted",
		"inflections.p99_jump_low_concurrency":    "log P99 of the runs of the lowest load against those of a quiet higher one, exact permutation; other causes by leaving out or weighing answers",
		"entropy":                                 "Miller-Madow, up to 50 texts Chao-Shen; jackknife interval; change by swapping the answers to each prompt; rarefied to the smallest load",
		"steady_state":                            "mean pairwise cosine of 36 answers in a row, jackknife bound, and of each third",
		"windows":                                 "order statistics of P99 and P95, Clopper-Pearson, Newcombe; 5 % shared by all windows",
		"windows.token_shift":                     "Kullback-Leibler over 256 bins, half a count added, less the greater of (B - 1)/2 (1/n + 1/m) and the jackknife's bias over 32 groups of answers",
		"fallback":                                "Clopper-Pearson; Hodges-Lehmann shift of times less the median of the load; t interval of scores",
		"recovery":                                "first second from which 60 s meet the objectives, no second of them by more than chance; Kaplan-Meier median",
	}
}
