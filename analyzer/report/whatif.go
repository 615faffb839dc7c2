package report

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/lambdac/lambdac/analyzer"
)

// planLine is the answer to a planner's question in one sentence; empty where
// none was asked.
func planLine(w *analyzer.WhatIf) string {
	if w == nil || w.ForecastPerS == nil {
		return ""
	}
	text := fmt.Sprintf("for %s req/s: ", rate(w.ForecastPerS))
	if w.Replicas == nil {
		return text + "no number of replicas is proven to be enough: " + w.Reason
	}
	replicas := "replicas of what was run are"
	if *w.Replicas == 1 {
		replicas = "replica of what was run is"
	}
	text += fmt.Sprintf("%d %s enough, limited by %s", *w.Replicas, replicas, limitName(*w.LimitedBy))
	if w.FleetPerHour != nil {
		text += fmt.Sprintf("; %s per hour", brief(w.FleetPerHour))
	}
	return text
}

// limitName is a limit for people.
func limitName(name string) string {
	switch name {
	case "lambda_c":
		return "λc"
	case "keeps_up":
		return "what it keeps up with"
	}
	return name
}

// brief formats a number to three significant digits.
func brief(v *float64) string {
	if v == nil {
		return unknown
	}
	return significant(*v, 3)
}

// whole formats a whole number.
func whole(v *int64) string {
	if v == nil {
		return unknown
	}
	return fmt.Sprint(*v)
}

// estimated formats a point with its ends; without a point, the ends alone.
func estimated(e analyzer.Estimate, f func(*float64) string) string {
	ends := interval(e.Low, e.High, f)
	switch {
	case e.Point == nil:
		return ends
	case e.Low == nil && e.High == nil:
		return f(e.Point)
	}
	return fmt.Sprintf("%s (%s)", f(e.Point), ends)
}

// replicas formats a number of replicas with its ends.
func replicas(r analyzer.Replicas) string {
	if r.Low == nil && r.High == nil {
		return whole(r.Point)
	}
	low, high := "open", "open"
	if r.Low != nil {
		low = whole(r.Low)
	}
	if r.High != nil {
		high = whole(r.High)
	}
	ends := low + "–" + high
	switch {
	case low == high:
		return low
	case r.Point == nil:
		return ends
	}
	return fmt.Sprintf("%d (%s)", *r.Point, ends)
}

// textWhatIf writes the answers to a planner.
func textWhatIf(b *strings.Builder, w *analyzer.WhatIf) {
	if w == nil {
		return
	}
	fmt.Fprintln(b, "\nwhat if")
	switch line := planLine(w); {
	case line != "":
		fmt.Fprintf(b, "  %s\n", line)
	case w.Reason != "":
		fmt.Fprintf(b, "  not known: %s\n", w.Reason)
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	if len(w.Limits) > 0 {
		fmt.Fprintln(t, "  limit\tload/s, 95 %\treplicas\tper 1k requests\tper 1M output tokens")
	}
	for _, l := range w.Limits {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\n", limitName(l.Limit), estimated(l.LoadPerS, rate), replicas(l.Replicas), estimated(l.CostPer1kRequests, brief), estimated(l.CostPer1MTokens, brief))
	}
	_ = t.Flush() // a strings.Builder does not fail
	if len(w.LevelCosts) > 0 {
		fmt.Fprintln(t, "  as run, offered/s\tper 1k good answers\tper 1M output tokens")
	}
	for _, c := range w.LevelCosts {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", rate(&c.OfferedPerS), brief(c.Per1kGood), brief(c.Per1MTokens))
	}
	_ = t.Flush() // a strings.Builder does not fail
}
