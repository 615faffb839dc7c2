package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/analyzer"
)

// planned adds the answers to a planner's questions.
func planned(a *analyzer.Analysis) {
	a.WhatIf = &analyzer.WhatIf{
		ForecastPerS: new(120.0), PricePerHour: new(4.1), Replicas: new(int64(7)), LimitedBy: new("error_rate 1%"), FleetPerHour: new(28.7),
		Limits: []analyzer.LimitPlan{
			{
				Limit: "lambda_c", LoadPerS: analyzer.Estimate{Point: new(22.5), Low: new(20.25), High: new(24.0)},
				Replicas:          analyzer.Replicas{Point: new(int64(6)), Low: new(int64(5)), High: new(int64(6))},
				CostPer1kRequests: analyzer.Estimate{Point: new(0.0506), Low: new(0.0475), High: new(0.0562)},
			},
			{
				Limit: "error_rate 1%", LoadPerS: analyzer.Estimate{Low: new(18.0)},
				Replicas: analyzer.Replicas{High: new(int64(7))}, CostPer1kRequests: analyzer.Estimate{High: new(0.0633)},
			},
		},
		LevelCosts: []analyzer.LevelCost{{OfferedPerS: 20, Per1kGood: new(0.0569), Per1MTokens: new(5.7)}},
	}
}

func TestTextWhatIf(t *testing.T) {
	a := foundRun()
	planned(a)
	var got strings.Builder
	textWhatIf(&got, a.WhatIf)
	const want = `
what if
  for 120.0 req/s: 7 replicas of what was run are enough, limited by error_rate 1%; 28.7 per hour
  limit          load/s, 95 %         replicas  per 1k requests         per 1M output tokens
  λc             22.50 (20.25–24.00)  6 (5–6)   0.0506 (0.0475–0.0562)  –
  error_rate 1%  18.00–open           open–7    open–0.0633             –
  as run, offered/s  per 1k good answers  per 1M output tokens
  20.00              0.0569               5.70
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("what if (-want +got):\n%s", diff)
	}
	got.Reset()
	textWhatIf(&got, &analyzer.WhatIf{PricePerHour: new(4.1), Reason: "the run is not valid"})
	if want := "\nwhat if\n  not known: the run is not valid\n"; got.String() != want {
		t.Errorf("%q, want %q", got.String(), want)
	}
}
