package analyzer

import "math"

// presence counts the requests that were open at both ends of a run's window,
// warm-up requests included.
type presence struct{ atStart, atEnd int64 }

// see counts one row of the run, whether it is due in the window or not.
func (p *presence) see(r *run, w *row) {
	if w.TEndUs == nil {
		return
	}
	end := w.StartUnixNs + *w.TEndUs*1000
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
func (r *run) steady() bool {
	growth := float64(r.open.atEnd - r.open.atStart)
	n := float64(r.tally.Offered())
	if growth <= 0 || n == 0 {
		return true
	}
	rate := max(float64(r.tally.Failed()), 1) / n
	tooLow := growth > 2*math.Sqrt(rate*(1-min(rate, 1))*n)
	grew := growth > 3*math.Sqrt(float64(r.open.atEnd+r.open.atStart)+1)
	return !tooLow || !grew
}

// steady reports whether all judged runs of the load are.
func (l *load) steady() bool {
	for _, r := range l.judged {
		if !r.steady() {
			return false
		}
	}
	return true
}
