package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/lambdac/lambdac/analyzer"
)

// CompareText writes a comparison for a terminal: the verdict first, then each
// metric.
func CompareText(w io.Writer, c *analyzer.Comparison) error {
	var b strings.Builder
	fmt.Fprintln(&b, compareHeadline(c))
	fmt.Fprintln(&b)
	for _, a := range compareArms(c) {
		fmt.Fprintf(&b, "%s\n", a)
	}
	fmt.Fprintf(&b, "%s\n\n", comparePairing(c))
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "metric\tbaseline\tcandidate\tchange\t95 %\tp adjusted\tn\tverdict")
	for i := range c.Metrics {
		m := &c.Metrics[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", m.Metric, metricValue(m, m.Baseline), metricValue(m, m.Candidate),
			changePoint(m.Effect), changeInterval(m.Effect), compareP(m.PAdjusted), m.N, metricVerdict(m))
	}
	_ = t.Flush() // a strings.Builder does not fail
	compareNotes(&b, c, "  ")
	return writeAll(w, b.String())
}

// CompareMarkdown writes a comparison as a comment on a pull request.
func CompareMarkdown(w io.Writer, c *analyzer.Comparison) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### lambdac: %s\n\n", cell(compareHeadline(c)))
	fmt.Fprintln(&b, "| metric | baseline | candidate | change | 95 % | verdict |")
	fmt.Fprintln(&b, "|---|--:|--:|--:|--:|---|")
	for i := range c.Metrics {
		m := &c.Metrics[i]
		name := m.Metric
		if m.Primary {
			name = "**" + name + "**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", cell(name), metricValue(m, m.Baseline), metricValue(m, m.Candidate),
			changePoint(m.Effect), changeInterval(m.Effect), cell(metricVerdict(m)))
	}
	fmt.Fprintln(&b)
	for _, a := range compareArms(c) {
		fmt.Fprintf(&b, "- %s\n", cell(a))
	}
	fmt.Fprintf(&b, "- %s\n", cell(comparePairing(c)))
	compareNotes(&b, c, "- ")
	return writeAll(w, b.String())
}

func writeAll(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// cell is text that cannot end a cell or a line of a Markdown table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(s)
}

// compareHeadline is the one sentence of the verdict.
func compareHeadline(c *analyzer.Comparison) string {
	switch {
	case c.Verdict == analyzer.Pass:
		return "PASS: no primary metric is worse by more than the tolerance"
	case len(c.Reasons) == 0:
		return string(c.Verdict)
	case c.Verdict == analyzer.Regression:
		return "REGRESSION: " + strings.Join(c.Reasons, "; ")
	}
	return "NOT ENOUGH EVIDENCE: " + strings.Join(c.Reasons, "; ")
}

func compareArms(c *analyzer.Comparison) []string {
	arms := []string{armLine("baseline ", &c.Baseline), armLine("candidate", &c.Candidate)}
	if c.Control != nil {
		arms = append(arms, armLine("control  ", c.Control))
	}
	return arms
}

func armLine(role string, a *analyzer.Arm) string {
	line := fmt.Sprintf("%s  %s: %s, %d of %d runs judged, %d requests, %d failed", role, a.Name, a.Validity.Verdict, a.Judged, a.Runs, a.N, a.Errors)
	if len(a.Validity.Reasons) > 0 {
		line += " (" + a.Validity.Reasons[0]
		if more := len(a.Validity.Reasons) - 1; more > 0 {
			line += fmt.Sprintf("; %d more", more)
		}
		line += ")"
	}
	return line
}

func comparePairing(c *analyzer.Comparison) string {
	p := &c.Pairing
	line := fmt.Sprintf("compared   by %s: %d", p.Unit, p.Units)
	if p.Requests > 0 {
		line += fmt.Sprintf(", %d requests in both arms, %d and %d in one only", p.Requests, p.OnlyBaseline, p.OnlyCandidate)
	}
	if p.Duplicates > 0 {
		line += fmt.Sprintf(", %d left out for an id that comes twice", p.Duplicates)
	}
	return line
}

// compareNotes lists what a reader of the table must know.
func compareNotes(b *strings.Builder, c *analyzer.Comparison, bullet string) {
	for i := range c.Metrics {
		m := &c.Metrics[i]
		if m.Reason != "" {
			fmt.Fprintf(b, "%s%s: %s\n", bullet, m.Metric, m.Reason)
		}
		if m.Missing != "" && m.Missing != sharedMissing(c) {
			fmt.Fprintf(b, "%s%s needs %s\n", bullet, m.Metric, m.Missing)
		}
	}
	if missing := sharedMissing(c); missing != "" {
		fmt.Fprintf(b, "%severy metric needs %s\n", bullet, missing)
	}
	for _, class := range c.Classes {
		if class.Missing {
			fmt.Fprintf(b, "%sclass %s: %d answered in the baseline, none in the candidate\n", bullet, class.Class, class.BaselineAnswered)
		}
	}
	for _, w := range c.Warnings {
		fmt.Fprintf(b, "%swarning: %s\n", bullet, w)
	}
}

// sharedMissing is what all metrics lack alike; empty where they do not.
func sharedMissing(c *analyzer.Comparison) string {
	for i := range c.Metrics {
		if c.Metrics[i].Missing != c.Metrics[0].Missing {
			return ""
		}
	}
	if len(c.Metrics) < 2 {
		return ""
	}
	return c.Metrics[0].Missing
}

func metricVerdict(m *analyzer.MetricVerdict) string {
	text := string(m.Verdict)
	if m.Indicated != nil {
		text += ", indicated " + string(*m.Indicated)
	}
	if m.Verdict == analyzer.Unclear && m.NoRegression {
		text += ", no regression"
	}
	return text
}

// metricValue is a metric in its own unit.
func metricValue(m *analyzer.MetricVerdict, v *float64) string {
	switch {
	case v == nil:
		return unknown
	case m.Effect.Unit == "points":
		return percent(v)
	case m.Metric == "output_tokens_per_s" || m.Metric == "goodput":
		return significant(*v, 4)
	}
	return significant(*v, 3) + " ms"
}

// changePoint is the change as a difference: percent of a ratio, or points.
func changePoint(d analyzer.Difference) string {
	if d.Point == nil {
		return unknown
	}
	if d.Unit == "points" {
		return signed(*d.Point) + " pt"
	}
	return signed(100*(*d.Point-1)) + " %"
}

func changeInterval(d analyzer.Difference) string {
	if d.Low == nil || d.High == nil {
		return unknown
	}
	low, high := *d.Low, *d.High
	if d.Unit != "points" {
		low, high = 100*(low-1), 100*(high-1)
	}
	return signed(low) + " … " + signed(high)
}

func signed(v float64) string {
	if v > 0 {
		return "+" + significant(v, 3)
	}
	return significant(v, 3)
}

func compareP(p *float64) string {
	if p == nil {
		return unknown
	}
	if *p < 0.0001 {
		return "< 0.0001"
	}
	return significant(*p, 2)
}
