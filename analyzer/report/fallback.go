package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lambdac/lambdac/analyzer"
)

// fallbackLines has a line for each fault and one for the requests without.
func fallbackLines(f *analyzer.Fallback) []string {
	if f == nil {
		return nil
	}
	line := string(f.Verdict)
	if f.Header != "" {
		line += ", by the field " + f.Header
	}
	if f.Missing != "" {
		line += "; missing: " + f.Missing
	}
	out := []string{line}
	for i := range f.Faults {
		out = append(out, f.Faults[i].Name+": "+faultedText(&f.Faults[i]))
	}
	return append(out, "no fault of the run: "+faultedText(&f.Others))
}

func faultedText(r *analyzer.FaultedRequests) string {
	parts := []string{fmt.Sprintf("%d requests, %d answered, %d errors, %d of them sheds", r.Requests, r.Answered, r.Errors, r.Sheds)}
	if r.FellBack.Point != nil {
		text := fmt.Sprintf("fell back in %s (95 %% %s)", percent(r.FellBack.Point), interval(r.FellBack.Low, r.FellBack.High, percent))
		if reasons := reasonsText(r.Reasons); reasons != "" {
			text += ": " + reasons
		}
		parts = append(parts, text)
	}
	if d := r.Delay; d.Point != nil {
		parts = append(parts, fmt.Sprintf("answered %+.3g ms later (95 %% %s)", *d.Point, interval(d.Low, d.High, number)))
	}
	if a := r.Accuracy; a.Point != nil {
		parts = append(parts, fmt.Sprintf("right %s (95 %% %s)", percent(a.Point), interval(a.Low, a.High, percent)))
	}
	if r.Name != "" && r.FellBack.Point != nil {
		parts = append(parts, string(r.Verdict))
	}
	if r.Missing != "" {
		parts = append(parts, "missing: "+r.Missing)
	}
	return strings.Join(parts, "; ")
}

// reasonsText lists what the answers said, the most frequent first.
func reasonsText(reasons map[string]int64) string {
	names := slices.SortedFunc(maps.Keys(reasons), func(a, b string) int {
		return cmp.Or(cmp.Compare(reasons[b], reasons[a]), strings.Compare(a, b))
	})
	for i, n := range names {
		names[i] = fmt.Sprintf("%s %d", n, reasons[n])
	}
	return strings.Join(names[:min(3, len(names))], ", ")
}
