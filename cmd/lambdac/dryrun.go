package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lambdac/lambdac/replayer"
)

// outlookSchema is the value of outlook.Schema.
const outlookSchema = "lambdac.outlook/v1"

// outlook is what `lambdac replay --dry-run --json` prints.
type outlook struct {
	Schema string `json:"schema"`
	// Version is the version of the tool.
	Version  string   `json:"version"`
	Warnings []string `json:"warnings"`
	// Plan is what would be done, level by level.
	Plan replayer.Outlook `json:"plan"`
	// Control is the same of an experiment's control arm, which comes after it;
	// nil where there is none.
	Control *replayer.Outlook `json:"control,omitempty"`
}

// dryRun prints what a replay would do, and its control arm where it has one.
func dryRun(c *cobra.Command, cfg replayer.Config, job replayJob, control *replayJob, asJSON bool) error {
	o, err := lookOut(cfg, job)
	if err != nil {
		return err
	}
	doc := &outlook{Schema: outlookSchema, Version: version, Warnings: []string{}, Plan: *o}
	if control != nil {
		if doc.Control, err = lookOut(cfg, *control); err != nil {
			return err
		}
	}
	if asJSON {
		return printJSON(c.OutOrStdout(), doc)
	}
	var b strings.Builder
	textOutlook(&b, cfg, o)
	if doc.Control != nil {
		fmt.Fprint(&b, "control arm, after it: ")
		textOutlook(&b, cfg, doc.Control)
	}
	_, err = fmt.Fprint(c.OutOrStdout(), b.String())
	return err
}

func lookOut(cfg replayer.Config, job replayJob) (*replayer.Outlook, error) {
	_, from, err := job.read()
	if err != nil {
		return nil, err
	}
	o, err := replayer.Plan(cfg, from)
	if err != nil {
		return nil, replayError(err, "")
	}
	return o, nil
}

func textOutlook(b *strings.Builder, cfg replayer.Config, o *replayer.Outlook) {
	fmt.Fprintf(b, "%d levels, %v and up to %v of drain after each; nothing was sent\n", len(o.Levels), o.Takes, cfg.Drain)
	for _, l := range o.Levels {
		inFlight := "not told by the trace"
		if l.PeakInFlight != nil {
			inFlight = fmt.Sprintf("%d if answers take as long as recorded", *l.PeakInFlight)
		}
		fmt.Fprintf(b, "  %8.4g/s  requests %6d  warm-up %5d  busiest second %5d  tokens in %d, out %d  in flight %s\n",
			l.OfferedPerS, l.Requests, l.Warmup, l.PeakPerS, l.InputTokens, l.OutputTokens, inFlight)
	}
	fmt.Fprintf(b, "  in all: %d requests, %d tokens in, %d out\n", o.Requests, o.InputTokens, o.OutputTokens)
	if o.Cost != nil {
		fmt.Fprintf(b, "  at these prices: %.4g\n", *o.Cost)
	}
	for _, k := range o.Knobs {
		fmt.Fprintf(b, "  %s\n", k)
	}
}
