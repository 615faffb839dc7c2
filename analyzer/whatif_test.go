package analyzer

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lambdac/lambdac/trace"
)

// plannedRun is an analysis with λc = 41.2 (39.0–43.5), and an objective between
// 20 and 30 requests/s of 100 output tokens each.
func plannedRun() *Analysis {
	level := func(load float64) Level {
		return Level{
			OfferedPerS: load, Judged: true, N: int64(load * 60), Seconds: 60,
			GoodputPerS: new(0.9 * load), OutputTokensPerS: new(100 * load),
		}
	}
	slo := LambdaSLO{Verdict: Found, Low: new(20.0), High: new(30.0), SLO: new("ttft_user p99 800ms")}
	return &Analysis{
		Run: RunInfo{Loop: "open"}, Validity: Validity{Verdict: trace.Valid}, Levels: []Level{level(20), level(30)},
		LambdaC:    LambdaC{Verdict: Found, Point: new(41.2), Low: new(39.0), High: new(43.5)},
		Objectives: []LambdaSLO{slo},
	}
}

var nearly = cmpopts.EquateApprox(1e-9, 0)

// Expected values by hand: 120 ÷ 41.2, 43.5 and 39.0 are 2.91, 2.76 and 3.08; a
// deployment at 4.14 an hour costs 0.00115 a second.
func TestWhatIf(t *testing.T) {
	got := whatIf(plannedRun(), Plan{ForecastPerS: 120, PricePerHour: 4.14})
	perLoad := func(x, load float64) *float64 { return new(x / load) }
	want := &WhatIf{
		ForecastPerS: new(120.0), PricePerHour: new(4.14),
		Limits: []LimitPlan{
			{
				Limit: "lambda_c", LoadPerS: Estimate{new(41.2), new(39.0), new(43.5)}, Replicas: Replicas{new(int64(3)), new(int64(3)), new(int64(4))},
				CostPer1kRequests: Estimate{perLoad(1.15, 41.2), perLoad(1.15, 43.5), perLoad(1.15, 39)},
				CostPer1MTokens:   Estimate{perLoad(11.5, 41.2), perLoad(11.5, 43.5), perLoad(11.5, 39)},
			},
			{
				Limit: "ttft_user p99 800ms", LoadPerS: Estimate{nil, new(20.0), new(30.0)}, Replicas: Replicas{nil, new(int64(4)), new(int64(6))},
				CostPer1kRequests: Estimate{nil, perLoad(1.15, 30), perLoad(1.15, 20)},
				CostPer1MTokens:   Estimate{nil, perLoad(11.5, 30), perLoad(11.5, 20)},
			},
		},
		Replicas: new(int64(6)), LimitedBy: new("ttft_user p99 800ms"), FleetPerHour: new(24.84),
		LevelCosts: []LevelCost{
			{20, perLoad(1.15, 18), perLoad(11.5, 20)},
			{30, perLoad(1.15, 27), perLoad(11.5, 30)},
		},
	}
	if diff := cmp.Diff(want, got, nearly); diff != "" {
		t.Errorf("what if (-want +got):\n%s", diff)
	}
}

func TestWhatIfUnknown(t *testing.T) {
	rows := []struct {
		name   string
		plan   Plan
		change func(*Analysis)
		want   string
	}{
		{"nothing asked", Plan{PeakPerS: 3}, func(*Analysis) {}, ""},
		{"invalid", Plan{ForecastPerS: 1}, func(a *Analysis) { a.Validity.Verdict = trace.Invalid }, "the run is not valid"},
		{"closed loop", Plan{ForecastPerS: 1}, func(a *Analysis) { a.Run.Loop = "closed" }, "run it with rates"},
		{"no low end", Plan{ForecastPerS: 1}, func(a *Analysis) { a.LambdaC.Low = nil }, "no load is proven to be below lambda_c"},
		{"no λc", Plan{ForecastPerS: 1}, func(a *Analysis) { a.LambdaC = LambdaC{Verdict: Insufficient} }, "no load is proven to be below lambda_c"},
		{"broken at all loads", Plan{ForecastPerS: 1}, func(a *Analysis) { a.Objectives[0].Low = nil }, "no load is proven to be below ttft_user p99 800ms"},
	}
	for _, row := range rows {
		a := plannedRun()
		row.change(a)
		switch got := whatIf(a, row.plan); {
		case got == nil && row.want == "":
		case got == nil || !strings.Contains(got.Reason, row.want):
			t.Errorf("%s: %+v, want a reason with %q", row.name, got, row.want)
		case got.Replicas != nil:
			t.Errorf("%s: %d replicas", row.name, *got.Replicas)
		}
	}
}

// Where no load shows a transition, the highest steady one stands in for λc.
func TestWhatIfNotFound(t *testing.T) {
	a := plannedRun()
	a.LambdaC, a.Objectives = LambdaC{Verdict: NotFound}, nil
	a.Levels = append(a.Levels, Level{OfferedPerS: 40, Judged: true, Flags: []string{"not_steady"}}, Level{OfferedPerS: 50})
	got := whatIf(a, Plan{ForecastPerS: 91})
	if got.Replicas == nil || *got.Replicas != 4 || *got.Limits[0].LoadPerS.Low != 30 || got.Limits[0].Replicas.Low != nil {
		t.Errorf("what if %+v", got)
	}
}

// Interval of the peak's minute by R: poisson.test(1680)$conf.int ÷ 60; of the
// share by the formula of the source in R.
func TestHeadroom(t *testing.T) {
	found := LambdaC{Verdict: Found, Point: new(41.2), Low: new(39.0), High: new(43.5)}
	rows := []struct {
		name   string
		peak   *float64
		stated float64
		c      LambdaC
		want   Headroom
	}{
		{"recorded", new(28.0), 0, found, Headroom{
			RecordedPeakPerS: new(28.0), PeakLow: new(26.6769448254), PeakHigh: new(29.3716907016),
			Share: new(0.320388349515), Low: new(0.269072190518), High: new(0.368080636183),
		}},
		{"stated", new(28.0), 41.2, found, Headroom{RecordedPeakPerS: new(41.2), Share: new(0.0), Low: new(1 - 41.2/39), High: new(1 - 41.2/43.5)}},
		{"interval only", new(28.0), 0, LambdaC{Verdict: Found, Low: new(39.0), High: new(43.5)}, Headroom{
			RecordedPeakPerS: new(28.0), PeakLow: new(26.6769448254), PeakHigh: new(29.3716907016),
			Low: new(0.246879725601), High: new(0.386736900565), Reason: "λc has an interval and no point",
		}},
		{"short trace", nil, 0, found, Headroom{Reason: "the recorded trace is shorter than a minute"}},
		{"not found", nil, 3, LambdaC{Verdict: NotFound}, Headroom{RecordedPeakPerS: new(3.0), Reason: "no λc was found"}},
	}
	for _, row := range rows {
		got := headroomOf(row.peak, row.stated, row.c, false)
		if diff := cmp.Diff(row.want, got, cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*max(1, math.Abs(x)) })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
	if h := headroomOf(new(28.0), 0, found, true); h.Share != nil || h.Reason == "" {
		t.Errorf("closed loop: %+v", h)
	}
}
