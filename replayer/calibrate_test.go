package replayer

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// After 200 answers prompts are compared, corrected and reported.
func TestCalibration(t *testing.T) {
	rows := []struct {
		name    string
		count   func(words int) int
		scaled  bool
		prefill bool // valid for prefill claims
	}{
		{"exact", func(n int) int { return n }, false, true},
		{"off by 5 %", func(n int) int { return int(math.Round(float64(n) * 1.05)) }, true, true},
		{"a template of 90 tokens", func(n int) int { return n + 90 }, true, false},
		{"another vocabulary", func(n int) int { return n * 3 / 2 }, true, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			tr := chatTrace(400, 100*ms)
			for i, r := range tr.Records {
				r.InputTokens = new(int64(200 + 7*(i%50)))
			}
			s := &stub{}
			s.answer = func(w http.ResponseWriter, _ *http.Request) {
				s.mu.Lock()
				body := s.bodies[len(s.bodies)-1]
				s.mu.Unlock()
				e := stream200(w)
				e.text("a")
				e.finish(row.count(promptWords(body)), 1)
			}
			virtual(t, s, one(10, 100*time.Second), tr, func(t *testing.T, res *Result, out *memory, err error) {
				if err != nil {
					t.Fatal(err)
				}
				fit := out.manifest.Run.Prompts
				if len(fit) != 1 || fit[0].N != calibrateAfter || fit[0].Model != "m" {
					t.Fatalf("prompts %+v", fit)
				}
				said := func(text string) bool {
					return slices.ContainsFunc(out.manifest.Warnings, func(s string) bool { return strings.Contains(s, text) })
				}
				if said("later ones were scaled") != row.scaled || said("invalid for prefill claims") == row.prefill {
					t.Errorf("fit %+v, warnings %q", fit, out.manifest.Warnings)
				}
				// 200 answers and the look-ahead of 16 later all prompts are right.
				sorted, worst := out.byStart(), 0.0
				for _, r := range sorted[calibrateAfter+20:] {
					want := *tr.Records[index(r)].InputTokens
					worst = max(worst, math.Abs(float64(*r.InputTokens-want))/float64(want))
				}
				if worst > scaleAbove {
					t.Errorf("after the fit %+v prompts are still off by %.1f %%", fit, 100*worst)
				}
			})
		})
	}
}

// index is the number in a test record's id.
func index(r *trace.Record) (i int) {
	id, _, _ := strings.Cut(r.RequestID, "#")
	_, _ = fmt.Sscanf(id, "r%d", &i)
	return i
}
