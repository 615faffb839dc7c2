package analyzer

import (
	"math"
	"slices"

	"github.com/lambdac/lambdac/analyzer/stats"
)

// The line in front of a service that refuses is short where fewer than
// shortLine requests stand in it, or less than a shareInLine of those in flight.
const (
	shortLine   = 2
	shareInLine = 0.1
	// lineQuantile of the times to first token tells of those who find the line
	// longest; lineSamples are the least for it.
	lineQuantile = 0.9
	lineSamples  = 50
)

// line is what is known of the requests that wait where others are refused.
type line struct {
	// seen: at least two wait, and a tenth of those in flight.
	seen bool
	// tokens of an answer there; 0 = not known.
	tokens float64
}

// lineOf looks at the highest load that refuses. A line is seen where the time to
// first token is longer than at the lowest load by what the requests in front take
// (Little's law on the ninth decile), beyond what the slower steps of a full service
// explain. What tells a queue from places without waiting room is not the error
// rate: at nine loads both curves fit equally well, with capacities 4 to 8 % apart.
func lineOf(loads []*load) line {
	var first, last *load
	for _, l := range loads {
		switch {
		case !l.valid() || !l.steady:
		case first == nil:
			first = l
		case l.refuses():
			last = l
		}
	}
	if first == nil || last == nil {
		return line{}
	}
	idle, full := first.paceOf(), last.paceOf()
	out := line{tokens: full.tokens}
	if idle.firstToken == 0 || full.firstToken == 0 {
		return out
	}
	if idle.gap > 0 && full.gap > idle.gap {
		idle.firstToken *= full.gap / idle.gap
	}
	out.seen = full.perS*(full.firstToken-idle.firstToken) >= max(shortLine, shareInLine*full.inFlight)
	return out
}

func (l *load) refuses() bool {
	return slices.ContainsFunc(l.judged, func(r *run) bool { return r.tally.Sheds > 0 })
}

// pace is how a load was answered: answers per second, requests in flight, the
// ninth decile of the times to first token, tokens of an answer and the seconds
// between two of them; 0 = not known.
type pace struct{ perS, inFlight, firstToken, tokens, gap float64 }

func (l *load) paceOf() pace {
	var p pace
	var seconds, held, ok, answered, tokens, first float64
	var all []float64
	for _, r := range l.judged {
		seconds += r.level.Seconds()
		ok += float64(r.tally.OK)
		answered += float64(r.answeredUs) / 1e6
		tokens += float64(r.outputTokens)
		for _, ns := range r.open.inFlight {
			held += ns / 1e9
		}
		for _, us := range r.ttft {
			all = append(all, float64(us)/1e6)
			first += float64(us) / 1e6
		}
	}
	if seconds > 0 {
		p.perS, p.inFlight = ok/seconds, held/seconds
	}
	if n := float64(len(all)); n >= lineSamples {
		slices.Sort(all)
		p.firstToken, _ = stats.Quantile(all, lineQuantile)
		if tokens >= 2*ok {
			p.tokens = tokens / ok
			p.gap = max(0, answered/ok-first/n) / (p.tokens - 1)
		}
	}
	return p
}

// turn is how much more than a loss system shows a service would answer that
// always has a request at hand: a place that was taken waits for the next step,
// for half of the time between two tokens in the mean, of which an answer has as
// many as tokens.
func (l line) turn() float64 {
	if l.tokens < 2 {
		return 1
	}
	return 1 / (1 - 1/(2*l.tokens))
}

// joins reports whether a family's interval is part of a published capacity's:
// where it fits as well as the best, and in any case that of the queue, with that
// of a loss system where it fits as well as the queue, which has as many
// parameters.
func (t *transition) joins(f *ranked) bool {
	switch {
	case !f.model.Shape.HasCapacity():
		return false
	case f.model.Shape == stats.ShapeLoss:
		at := slices.IndexFunc(t.families, func(f ranked) bool { return f.model.Shape == stats.ShapeQueue })
		return at >= 0 && f.aicc-t.families[at].aicc <= separableAbove
	}
	return f.delta <= separableAbove || f.model.Shape == stats.ShapeQueue
}

// averaged is the mean of the capacities of families by their Akaike weights,
// exp(−Δ/2) (Burnham & Anderson 2002, §2.9), that of a loss system at its turn.
func averaged(families []*ranked, turn float64) float64 {
	sum, weights := 0.0, 0.0
	for _, f := range families {
		w, capacity := math.Exp(-f.delta/2), f.model.Lambda
		if f.model.Shape == stats.ShapeLoss {
			capacity *= turn
		}
		sum, weights = sum+w*capacity, weights+w
	}
	return sum / weights
}
