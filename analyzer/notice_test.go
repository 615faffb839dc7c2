package analyzer

import (
	"math"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

// spiked is a run of 120 s of a service that answers in 100 ms, in which a fault
// lets no answer begin before 180 ms from second 30 on, for half a second.
func spiked(perS float64) []*load {
	r := newRun(trace.Level{OfferedPerS: perS, EndUnixNs: 120 * second}, deadlines{}, []Objective{slowSLO})
	r.watched = true
	for i := range int(120 * perS) {
		at := float64(i) / perS
		w := row{judgedColumns: judgedColumns{StartUnixNs: int64(math.Round(at * 1e9)), Outcome: trace.OutcomeOK}}
		w.TFirstTokenUs = new(int64(100_000))
		if at >= 30 && at < 30.5 {
			w.TFirstTokenUs, w.Faults = new(int64(180_000)), []string{"spike"}
		}
		r.see(&w, []Objective{slowSLO})
	}
	return []*load{{perS: perS, judged: []*run{r}, all: []*run{r}}}
}

// TestNotice: a spike of 120 → 180 ms for half a second is noticed where enough
// requests are due in it, as soon as the misses are no chance, and over at once.
func TestNotice(t *testing.T) {
	for _, tt := range []struct {
		perS    float64
		noticed any // nil, false, true
		after   float64
	}{
		// P(k ≥ n of n) = 0.01^n < 0.0001 at the third: 0.05 s, and its limit.
		{40, true, 2.0/40 + 0.12},
		{20, true, 2.0/20 + 0.12},
		{2, false, 0},     // one request is no proof
		{1.0 / 7, nil, 0}, // none is due
	} {
		m := trace.Mark{ID: "s", Name: "spike", StartUnixNs: 30 * second, EndUnixNs: 30*second + second/2}
		got := recoveryOf(spiked(tt.perS), []trace.Mark{m}, []Objective{slowSLO}).Faults[0]
		var noticed any
		if got.Noticed != nil {
			noticed = *got.Noticed
		}
		if noticed != tt.noticed || (got.NoticedSeconds != nil) != (tt.noticed == true) {
			t.Errorf("%g/s: %+v, want noticed %v", tt.perS, got, tt.noticed)
		}
		if got.NoticedSeconds != nil && math.Abs(*got.NoticedSeconds-tt.after) > 1e-6 {
			t.Errorf("%g/s: noticed after %g s, want %g", tt.perS, *got.NoticedSeconds, tt.after)
		}
		if tt.perS >= 1 && (got.Seconds == nil || *got.Seconds != 0 || got.Censored) {
			t.Errorf("%g/s: %+v, want recovered at once", tt.perS, got)
		}
	}
}
