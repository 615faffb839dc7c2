package report

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/lambdac/lambdac/analyzer"
)

// inflectionName is what the turn is called for people.
func inflectionName(id string) string {
	switch id {
	case "throughput_up_accuracy_down":
		return "I  throughput up, accuracy down"
	case "oom_below_cpu_60":
		return "II  out of memory below 60 % CPU"
	case "p99_jump_low_concurrency":
		return "III  P99 jump at low load"
	}
	return words(id)
}

// words is a stable name as people read it.
func words(name string) string { return strings.ReplaceAll(name, "_", " ") }

// measured is a value with its unit.
func measured(v *float64, unit string) string {
	if v == nil {
		return unknown
	}
	switch unit {
	case "ratio":
		return "× " + number(v)
	case "index", "share":
		return number(v)
	case "bytes":
		return byteSize(*v)
	}
	return strings.TrimSpace(number(v) + " " + unit)
}

// byteSize formats a size with a binary unit.
func byteSize(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if v >= unit.size {
			return significant(v/unit.size, 3) + " " + unit.name
		}
	}
	return significant(v, 3) + " B"
}

// causeState is the state of another explanation in words.
func causeState(s analyzer.State) string {
	switch s {
	case analyzer.Holds:
		return "present"
	case analyzer.Fails:
		return "ruled out"
	}
	return "not known"
}

// inflectionLine says what was found, how large, how sure, and what is missing.
func inflectionLine(i analyzer.Inflection) string {
	var parts []string
	if i.Reason != "" {
		parts = append(parts, i.Reason)
	}
	if e := i.Effect; e.Point != nil {
		parts = append(parts, fmt.Sprintf("effect %s (95 %% %s)", measured(e.Point, e.Unit), interval(e.Low, e.High, number)))
	}
	if i.PValue != nil {
		parts = append(parts, "p = "+significant(*i.PValue, 2))
	}
	if i.Missing != "" {
		parts = append(parts, "missing: "+i.Missing)
	}
	return strings.Join(parts, "; ")
}

// textInflections writes the three turns: a line each, and the evidence of those
// that are more than "not measured".
func textInflections(b *strings.Builder, a *analyzer.Analysis) {
	if len(a.Inflections) == 0 {
		return
	}
	fmt.Fprintln(b, "\ninflection points")
	for _, i := range a.Inflections {
		verdict := string(i.Verdict)
		if i.Indicated && i.Verdict != analyzer.Found {
			verdict += ", indicated"
		}
		fmt.Fprintf(b, "  %s: %s\n", inflectionName(i.ID), verdict)
		if line := inflectionLine(i); line != "" {
			fmt.Fprintf(b, "      %s\n", line)
		}
		t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
		for _, e := range i.Evidence {
			fmt.Fprintf(t, "      %s\t%s\t%s\t%s\n", words(e.Name), e.State, measured(e.Point, e.Unit), e.Text)
		}
		for _, c := range i.Competing {
			fmt.Fprintf(t, "      or %s\t%s\t\t%s\n", words(c.Name), causeState(c.State), c.Text)
		}
		_ = t.Flush() // a strings.Builder does not fail
	}
}
