package analyzer

import (
	"math"

	"github.com/lambdac/lambdac/trace"
)

// presence counts the requests that were open at both ends of a run's window,
// warm-up requests included.
type presence struct {
	atStart, atEnd int64
	// warmSeen: a request of the warm-up was in the files.
	warmSeen bool
	// answeredLate counts the answers that ended in the second half of the
	// window, warm-up requests included.
	answeredLate float64
}

// see counts one row of the run, whether it is due in the window or not.
func (p *presence) see(r *run, w *row) {
	if w.TEndUs == nil {
		return
	}
	p.warmSeen = p.warmSeen || w.StartUnixNs < r.level.StartUnixNs
	end := w.StartUnixNs + *w.TEndUs*1000
	if middle := (r.level.StartUnixNs + r.level.EndUnixNs) / 2; w.Outcome == trace.OutcomeOK && end > middle && end <= r.level.EndUnixNs {
		p.answeredLate++
	}
	if w.StartUnixNs <= r.level.StartUnixNs && end > r.level.StartUnixNs {
		p.atStart++
	}
	if w.StartUnixNs <= r.level.EndUnixNs && end > r.level.EndUnixNs {
		p.atEnd++
	}
}

// steady reports whether the service held as many requests at the end of the
// window as at its start. While a queue fills, requests are let in that would
// be refused later: the error rate of the window is too low by growth ÷ n, and
// a capacity fitted to it too high (measured on a server with 192 places and
// windows of 14 s: by more than its interval in 15 of 16 runs). A run is not
// steady where that is more than two standard errors of its error rate and the
// growth itself more than three of a Poisson count.
//
// Up to idle requests, those that the load holds without any waiting, are no
// growth: they are there from the first answers on.
func (r *run) steady(idle float64) bool {
	start := max(float64(r.open.atStart), idle)
	growth := float64(r.open.atEnd) - start
	n := float64(r.tally.Offered())
	if growth <= 0 || n == 0 || !r.open.warmSeen && r.level.BeginUnixNs < r.level.StartUnixNs {
		return true // nothing grew, or the warm-up is not in the files
	}
	rate := max(float64(r.tally.Failed()), 1) / n
	tooLow := growth > 2*math.Sqrt(rate*(1-min(rate, 1))*n)
	grew := growth > 3*math.Sqrt(float64(r.open.atEnd)+start+1)
	return !tooLow || !grew
}

// settle decides for all loads whether they were steady. What a load holds
// without waiting is the load times the mean duration of answers at the lowest
// load (Little's law).
func settle(loads []*load) {
	idle := 0.0
	for i, l := range loads {
		if i == 0 {
			idle = meanSeconds(l.judged)
		}
		l.steady = true
		for _, r := range l.judged {
			l.steady = l.steady && r.steady(idle*r.level.OfferedPerS)
		}
	}
}

// meanSeconds is the mean duration of the answered requests.
func meanSeconds(runs []*run) float64 {
	var us, n int64
	for _, r := range runs {
		us, n = us+r.answeredUs, n+r.tally.OK
	}
	if n == 0 {
		return 0
	}
	return float64(us) / float64(n) / 1e6
}
