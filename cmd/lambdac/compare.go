package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lambdac/lambdac/analyzer"
	"github.com/lambdac/lambdac/analyzer/report"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// compareFlags are the flags of compare.
type compareFlags struct {
	control, markdown, junit     string
	tolerance, toleranceOfErrors string
	slos                         []string
	seed                         uint64
	csv, asJSON                  bool
}

func newCompare() *cobra.Command {
	var o compareFlags
	c := &cobra.Command{
		Use:   "compare BASELINE CANDIDATE",
		Short: "Say whether a candidate is worse than a baseline",
		Long: `Compare two runs of one trace, request by request: each metric is better, worse,
equivalent, or the data cannot tell. The error rate and the time to first token
(where nothing was streamed, the whole time) decide; the others fail the gate
only where they are proven worse.

"Equivalent" is proven, not assumed: the whole 90 % interval lies within the
tolerance. "Worse" is proven beyond the tolerance. Runs are compared with runs
of the same load, six or more; with fewer, give a control: a second run of the
baseline's build, made beside the others, that shows what the environment does.

Goodput is the answers per second that meet every --slo; without one, all
answers. With --csv, BASELINE, CANDIDATE and the control are the results of another tool;
lambdac analyze --help names the columns. Lines of equal load, run and class are
compared.

Exit codes: 0 no regression; 1 a metric is worse; 2 not enough evidence, an
invalid run, or something of the baseline is missing in the candidate; 3 the runs
cannot be compared (another trace, scaling, cache state, …).`,
		Example: `  lambdac compare runs/v1 runs/v2 --markdown comment.md --junit compare.xml
  lambdac compare runs/v1 runs/v2 --control runs/v1-again --tolerance 3%
  lambdac compare --csv old.csv new.csv`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage("see lambdac compare --help", "name two runs: BASELINE CANDIDATE, got %d", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return compare(c, args, &o) },
	}
	f := c.Flags()
	f.StringVar(&o.control, "control", "", "another run of the baseline's build")
	f.StringVar(&o.markdown, "markdown", "", "also write a summary for a pull request to this file")
	f.StringVar(&o.junit, "junit", "", "also write JUnit XML to this file")
	f.StringVar(&o.tolerance, "tolerance", "5%", "change of a latency or throughput that does not matter")
	f.StringVar(&o.toleranceOfErrors, "tolerance-errors", "0.5%", "change of the error rate that does not matter, of all requests")
	f.StringArrayVar(&o.slos, "slo", nil, "objective that an answer has to meet to count as goodput (repeatable)")
	f.Uint64Var(&o.seed, "seed", 1, "seed of all resampling")
	f.BoolVar(&o.csv, "csv", false, "compare CSV files of another tool (- = stdin)")
	f.BoolVar(&o.asJSON, "json", false, "print one JSON document instead of text")
	return c
}

func compare(c *cobra.Command, args []string, o *compareFlags) error {
	options := analyzer.CompareOptions{Seed: o.seed, Version: version}
	for _, flag := range []struct {
		name, text string
		to         *float64
	}{{"--tolerance", o.tolerance, &options.Tolerance}, {"--tolerance-errors", o.toleranceOfErrors, &options.RateTolerance}} {
		share, err := parseTolerance(flag.text)
		if err != nil {
			return usage("write a share of 100 %, such as 5% or 0.05", "%s %q: %w", flag.name, flag.text, err)
		}
		*flag.to = share
	}
	var err error
	if options.Objectives, err = parseObjectives(o.slos); err != nil {
		return err
	}
	between := compareRuns
	if o.csv {
		between = compareTables(c.InOrStdin())
	}
	result, err := between(args[0], args[1], o.control, options)
	if err != nil {
		return err
	}
	written := errors.Join(
		writeReport(o.markdown, result, report.CompareMarkdown),
		writeReport(o.junit, result, report.CompareJUnit),
	)
	if o.asJSON {
		err = printJSON(c.OutOrStdout(), result)
	} else {
		err = report.CompareText(c.OutOrStdout(), result)
	}
	return cmp.Or(err, written, gate(result.Verdict))
}

// parseTolerance reads 5% or 0.05.
func parseTolerance(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share > 0 && share < 1) {
		return 0, errors.New("not a share between 0 and 100 %")
	}
	return share, nil
}

// compareRuns compares run directories.
func compareRuns(baseline, candidate, control string, o analyzer.CompareOptions) (*analyzer.Comparison, error) {
	var dirs [3]*tracedir.Dir
	for i, path := range []string{baseline, candidate, control} {
		if path == "" && i == 2 {
			continue
		}
		dir, err := tracedir.Open(path)
		if err != nil {
			return nil, err
		}
		if err := wholeRun(dir); err != nil {
			return nil, err
		}
		dirs[i] = dir
	}
	result, err := analyzer.Compare(dirs[0], dirs[1], dirs[2], o)
	switch {
	case errors.Is(err, analyzer.ErrNoRun):
		return nil, &exitError{exitUsage, err, "replay the trace first: lambdac replay TRACE --target URL --levels … -o RUN"}
	case errors.Is(err, analyzer.ErrIncomparable):
		return nil, &exitError{exitUsage, err, "replay one trace with the same flags against both"}
	}
	return result, err
}

// compareTables compares the results of another tool.
func compareTables(stdin io.Reader) func(baseline, candidate, control string, o analyzer.CompareOptions) (*analyzer.Comparison, error) {
	return func(baseline, candidate, control string, o analyzer.CompareOptions) (*analyzer.Comparison, error) {
		var tables [3]*analyzer.Table
		for i, path := range []string{baseline, candidate, control} {
			if path == "" && i == 2 {
				continue
			}
			t, err := readTable(path, stdin)
			if err != nil {
				return nil, err
			}
			tables[i] = t
		}
		result, err := analyzer.CompareTables(tables[0], tables[1], tables[2], o)
		if errors.Is(err, analyzer.ErrIncomparable) {
			return nil, &exitError{exitUsage, err, "give tables with the same kind of load"}
		}
		return result, err
	}
}

// writeReport writes one form of the result to a file; none where no path is
// given.
func writeReport(path string, result *analyzer.Comparison, form func(io.Writer, *analyzer.Comparison) error) error {
	return writeForm(path, func(w io.Writer) error { return form(w, result) })
}

// writeForm writes a file; none where no path is given.
func writeForm(path string, form func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	return writeFile(path, form)
}

// gate is the exit code of a comparison.
func gate(v analyzer.Gate) error {
	switch v {
	case analyzer.Pass:
		return nil
	case analyzer.Regression:
		return &exitError{code: exitMissed}
	}
	return &exitError{code: exitInvalid}
}

// wholeRun refuses a part of a run.
func wholeRun(dir *tracedir.Dir) error {
	if run := dir.Manifest().Run; run != nil && run.Shard != "" && run.Shard != "1/1" {
		return &exitError{exitUsage, fmt.Errorf("%s is shard %s of a replay: it holds a part of the load", dir.Path(), run.Shard), "join the shards first: lambdac merge RUN… -o RUN"}
	}
	return nil
}
