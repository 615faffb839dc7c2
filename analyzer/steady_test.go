package analyzer

import (
	"testing"

	"github.com/lambdac/lambdac/trace"
)

func TestSteady(t *testing.T) {
	tests := []struct {
		name           string
		n, failed      int64
		atStart, atEnd int64
		idle           float64
		want           bool
	}{
		{"as many", 1000, 10, 20, 20, 0, true},
		{"fewer", 1000, 10, 40, 20, 0, true},
		{"a fluctuation", 1000, 10, 4, 10, 0, true},
		{"a queue that fills", 1500, 30, 20, 110, 0, false},
		{"growth that the errors drown", 1500, 700, 20, 55, 0, true},
		{"growth without errors", 1500, 0, 0, 100, 0, false},
		{"as many as the load holds without waiting", 1500, 0, 0, 100, 95, true},
		{"nothing", 0, 0, 0, 5, 0, true},
	}
	for _, test := range tests {
		r := &run{open: presence{atStart: test.atStart, atEnd: test.atEnd}, tally: trace.Tally{OK: test.n - test.failed, Sheds: test.failed}}
		if got := r.steady(test.idle); got != test.want {
			t.Errorf("%s: steady = %v", test.name, got)
		}
	}
}

func TestAnalyzeLeavesOutFillingLoads(t *testing.T) {
	plans := sheddingPlans(1000)
	plans[3].edit = func(i int, r *trace.Record) {
		if r.StartUnixNs%(1000*second) > 12*second {
			r.TEndUs = new(int64(60_000_000))
		}
	}
	a := analyze(t, plans, Options{Objectives: []Objective{{Metric: "error_rate", MaxShare: 0.1}}}, nil)
	if l := a.Levels[3]; !l.Judged || len(l.Flags) != 1 || l.Flags[0] != "not_steady" {
		t.Errorf("level: %+v", l)
	}
	if low := a.LambdaSLO.Low; low == nil || *low != 40 {
		t.Errorf("the objective is proven to hold up to %v, want 40: the next load is not steady", low)
	}
}
