package report

import (
	"fmt"
	"strings"

	"github.com/lambdac/lambdac/analyzer"
)

// section is what one analysis over time or texts found, in lines.
type section struct {
	Title string
	Lines []string
}

// sections are those that the run has data for.
func sections(a *analyzer.Analysis) []section {
	var out []section
	for _, s := range []section{
		{"Service-level targets over time", targetLines(a.Windows)},
		{"Recovery after faults", recoveryLines(a.Recovery)},
		{"Requests that faults fell on", fallbackLines(a.Fallback)},
		{"Semantic entropy", entropyLines(a.Entropy)},
		{"Steady state of repeated answers", steadyLines(a.SteadyState)},
	} {
		if len(s.Lines) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// textSections writes them for a terminal.
func textSections(b *strings.Builder, a *analyzer.Analysis) {
	for _, s := range sections(a) {
		fmt.Fprintf(b, "\n%s\n", strings.ToLower(s.Title))
		for _, line := range s.Lines {
			fmt.Fprintf(b, "  %s\n", line)
		}
	}
}

// targetLines has a line for each target, and where it is broken the lowest and
// the worst load.
func targetLines(w *analyzer.Windows) []string {
	if w == nil || w.BaselinePerS == nil {
		return nil
	}
	var out []string
	for _, t := range w.Targets {
		line := fmt.Sprintf("%s at most %s: %s", words(t.Name), value(&t.Limit, t.Unit), stateWords(t.State))
		var beyond []analyzer.LoadTarget
		for _, l := range t.Loads {
			if l.State == t.State && t.State != analyzer.Within {
				beyond = append(beyond, l)
			}
		}
		if n := len(beyond); n > 0 {
			line += fmt.Sprintf(" at %d of %d loads; first at %s", n, len(t.Loads), worst(&beyond[0], t.Unit))
			if n > 1 {
				line += "; last at " + worst(&beyond[n-1], t.Unit)
			}
		}
		if t.Missing != "" {
			line += "; missing: " + t.Missing
		}
		out = append(out, line)
	}
	return out
}

// worst is the worst window of a load.
func worst(l *analyzer.LoadTarget, unit string) string {
	ends := interval(l.Worst.Low, l.Worst.High, func(v *float64) string { return value(v, unit) })
	text := fmt.Sprintf("%s/s, in %d of %d windows, worst %s (95 %% %s", rate(&l.OfferedPerS), l.Breached+l.Indicated, l.Windows, value(l.Worst.Point, unit), ends)
	if l.WorstS > 0 {
		text += " from " + seconds(l.WorstS) + " on"
	}
	return text + ")"
}

// stateWords is the state of a target for people.
func stateWords(s analyzer.TargetState) string {
	switch s {
	case analyzer.Breach:
		return "broken"
	case analyzer.BreachIndicated:
		return "indicated to be broken"
	case analyzer.Within:
		return "kept"
	}
	return "not enough requests"
}

// value is a target's number with its unit.
func value(v *float64, unit string) string {
	if unit == "share" {
		return percent(v)
	}
	return measured(v, unit)
}

func recoveryLines(r *analyzer.Recovery) []string {
	if r == nil {
		return nil
	}
	out := []string{fmt.Sprintf("%s, objectives: %s", r.Verdict, strings.Join(r.Objectives, ", "))}
	if r.Missing != "" {
		out[0] = fmt.Sprintf("%s; missing: %s", r.Verdict, r.Missing)
	}
	for _, f := range r.Faults {
		line := fmt.Sprintf("%s (%s): ", f.Name, f.Kind)
		switch {
		case f.Seconds == nil:
			line += "not known: " + f.Missing
		case f.Censored:
			line += fmt.Sprintf("> %s: not while it was watched", seconds(*f.Seconds))
		default:
			line += fmt.Sprintf("within the objectives again %s after its end", seconds(*f.Seconds))
		}
		switch {
		case f.NoticedSeconds != nil:
			line += fmt.Sprintf(", noticed after %.2f s", *f.NoticedSeconds)
		case f.Noticed != nil:
			line += ", not noticed"
		}
		if f.OfferedPerS != nil {
			line += fmt.Sprintf(", at %s/s", rate(f.OfferedPerS))
		}
		out = append(out, line)
	}
	for _, m := range r.Medians {
		if m.Windows < 2 {
			continue
		}
		median := "not reached"
		if m.Seconds != nil {
			median = seconds(*m.Seconds)
		}
		out = append(out, fmt.Sprintf("median of %s: %s, %d of %d recovered", m.Name, median, m.Recovered, m.Windows))
	}
	return out
}

func entropyLines(e *analyzer.Entropy) []string {
	if e == nil {
		return nil
	}
	line := "answers at the lowest and the highest load: " + string(e.Verdict)
	if e.Change.Point != nil {
		line += fmt.Sprintf(", change %s bits (95 %% %s), p = %s, %d prompts", significant(*e.Change.Point, 3),
			interval(e.Change.Low, e.Change.High, number), significant(*e.PValue, 2), e.N)
	}
	if e.Missing != "" {
		line += "; missing: " + e.Missing
	}
	out := []string{line}
	if e.Method != nil && *e.Method == "lexical" {
		out = append(out, "texts were compared by their letters (lexical), which says nothing of meaning")
	}
	if e.Prompts != nil {
		out = append(out, "prompts: "+bits(e.Prompts))
	}
	for _, l := range e.Answers {
		out = append(out, fmt.Sprintf("answers at %s/s: %s", rate(&l.OfferedPerS), bits(&l.EntropyBits)))
	}
	return out
}

// bits is one entropy.
func bits(e *analyzer.EntropyBits) string {
	text := fmt.Sprintf("%s bits (95 %% %s), %d texts in %d clusters, coverage %s",
		number(e.Point), interval(e.Low, e.High, number), e.N, e.Clusters, percent(e.Coverage))
	if e.Missing != "" {
		text += "; not enough: " + e.Missing
	}
	return text
}

func steadyLines(s *analyzer.SteadyState) []string {
	if s == nil {
		return nil
	}
	line := fmt.Sprintf("%s, by %s, which know words and no meaning", s.Verdict, words(s.Method))
	if s.Missing != "" {
		line += "; missing: " + s.Missing
	}
	out := []string{line}
	for _, l := range s.Loads {
		if l.Similarity == nil {
			continue
		}
		verdict := string(l.Verdict)
		if l.Indicated && l.Verdict != analyzer.Found {
			verdict += ", indicated"
		}
		out = append(out, fmt.Sprintf("at %s/s %s: mean cosine %s, at least %s with 95 %%, of %d answers to %s",
			rate(&l.OfferedPerS), verdict, number(l.Similarity), number(l.Low), l.Answers, l.Prompt))
	}
	return out
}
