package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lambdac/lambdac/analyzer"
	"github.com/lambdac/lambdac/datasets"
	"github.com/lambdac/lambdac/trace/tracedir"
)

func newShow() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "show DIR",
		Short:   "Show what is in a trace or run",
		Long:    "Show rates, token lengths, models, sessions, prefix sharing and losses of a trace or run directory,\nor of a dataset that comes with the program (dataset:NAME).",
		Example: "  lambdac show traces/tuesday\n  lambdac show traces/tuesday --json | jq .rates",
		Args:    oneArg("DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			return show(c, args[0], asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the summary as one JSON document")
	return c
}

// oneArg accepts exactly one argument and names it in the error.
func oneArg(name string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage("see lambdac "+c.Name()+" --help", "%s takes one %s, got %d arguments", c.Name(), name, len(args))
		}
		return nil
	}
}

// show prints the summary of a directory, and its doubts as messages.
func show(c *cobra.Command, path string, asJSON bool) (err error) {
	dir, release, err := openToShow(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	s, err := analyzer.Describe(dir)
	if err != nil {
		return fmt.Errorf("describe trace: %w", err)
	}
	s.Version = version
	if asJSON {
		err = printJSON(c.OutOrStdout(), s)
	} else {
		err = printSummary(c.OutOrStdout(), path, s)
	}
	u := newUI(c)
	for _, warning := range s.Warnings {
		u.warn("%s", warning)
	}
	return err
}

// openToShow opens a directory, or a dataset that comes with the program
// (dataset:NAME).
func openToShow(path string) (dir *tracedir.Dir, release func() error, err error) {
	if name, is := strings.CutPrefix(path, "dataset:"); is {
		return datasets.Open(name)
	}
	dir, err = tracedir.Open(path)
	return dir, func() error { return nil }, err
}

func printSummary(w io.Writer, path string, s *analyzer.Summary) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d exchanges", path, s.Exchanges)
	if s.Sanitizer != nil {
		fmt.Fprintf(&b, ", sanitized (%s)", s.Sanitizer.Mode)
	}
	fmt.Fprintln(&b)
	line(&b, "outcomes", counts(s.Outcomes))
	line(&b, "apis", counts(s.APIKinds))
	line(&b, "models", counts(s.Models))
	line(&b, "rate", rates(&s.Rates))
	for _, busy := range s.Rates.Busiest {
		line(&b, "", fmt.Sprintf("busiest minute %s/s (%d requests)", number(busy.PerS), busy.Requests))
	}
	line(&b, "input", lengths(&s.Tokens.Input))
	line(&b, "output", lengths(&s.Tokens.Output))
	if s.Prefix.SeenShare != nil {
		line(&b, "prefix", fmt.Sprintf("%.1f %% of %d blocks seen before", *s.Prefix.SeenShare*100, s.Prefix.Blocks))
	}
	if s.Prefix.CachedShare != nil {
		line(&b, "cache", fmt.Sprintf("%.1f %% of the prompt tokens served from one, by usage", *s.Prefix.CachedShare*100))
	}
	line(&b, "sessions", fmt.Sprintf("%d with %d exchanges, %d tenants", s.Sessions.Sessions, s.Sessions.InSession, s.Sessions.Tenants))
	line(&b, "bytes", bytesLine(&s.Bytes))
	if len(s.Losses) > 0 {
		line(&b, "losses", counts(s.Losses))
	}
	if s.Unpaired > 0 {
		line(&b, "unpaired", fmt.Sprint(s.Unpaired))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func line(b *strings.Builder, name, text string) {
	if text != "" {
		fmt.Fprintf(b, "  %-9s %s\n", name, text)
	}
}

// counts lists name and number, most first.
func counts(m map[string]int64) string {
	names := slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		if m[a] != m[b] {
			return int(min(max(m[b]-m[a], -1), 1))
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%s %d", name, m[name]))
	}
	return strings.Join(parts, ", ")
}

func bytesLine(s *analyzer.SummaryBytes) string {
	if s.Wire == nil || s.Captured == nil || s.Lost == nil {
		return "unknown: " + s.Reason
	}
	return fmt.Sprintf("%d on the wire, %d captured, %d lost", *s.Wire, *s.Captured, *s.Lost)
}

func rates(r *analyzer.Rates) string {
	if r.MeanPerS == nil {
		return r.Reason
	}
	text := fmt.Sprintf("%s/s over %s", number(*r.MeanPerS), time.Duration(r.SpanS*float64(time.Second)).Round(time.Millisecond))
	if r.GapCV != nil {
		text += fmt.Sprintf(", gap CV %.2f", *r.GapCV)
	}
	text += ", stationary: " + r.Stationary
	if r.Reason != "" {
		text += " (" + r.Reason + ")"
	}
	return text
}

func lengths(l *analyzer.Lengths) string {
	if l.N == 0 || l.P50 == nil || l.P99 == nil || l.Max == nil {
		return "tokens unknown"
	}
	return fmt.Sprintf("tokens p50 %s, p99 %s, max %s (n %d)", number(*l.P50), number(*l.P99), number(*l.Max), l.N)
}

// number formats with four significant digits.
func number(v float64) string { return fmt.Sprintf("%.4g", v) }
