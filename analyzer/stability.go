package analyzer

import (
	"fmt"

	"github.com/lambdac/lambdac/analyzer/stats"
)

// Stability is the load up to which the service kept up: in its windows no more
// requests were open at the end than at the start.
type Stability struct {
	// Verdict is found where a load is known at which, and at all above it, the
	// service fell behind.
	Verdict Verdict `json:"verdict"`
	// Low is the highest load below all that fell behind; High is the lowest
	// from which on all fell behind.
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
	// Served is what the service answered per second while it fell behind, which
	// is its capacity if it was never idle: over the second halves of the
	// windows, mean and 95 % t interval over runs. Nil where fewer than two
	// runs fell behind.
	Served Served `json:"served_per_s"`
	Reason string `json:"reason,omitempty"`
}

// Served is a rate of answers with its interval.
type Served struct {
	Point *float64 `json:"point"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
	// Runs is the number of runs it is taken from.
	Runs int `json:"runs"`
}

// stabilityOf looks for the load from which on the service falls behind.
func stabilityOf(loads []*load) *Stability {
	s := &Stability{Verdict: Insufficient, Reason: "no load can be judged"}
	var judged []*load
	for _, l := range loads {
		if l.valid() {
			judged = append(judged, l)
		}
	}
	if len(judged) == 0 {
		return s
	}
	first := len(judged)
	for first > 0 && !judged[first-1].steady {
		first--
	}
	if first < len(judged) {
		s.Served = servedOf(judged[first:])
		first = s.against(judged, first)
		s.Verdict, s.High, s.Reason = Found, new(judged[first].perS), ""
	}
	if first > 0 {
		s.Low = new(judged[first-1].perS)
	}
	switch {
	case s.High == nil:
		s.Verdict = NotFound
		s.Reason = fmt.Sprintf("the service kept up within the windows at all loads up to %s/s", formatNumber(*s.Low))
	case s.Served.Point == nil:
		s.Reason = "one run fell behind: what it answered per second has no interval; run more loads above it"
	}
	return s
}

// against moves the first load that fell behind to where the rate of answers
// says: what is less than the service answers elsewhere is no overload, a few
// more requests came by chance at its end; what is more is one, a few less came.
func (s *Stability) against(judged []*load, first int) int {
	if s.Served.Point == nil {
		return first
	}
	for first < len(judged)-1 && judged[first].perS < *s.Served.Low {
		first++
	}
	for first > 0 && judged[first-1].perS > *s.Served.High {
		first--
	}
	return first
}

// servedOf is the mean rate of answers at the loads that fell behind. At the
// lowest of them the service may still have been idle at times, so where the
// others are enough it is left out.
func servedOf(behind []*load) Served {
	rates := answerRates(behind[1:])
	if len(rates) < 2 {
		rates = answerRates(behind)
	}
	out := Served{Runs: len(rates)}
	if mean, i, ok := stats.MeanInterval(rates, confidence); ok {
		out.Point, out.Low, out.High = &mean, &i.Low, &i.High
	}
	return out
}

func answerRates(loads []*load) []float64 {
	var rates []float64
	for _, l := range loads {
		for _, r := range l.judged {
			rates = append(rates, r.open.answeredLate/(r.level.Seconds()/2))
		}
	}
	return rates
}
