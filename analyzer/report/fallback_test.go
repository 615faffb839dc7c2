package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/analyzer"
)

func TestFallbackLines(t *testing.T) {
	f := &analyzer.Fallback{
		Verdict: analyzer.Found, Header: "x-fallback",
		Faults: []analyzer.FaultedRequests{{
			Name: "drift", Verdict: analyzer.Found, Requests: 200, Answered: 198, Errors: 2, Sheds: 1,
			FellBack: analyzer.Proportion{Point: new(0.97), Low: new(0.936), High: new(0.989)},
			Reasons:  map[string]int64{"unlike": 4, "nothing found": 190},
			Delay:    analyzer.Effect{Unit: "ms", Point: new(35.0), Low: new(34.2), High: new(35.8)},
			Accuracy: analyzer.Proportion{Point: new(0.5), Low: new(0.4), High: new(0.6)},
		}},
		Others: analyzer.FaultedRequests{Requests: 800, Answered: 800, Missing: "answers"},
	}
	want := []string{
		"found, by the field x-fallback",
		"drift: 200 requests, 198 answered, 2 errors, 1 of them sheds; fell back in 97.0 % (95 % 93.6 %–98.9 %): nothing found 190, unlike 4; answered +35 ms later (95 % 34.2–35.8); right 50.0 % (95 % 40.0 %–60.0 %); found",
		"no fault of the run: 800 requests, 800 answered, 0 errors, 0 of them sheds; missing: answers",
	}
	if diff := cmp.Diff(want, fallbackLines(f)); diff != "" {
		t.Error(diff)
	}
	if fallbackLines(nil) != nil {
		t.Error("lines of nothing")
	}
}
