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
	c := &cobra.Command{
		Use:   "analyze RUN",
		Short: "Find the critical load in a run",
		Long: `Analyze a run directory: the levels with their intervals, whether there is a
transition, the critical load λc with its uncertainty, and the load up to which
each objective holds. Writes analysis.json and report.html into the run.

An objective that is proven broken at the lowest load that was run, and so at
all of them, is missed: exit code 1. One that holds up to some load only has a
bracket, λ_SLO, and passes. Where the requests are too few to prove either, or
the run is invalid: exit code 2.`,
		Example: "  lambdac analyze runs/tuesday --slo 'ttft_user p99 800ms' --slo 'error_rate 0.5%'",
		Args:    oneArg("RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			o := analyzer.Options{Seed: seed, Version: version}
			for _, s := range slos {
				objective, err := analyzer.ParseObjective(s)
				if err != nil {
					return &exitError{code: exitUsage, err: err}
				}
				o.Objectives = append(o.Objectives, objective)
			}
			a, written := analyzeRun(args[0], o)
			if a == nil {
				return written
			}
			if err := cmp.Or(printAnalysis(c.OutOrStdout(), a, asJSON), written); err != nil {
				return err
			}
			newUI(c).say("written: %s", filepath.Join(args[0], "report.html"))
			return verdict(a)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&slos, "slo", nil, "objective, such as 'ttft_user p99 800ms' or 'error_rate 0.5%' (repeatable)")
	f.Uint64Var(&seed, "seed", 1, "seed of all resampling")
	f.BoolVar(&asJSON, "json", false, "print analysis.json instead of text")
	return c
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
	err = errors.Join(
		writeFile(filepath.Join(path, "analysis.json"), func(w io.Writer) error { return printJSON(w, a) }),
		writeFile(filepath.Join(path, "report.html"), func(w io.Writer) error { return report.HTML(w, a) }),
	)
	return a, err
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
	code := exitOK
	for _, s := range a.Objectives {
		switch {
		case s.Verdict == analyzer.Found && s.Low == nil:
			code = exitMissed
		case s.Verdict == analyzer.Insufficient && code == exitOK:
			code = exitInvalid
		}
	}
	if a.Validity.Verdict != trace.Valid {
		code = exitInvalid
	}
	if code == exitOK {
		return nil
	}
	return &exitError{code: code}
}
