package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/lambdac/lambdac/analyzer"
	"github.com/lambdac/lambdac/analyzer/report"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

func newAnalyze() *cobra.Command {
	var slos []string
	var seed uint64
	var asJSON bool
	var table, out, charts string
	var plan analyzer.Plan
	c := &cobra.Command{
		Use:   "analyze RUN",
		Short: "Find the critical load in a run",
		Long: `Analyze a run directory: the levels with their intervals, whether there is a
transition, the critical load λc with its uncertainty, and the load up to which
each objective holds. Writes analysis.json and report.html into the run.

An objective that is proven broken at the lowest load that was run, and so at
all of them, is missed: exit code 1. One that holds up to some load only has a
bracket, λ_SLO, and passes. Where the requests are too few to prove either, or
the run is invalid: exit code 2.

What if: --forecast 120 says how many replicas of what was run carry that many
requests/s, with an interval; --price-per-hour 4.1 what a thousand requests and
a million tokens cost at each limit and at each level.

With --csv FILE (- = stdin) the results of any other tool are analyzed instead,
one line per run or level. Columns: load_per_s (or offered_per_s, or
concurrency), n, errors; and, each optional, run, order, start_s, dwell_s,
achieved_per_s, class, in_flight_at_end, client_in_flight_max, sheds (among
errors), output_tokens_per_s, and any METRIC_pNN_ms, such as p99_ms or
ttft_user_p50_ms. Other columns are named and left out. docs/other-tools.md makes
such files from results of guidellm, AIPerf, vLLM, k6 and Vegeta.`,
		Example: "  lambdac analyze runs/tuesday --slo 'ttft_user p99 800ms' --slo 'error_rate 0.5%'\n  lambdac analyze --csv results.csv --slo 'error_rate 1%'\n  lambdac analyze runs/tuesday --slo 'ttft_user p99 800ms' --forecast 120 --price-per-hour 4.1",
		Args: func(c *cobra.Command, args []string) error {
			if table != "" && len(args) == 0 {
				return nil
			}
			if table != "" {
				return usage("give a run directory, or --csv FILE", "--csv %s and a run are two things to analyze", table)
			}
			return oneArg("RUN")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			o := analyzer.Options{Seed: seed, Version: version, Plan: plan}
			if err := checkPlan(plan); err != nil {
				return err
			}
			var err error
			if o.Objectives, err = parseObjectives(slos); err != nil {
				return err
			}
			dir := out
			analyzed := func() (*analyzer.Analysis, error) { return analyzeTable(table, out, c.InOrStdin(), o) }
			if table == "" {
				dir = args[0]
				analyzed = func() (*analyzer.Analysis, error) { return analyzeRun(dir, o) }
			}
			a, written := analyzed()
			if a == nil {
				return written
			}
			if err := cmp.Or(printAnalysis(c.OutOrStdout(), a, asJSON), written, writeCharts(charts, a)); err != nil {
				return err
			}
			if dir != "" {
				newUI(c).say("written: %s", filepath.Join(dir, "report.html"))
			}
			return verdict(a)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&slos, "slo", nil, "objective, such as 'ttft_user p99 800ms' or 'error_rate 0.5%' (repeatable)")
	f.StringVar(&table, "csv", "", "analyze a CSV file of another tool (- = stdin)")
	f.StringVarP(&out, "out", "o", "", "with --csv: folder for analysis.json and report.html")
	f.StringVar(&charts, "charts", "", "also write each chart as SVG and PNG to this folder")
	f.Float64Var(&plan.ForecastPerS, "forecast", 0, "requests/s to plan for: how many replicas of what was run carry them")
	f.Float64Var(&plan.PricePerHour, "price-per-hour", 0, "price of what was run, any currency: what requests and tokens cost")
	f.Float64Var(&plan.PeakPerS, "peak", 0, "highest rate of today's traffic, requests/s (default the trace's highest minute)")
	f.Uint64Var(&seed, "seed", 1, "seed of all resampling")
	f.BoolVar(&asJSON, "json", false, "print analysis.json instead of text")
	return c
}

// parseObjectives reads the values of --slo.
func parseObjectives(slos []string) ([]analyzer.Objective, error) {
	var out []analyzer.Objective
	for _, s := range slos {
		o, err := analyzer.ParseObjective(s)
		if err != nil {
			return nil, &exitError{code: exitUsage, err: err}
		}
		out = append(out, o)
	}
	return out, nil
}

// writeCharts writes each chart twice, for a page and for a slide; none where
// dir is empty.
func writeCharts(dir string, a *analyzer.Analysis) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	for _, chart := range report.Charts(a) {
		path := filepath.Join(dir, chart.Name)
		if err := errors.Join(writeFile(path+".svg", chart.SVG), writeFile(path+".png", chart.PNG)); err != nil {
			return err
		}
	}
	return nil
}

// checkPlan refuses rates and prices that are none.
func checkPlan(p analyzer.Plan) error {
	for _, flag := range []struct {
		name  string
		value float64
	}{{"--forecast", p.ForecastPerS}, {"--price-per-hour", p.PricePerHour}, {"--peak", p.PeakPerS}} {
		if !(flag.value >= 0 && flag.value < 1e12) {
			return usage("write a number above 0", "%s %v", flag.name, flag.value)
		}
	}
	return nil
}

// analyzeRun analyzes a run directory and writes analysis.json and
// report.html into it. Where they cannot be written there is an error and the
// analysis all the same.
func analyzeRun(path string, o analyzer.Options) (*analyzer.Analysis, error) {
	dir, err := tracedir.Open(path)
	if err != nil {
		return nil, err
	}
	if err := wholeRun(dir); err != nil {
		return nil, err
	}
	a, err := analyzer.Analyze(dir, o)
	if errors.Is(err, analyzer.ErrNoRun) {
		return nil, &exitError{exitUsage, err, "replay the trace first: lambdac replay " + path + " --target URL --levels … -o RUN"}
	}
	if err != nil {
		return nil, fmt.Errorf("analyze run: %w", err)
	}
	return a, writeAnalysis(path, a)
}

// writeFile replaces a file in one step, so that a full disk or a signal
// leaves the old one.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*.tmp")
	if err != nil {
		return fmt.Errorf("create %q: %w", path, err)
	}
	defer os.Remove(f.Name())
	err = write(f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("replace file: %w", err)
	}
	return nil
}

func printAnalysis(w io.Writer, a *analyzer.Analysis, asJSON bool) error {
	if asJSON {
		return printJSON(w, a)
	}
	return report.Text(w, a)
}

// verdict turns an analysis into an exit code: an invalid run is 2; an
// objective that is broken at every load is 1; one that the data cannot judge
// is 2.
func verdict(a *analyzer.Analysis) error {
	if a.Validity.Verdict != trace.Valid {
		return &exitError{code: exitInvalid}
	}
	return judge(analyzer.Checks(a, nil))
}

// judge is the exit code of checks: a limit that is missed goes before one that
// cannot be judged.
func judge(checks []analyzer.Check) error {
	code := exitOK
	for _, c := range checks {
		switch {
		case c.Verdict == analyzer.CheckMissed:
			return &exitError{code: exitMissed}
		case c.Verdict == analyzer.CheckUndecided:
			code = exitInvalid
		}
	}
	if code == exitOK {
		return nil
	}
	return &exitError{code: code}
}
