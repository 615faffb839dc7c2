package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lambdac/lambdac/analyzer"
)

// basis says why the run may be believed, or why not: what was run, and what of
// it is not in the fits.
func basis(a *analyzer.Analysis) []string {
	var out []string
	if r := &a.Run; r.Runs > 0 {
		line := fmt.Sprintf("%d levels were run", r.Runs)
		if r.WindowS > 0 {
			line += fmt.Sprintf(", %s each after %s of warm-up", seconds(r.WindowS), seconds(r.WarmupS))
		}
		out = append(out, line+fmt.Sprintf("; %s loop, scaling %s, seed %d", r.Loop, r.Scaling, r.Seed))
	}
	var requests, excluded, faulted int64
	var unjudged, unsteady, saturated []float64
	for i := range a.Levels {
		l := &a.Levels[i]
		requests, excluded, faulted = requests+l.Requests, excluded+l.Excluded, faulted+l.Faulted
		switch {
		case !l.Judged:
			unjudged = append(unjudged, l.OfferedPerS)
		case slices.Contains(l.Flags, "not_steady"):
			unsteady = append(unsteady, l.OfferedPerS)
		case slices.Contains(l.Flags, "saturated"):
			saturated = append(saturated, l.OfferedPerS)
		}
	}
	if requests > 0 {
		out = append(out, fmt.Sprintf("of %d requests %d say nothing of the service (excluded) and %d had a fault of ours; the other %d are judged", requests, excluded, faulted, requests-excluded-faulted))
	}
	for _, part := range []struct {
		loads []float64
		text  string
	}{
		{unjudged, "not judged, and in no fit"},
		{unsteady, "left out of the fits of the error rate: the service was still filling"},
	} {
		if len(part.loads) > 0 {
			out = append(out, loadList(part.loads)+": "+part.text)
		}
	}
	if a.Methods.Truncated > 0 {
		out = append(out, fmt.Sprintf("%s: more than a quarter failed, left out of the fit of the onset", loadList(saturated)))
	}
	return out
}

// loadList is loads in words.
func loadList(loads []float64) string {
	text := make([]string, len(loads))
	for i := range loads {
		text[i] = rate(&loads[i])
	}
	return strings.Join(text, ", ") + " req/s"
}
