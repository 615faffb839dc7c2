package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/lambdac/lambdac/analyzer"
	"github.com/lambdac/lambdac/analyzer/report"
	"github.com/lambdac/lambdac/internal/twin"
)

// demoSchema is the value of demoResult.Schema.
const demoSchema = "lambdac.demo/v1"

// demoResult is what `lambdac demo --json` prints.
type demoResult struct {
	Schema string `json:"schema"`
	// Version is the version of the tool.
	Version  string   `json:"version"`
	Warnings []string `json:"warnings"`
	// CaptureSource is "live" (the loopback interface) or "tap" (inside the
	// process, where raw sockets are not allowed).
	CaptureSource string `json:"capture_source"`
	// LambdaC is what was found from the replay alone.
	LambdaC analyzer.LambdaC `json:"lambda_c"`
	// TruePerS is the capacity of the simulated server for the recorded mix,
	// from virtual time, and TrueStdErr its standard error.
	TruePerS   float64 `json:"true_per_s"`
	TrueStdErr float64 `json:"true_std_err"`
	// Covered: the interval holds the true capacity.
	Covered bool `json:"covered"`
	// Trace, Run and Report are paths.
	Trace  string `json:"trace"`
	Run    string `json:"run"`
	Report string `json:"report"`
}

func newDemoResult(a *analyzer.Analysis, truth twin.Estimate, source, tracePath, runPath string) *demoResult {
	return &demoResult{
		Schema: demoSchema, Version: version, Warnings: a.Warnings, CaptureSource: source,
		LambdaC: a.LambdaC, TruePerS: truth.Value, TrueStdErr: truth.StdErr, Covered: covered(&a.LambdaC, truth.Value),
		Trace: tracePath, Run: runPath, Report: filepath.Join(runPath, "report.html"),
	}
}

// covered reports whether the published interval holds the truth. A verdict
// without a closed interval does not.
func covered(c *analyzer.LambdaC, truth float64) bool {
	return c.Verdict == analyzer.Found && c.Low != nil && c.High != nil && *c.Low <= truth && truth <= *c.High
}

func (r *demoResult) print(w io.Writer, a *analyzer.Analysis) error {
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	if err := report.Text(w, a); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\ntrue capacity of the simulated server for this mix: %.4g req/s (± %.2g)\nreport: %s\n", r.TruePerS, 1.96*r.TrueStdErr, r.Report)
	return err
}
