package main

import (
	"github.com/lambdac/lambdac/internal/telemetry"
	"github.com/lambdac/lambdac/replayer"
	"github.com/lambdac/lambdac/trace"
)

// runSchema is the value of runResult.Schema.
const runSchema = "lambdac.run/v1"

// runResult is what `lambdac replay --json` prints.
type runResult struct {
	Schema string `json:"schema"`
	// Version is the version of the tool.
	Version  string   `json:"version"`
	Warnings []string `json:"warnings"`
	// Run is the run directory.
	Run      string         `json:"run"`
	Validity trace.Validity `json:"validity"`
	// Scheduled is the number of requests drawn up, those of warm-ups
	// included; it equals the sum of Outcomes.
	Scheduled int64                   `json:"scheduled"`
	Outcomes  map[trace.Outcome]int64 `json:"outcomes"`
	// Levels are those of levels.json.
	Levels []trace.Level `json:"levels"`
	// Telemetry are the sources that were sampled, and those that are not there.
	Telemetry []telemetry.Source `json:"telemetry"`
}

func newRunResult(out string, r *replayer.Result, sampled []telemetry.Source) *runResult {
	return &runResult{
		Schema: runSchema, Version: version, Warnings: append([]string{}, r.Warnings...), Run: out,
		Validity: r.Validity, Scheduled: r.Scheduled, Outcomes: r.Outcomes, Levels: append([]trace.Level{}, r.Levels...),
		Telemetry: append([]telemetry.Source{}, sampled...),
	}
}
