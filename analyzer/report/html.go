package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/lambdac/lambdac/analyzer"
)

//go:embed report.html.tmpl
var page string

// drawing is one chart in both themes; its table is the levels table.
type drawing struct {
	Chart

	Light, Dark template.HTML
}

// HTML writes the analysis as one page that needs no network.
func HTML(w io.Writer, a *analyzer.Analysis) error {
	var drawings []drawing
	for _, c := range Charts(a) {
		light, err := c.svg(lightTheme())
		if err != nil {
			return fmt.Errorf("draw chart %s: %w", c.Name, err)
		}
		dark, err := c.svg(darkTheme())
		if err != nil {
			return fmt.Errorf("draw chart %s: %w", c.Name, err)
		}
		// The SVG is made here, from numbers and text that its writer escapes.
		drawings = append(drawings, drawing{c, template.HTML(light), template.HTML(dark)})
	}
	t, err := template.New("report").Funcs(functions()).Parse(page)
	if err != nil {
		return fmt.Errorf("parse report template: %w", err)
	}
	if err := t.Execute(w, map[string]any{"A": a, "Headline": headline(a), "Charts": drawings}); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// functions are what the page's template calls.
func functions() template.FuncMap {
	return template.FuncMap{
		"rate": rate, "percent": percent, "millis": millis, "seconds": seconds,
		"rates":    func(low, high *float64) string { return interval(low, high, rate) },
		"percents": func(low, high *float64) string { return interval(low, high, percent) },
		"milliss":  func(low, high *float64) string { return interval(low, high, millis) },
		"numbers":  func(low, high *float64) string { return interval(low, high, number) },
		"load":     func(v float64) string { return rate(&v) },
		"number":   func(v float64) string { return significant(v, 4) },
		"brief":    brief, "amount": func(e analyzer.Estimate) string { return estimated(e, brief) },
		"loads": func(e analyzer.Estimate) string { return estimated(e, rate) }, "replicas": replicas, "limitname": limitName, "planline": planLine,
		"headroom": headroom, "control": control, "regimes": regimes, "scaling": scaling, "pvalue": pValue, "cards": cards, "levelnotes": levelLines, "basis": basis,
		"inflectionname": inflectionName, "inflectionline": inflectionLine, "words": words, "measured": measured, "causestate": causeState, "sections": sections,
		"verdict": func(v any) string { return strings.ReplaceAll(fmt.Sprint(v), "_", " ") },
	}
}

// card is one of the answers on top of the page.
type card struct{ Name, Value, More string }

// cards are the four numbers that a reader looks for first.
func cards(a *analyzer.Analysis) []card {
	c := &a.LambdaC
	critical := card{Name: "critical load λc", Value: unknown, More: strings.ReplaceAll(string(c.Verdict), "_", " ")}
	switch {
	case c.Verdict == analyzer.Found && c.Point != nil:
		critical.Value, critical.More = rate(c.Point)+" req/s", "95 % "+interval(c.Low, c.High, rate)
	case c.Verdict == analyzer.Found:
		critical.Value, critical.More = interval(c.Low, c.High, rate)+" req/s", "95 % interval; no point"
	}
	slo := card{Name: "objective kept up to λ_SLO", Value: unknown, More: "no objective was given"}
	if s := &a.LambdaSLO; s.SLO != nil {
		slo.More = *s.SLO
		if s.Low != nil {
			slo.Value = rate(s.Low) + " req/s"
		}
		if s.High != nil {
			slo.More += "; broken at " + rate(s.High)
		}
	}
	room := card{Name: "head-room", Value: unknown, More: a.Headroom.Reason}
	switch h := &a.Headroom; {
	case h.Share != nil:
		room.Value, room.More = percent(h.Share), "95 % "+interval(h.Low, h.High, percent)+" at today's peak of "+rate(h.RecordedPeakPerS)+"/s"
	case h.Low != nil:
		room.Value, room.More = "≥ "+percent(h.Low), "at today's peak of "+rate(h.RecordedPeakPerS)+"/s"
	}
	first := card{Name: "first to break", Value: unknown, More: a.FirstToBreakReason}
	if b := a.FirstToBreak; b != nil {
		first.Value, first.More = b.Name, "between "+rate(&b.Low)+" and "+rate(&b.High)+" req/s"
	}
	return []card{critical, slo, room, first}
}

// levelLines says of each level what a reader must know of it; nothing where
// there is nothing.
func levelLines(a *analyzer.Analysis) []string {
	var out []string
	for i := range a.Levels {
		l := &a.Levels[i]
		var notes []string
		if !l.Judged {
			notes = append(notes, "not judged")
		}
		for _, flag := range l.Flags {
			notes = append(notes, words(flag))
		}
		notes = append(notes, l.Reasons...)
		if l.TTFTUserUs.Reason != "" {
			notes = append(notes, l.TTFTUserUs.Reason)
		}
		if len(notes) > 0 {
			out = append(out, fmt.Sprintf("%s/s: %s", rate(&l.OfferedPerS), strings.Join(notes, "; ")))
		}
	}
	return out
}
