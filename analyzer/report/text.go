package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/lambdac/lambdac/analyzer"
)

// Text writes the analysis for a terminal: the verdict first, then why the run
// may be believed, then the levels.
func Text(w io.Writer, a *analyzer.Analysis) error {
	var b strings.Builder
	fmt.Fprintln(&b, headline(a))
	textValidity(&b, a)
	textLevels(&b, a)
	textFindings(&b, a)
	textWhatIf(&b, a.WhatIf)
	textInflections(&b, a)
	textSections(&b, a)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func textValidity(b *strings.Builder, a *analyzer.Analysis) {
	fmt.Fprintf(b, "\nrun: %s", a.Validity.Verdict)
	if a.Run.Runs > 0 {
		fmt.Fprintf(b, ", %d levels run of %s each after %s warm-up, %s loop, scaling %s, seed %d",
			a.Run.Runs, seconds(a.Run.WindowS), seconds(a.Run.WarmupS), a.Run.Loop, a.Run.Scaling, a.Run.Seed)
	}
	fmt.Fprintln(b)
	for _, reason := range a.Validity.Reasons {
		fmt.Fprintf(b, "  invalid: %s\n", reason)
	}
	for _, warning := range a.Warnings {
		fmt.Fprintf(b, "  warning: %s\n", warning)
	}
}

func textLevels(b *strings.Builder, a *analyzer.Analysis) {
	if len(a.Levels) == 0 {
		return
	}
	fmt.Fprintln(b)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "offered/s\tn\terrors\tsheds\texcluded\terror rate\t95 %\tTTFT p50 ms\tp99 ms\t95 %\tgoodput/s\t")
	for i := range a.Levels {
		l := &a.Levels[i]
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			rate(&l.OfferedPerS), l.N, l.Errors, l.Sheds, l.Excluded,
			percent(l.ErrorRate.Point), interval(l.ErrorRate.Low, l.ErrorRate.High, percent),
			millis(l.TTFTUserUs.P50), millis(l.TTFTUserUs.P99), interval(l.TTFTUserUs.P99Low, l.TTFTUserUs.P99High, millis),
			rate(l.GoodputPerS), levelNotes(l))
	}
	_ = t.Flush() // a strings.Builder does not fail
	textPrefixes(b, a)
	for i := range a.Levels {
		for _, reason := range a.Levels[i].Reasons {
			if a.Levels[i].Judged {
				fmt.Fprintf(b, "  %s/s: %s\n", rate(&a.Levels[i].OfferedPerS), reason)
			}
		}
	}
}

// textPrefixes says how much of the prompts a prefix cache could serve and did,
// over all levels; the levels' own are in analysis.json and report.html.
func textPrefixes(b *strings.Builder, a *analyzer.Analysis) {
	var parts []string
	for _, p := range []struct {
		name string
		of   func(*analyzer.Level) *float64
	}{
		{"expected", func(l *analyzer.Level) *float64 { return l.PrefixExpectedShare }},
		{"by usage", func(l *analyzer.Level) *float64 { return l.PrefixUsageShare }},
		{"by the server's counters", func(l *analyzer.Level) *float64 { return l.PrefixHitShare }},
	} {
		var low, high *float64
		for i := range a.Levels {
			v := p.of(&a.Levels[i])
			if v != nil && (low == nil || *v < *low) {
				low = v
			}
			if v != nil && (high == nil || *v > *high) {
				high = v
			}
		}
		if low != nil {
			parts = append(parts, p.name+" "+interval(low, high, percent))
		}
	}
	if len(parts) > 0 {
		fmt.Fprintf(b, "  prefix hits of the levels: %s\n", strings.Join(parts, ", "))
	}
}

// levelNotes are the flags of a level, and why it is not judged.
func levelNotes(l *analyzer.Level) string {
	notes := append([]string{}, l.Flags...)
	if !l.Judged {
		notes = append(notes, "not judged")
	}
	if len(notes) == 0 {
		return ""
	}
	return "  " + strings.Join(notes, "; ")
}

func textFindings(b *strings.Builder, a *analyzer.Analysis) {
	c := &a.LambdaC
	fmt.Fprintln(b)
	fmt.Fprintf(b, "λc      %s", c.Verdict)
	if c.PValue != nil {
		fmt.Fprintf(b, ", existence p %s", pValue(a))
	}
	if c.Epsilon0 != nil {
		fmt.Fprintf(b, ", ε0 = %s", percent(c.Epsilon0))
	}
	if c.Delta != nil {
		fmt.Fprintf(b, ", Δ = %s req/s", rate(c.Delta))
	}
	fmt.Fprintln(b)
	for _, line := range []string{c.Reason, c.Missing} {
		if line != "" {
			fmt.Fprintf(b, "        %s\n", line)
		}
	}
	if len(c.NotSeparable) > 0 {
		fmt.Fprintf(b, "        not separable from: %s\n", strings.Join(c.NotSeparable, ", "))
	}
	if line := regimes(a); line != "" {
		fmt.Fprintf(b, "regimes %s\n", line)
	}
	textSLO(b, a)
	if s := a.Stability; s != nil && s.Verdict == analyzer.Found {
		fmt.Fprintf(b, "stability: keeps up at %s, falls behind at %s req/s%s\n", rate(s.Low), rate(s.High), served(a))
	}
	if line := scaling(a); line != "" {
		fmt.Fprintf(b, "scaling %s\n", line)
	}
	if a.FirstToBreak == nil && a.FirstToBreakReason != "" {
		fmt.Fprintf(b, "first to break: not known: %s\n", a.FirstToBreakReason)
	}
	if headroom(a) == "" && a.Headroom.Reason != "" {
		fmt.Fprintf(b, "head-room: not known: %s\n", a.Headroom.Reason)
	}
	if line := control(a); line != "" {
		fmt.Fprintf(b, "control arm: %s\n", line)
	}
}

func textSLO(b *strings.Builder, a *analyzer.Analysis) {
	if len(a.Objectives) == 0 {
		fmt.Fprintln(b, "λ_SLO   no objective was given")
	}
	for _, s := range a.Objectives {
		name := ""
		if s.SLO != nil {
			name = *s.SLO
		}
		fmt.Fprintf(b, "λ_SLO   %s: %s", name, s.Verdict)
		if s.Low != nil || s.High != nil {
			fmt.Fprintf(b, ", holds at %s, broken at %s req/s", rate(s.Low), rate(s.High))
		}
		if m := s.Modelled; m != nil {
			fmt.Fprintf(b, "; by the %s curve %s (%s)", m.Family, rate(&m.Point), interval(&m.Low, &m.High, rate))
		}
		if s.Reason != "" {
			fmt.Fprintf(b, " (%s)", s.Reason)
		}
		fmt.Fprintln(b)
	}
}
