package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/lambdac/lambdac/analyzer"
)

//go:embed report.html.tmpl
var page string

// chart is one figure in both themes; its table is the levels table.
type chart struct {
	Title, About string
	Light, Dark  template.HTML
}

// HTML writes the analysis as one page that needs no network.
func HTML(w io.Writer, a *analyzer.Analysis) error {
	charts, err := drawCharts(a)
	if err != nil {
		return err
	}
	t, err := template.New("report").Funcs(template.FuncMap{
		"rate": rate, "percent": percent, "millis": millis, "seconds": seconds,
		"rates":    func(low, high *float64) string { return interval(low, high, rate) },
		"percents": func(low, high *float64) string { return interval(low, high, percent) },
		"milliss":  func(low, high *float64) string { return interval(low, high, millis) },
		"load":     func(v float64) string { return rate(&v) },
		"notes":    levelNotes, "headroom": headroom, "regimes": regimes, "scaling": scaling, "pvalue": pValue,
		"inflectionname": inflectionName, "inflectionline": inflectionLine, "words": words, "measured": measured, "causestate": causeState, "sections": sections,
		"numbers": func(low, high *float64) string { return interval(low, high, number) },
		"number":  func(v float64) string { return significant(v, 4) },
		"numberp": func(v *float64) string {
			if v == nil {
				return unknown
			}
			return significant(*v, 3)
		},
	}).Parse(page)
	if err != nil {
		return fmt.Errorf("parse report template: %w", err)
	}
	if err := t.Execute(w, map[string]any{"A": a, "Headline": headline(a), "Charts": charts}); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func drawCharts(a *analyzer.Analysis) ([]chart, error) {
	var charts []chart
	for _, c := range []struct {
		title, about string
		draw         func(*analyzer.Analysis, theme) (string, error)
	}{
		{"Errors over load", "Share of offered requests that failed or were refused, per level, with 95 % Wilson intervals; the fitted curve; the interval of λc.", errorChart},
		{"Latency over load", "Time to first token from the scheduled send, answered requests only; p99 with its 95 % order-statistic interval.", latencyChart},
	} {
		light, err := c.draw(a, lightTheme())
		if err != nil {
			return nil, err
		}
		dark, err := c.draw(a, darkTheme())
		if err != nil {
			return nil, err
		}
		if light == "" {
			continue
		}
		// The SVG is made here, from numbers and fixed words.
		charts = append(charts, chart{c.title, c.about, template.HTML(light), template.HTML(dark)})
	}
	return charts, nil
}
