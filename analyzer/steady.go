package analyzer

import (
	"fmt"
	"math"

	"github.com/lambdac/lambdac/analyzer/stats"
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
	// inFlight is, per block of the window, the time that requests were open in
	// it, ns, warm-up requests included.
	inFlight [blocksPerRun]float64
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
	p.hold(&r.level, w.StartUnixNs, end)
	if w.StartUnixNs <= r.level.StartUnixNs && end > r.level.StartUnixNs {
		p.atStart++
	}
	if w.StartUnixNs <= r.level.EndUnixNs && end > r.level.EndUnixNs {
		p.atEnd++
	}
}

// hold adds the time between start and end to the blocks it lies in.
func (p *presence) hold(l *trace.Level, start, end int64) {
	length := float64(l.EndUnixNs-l.StartUnixNs) / blocksPerRun
	from, to := float64(start-l.StartUnixNs), float64(end-l.StartUnixNs)
	if !(length > 0) || to <= 0 {
		return
	}
	for b := max(0, int(from/length)); b < blocksPerRun && float64(b)*length < to; b++ {
		p.inFlight[b] += max(0, min(to, float64(b+1)*length)-max(from, float64(b)*length))
	}
}

const (
	// fillingAlpha is the level of the run-halves test.
	fillingAlpha = 0.01
	// fillingBy is the growth from which on it counts: what is less moves no
	// verdict, and one run in a hundred grows by chance.
	fillingBy = 1.25
)

// growth is what the run-halves test found: the mean number of requests in
// flight in each half of the window.
type growth struct {
	first, second float64
	found         bool
}

// filling is the run-halves test: whether more requests were in flight in the
// second half of the window than in the first, with the mean of each. The
// blocks of a half are its sample (one-sided Welch t-test); growth up to the idle
// requests is the service's first answers, and what the arrivals of the halves
// explain is the load's.
func (r *run) filling(idle float64) growth {
	length := float64(r.level.EndUnixNs-r.level.StartUnixNs) / blocksPerRun
	if !(length > 0) || !r.open.warmSeen && r.level.BeginUnixNs < r.level.StartUnixNs {
		return growth{} // nothing to see, or the warm-up is not in the files
	}
	var held [blocksPerRun]float64
	var arrived [2]float64
	for b, x := range r.open.inFlight {
		held[b] = x / length
		arrived[2*b/blocksPerRun] += float64(r.blocks[b].n)
	}
	early, late := held[:blocksPerRun/2], held[blocksPerRun/2:]
	first, second, p := stats.Greater(late, early)
	more := max(1, arrived[1]/max(arrived[0], 1))
	return growth{first, second, p < fillingAlpha && second > fillingBy*more*max(first, idle)}
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
//
// Growth that only the halves show keeps no load out of the fits of the error
// rate: with 192 places one experiment in four then had too few loads left, three
// of them far above the capacity, where the refusals are known well.
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
			l.watch(r, idle*r.level.OfferedPerS)
		}
	}
}

// watch takes one run into the verdict on the load.
func (l *load) watch(r *run, idle float64) {
	g := r.filling(idle)
	steady := r.steady(idle)
	l.steady, l.grew = l.steady && steady, l.grew || g.found
	switch {
	case g.found:
		l.unsteady = append(l.unsteady, fmt.Sprintf("replicate %d: %.3g requests were in flight in the first half of the window, %.3g in the second",
			r.level.Replicate, g.first, g.second))
	case !steady:
		l.unsteady = append(l.unsteady, fmt.Sprintf("replicate %d: %d requests were in flight at the start of the window, %d at its end",
			r.level.Replicate, r.open.atStart, r.open.atEnd))
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
