package analyzer

import (
	"fmt"
	"math"
	"slices"

	"github.com/lambdac/lambdac/trace"
)

// Plan is what a planner asks; 0 = not asked.
type Plan struct {
	// PeakPerS is the highest rate of today's traffic, requests per second, in
	// place of the recorded one.
	PeakPerS float64
	// ForecastPerS is the load to plan for, requests per second.
	ForecastPerS float64
	// PricePerHour is what the deployment that was run costs, in any currency.
	PricePerHour float64
}

// WhatIf answers a planner: how many deployments of the size that was run carry
// a load, and what a request costs. It takes for granted that load spreads
// evenly over replicas and that they share nothing that saturates.
type WhatIf struct {
	ForecastPerS *float64 `json:"forecast_per_s"`
	PricePerHour *float64 `json:"price_per_hour"`
	// Limits are the loads that one deployment carries, by what limits it.
	Limits []LimitPlan `json:"limits"`
	// Replicas is the number that is proven to be enough for every limit, and
	// LimitedBy the limit that takes the most; nil where a limit has no proven
	// load or no forecast was given.
	Replicas  *int64  `json:"replicas"`
	LimitedBy *string `json:"limited_by"`
	// FleetPerHour is the price of Replicas.
	FleetPerHour *float64 `json:"fleet_per_hour"`
	// LevelCosts are those of the judged levels as they were run; empty without
	// a price.
	LevelCosts []LevelCost `json:"level_costs"`
	// Reason says why nothing is planned, or why Replicas is nil.
	Reason string `json:"reason,omitempty"`
}

// LimitPlan is one limit of the load, and what follows from it.
type LimitPlan struct {
	// Limit is lambda_c, keeps_up (the load from which on the service falls
	// behind), or an objective.
	Limit string `json:"limit"`
	// LoadPerS is the load at which it is reached: Low is proven to be below.
	LoadPerS Estimate `json:"load_per_s"`
	// Replicas for the forecast: High is proven to be enough.
	Replicas Replicas `json:"replicas"`
	// CostPer1kRequests and CostPer1MTokens (output tokens) are those of a
	// deployment that is held at this load.
	CostPer1kRequests Estimate `json:"cost_per_1k_requests"`
	CostPer1MTokens   Estimate `json:"cost_per_1m_output_tokens"`
	Reason            string   `json:"reason,omitempty"`
}

// Replicas is a whole number with its 95 % interval; nil = not known.
type Replicas struct {
	Point *int64 `json:"point"`
	Low   *int64 `json:"low"`
	High  *int64 `json:"high"`
}

// LevelCost is what a load cost as it was run.
type LevelCost struct {
	OfferedPerS float64 `json:"offered_per_s"`
	// Per1kGood is per thousand answers that met every objective; Per1MTokens
	// per million output tokens. Nil where none was counted.
	Per1kGood   *float64 `json:"cost_per_1k_good"`
	Per1MTokens *float64 `json:"cost_per_1m_output_tokens"`
}

// whatIf plans; nil where nothing was asked.
func whatIf(a *Analysis, p Plan) *WhatIf {
	if p.ForecastPerS <= 0 && p.PricePerHour <= 0 {
		return nil
	}
	w := &WhatIf{Limits: []LimitPlan{}, LevelCosts: []LevelCost{}}
	if p.ForecastPerS > 0 {
		w.ForecastPerS = &p.ForecastPerS
	}
	if p.PricePerHour > 0 {
		w.PricePerHour = &p.PricePerHour
		w.costs(a.Levels)
	}
	switch {
	case a.Validity.Verdict != trace.Valid:
		w.Reason = "the run is not valid"
		return w
	case a.closed():
		w.Reason = "the loads of a closed loop are numbers in flight, not rates: run it with rates"
		return w
	}
	w.Limits = a.limits()
	for i := range w.Limits {
		w.Limits[i].plan(p, a.Levels)
	}
	w.conclude(p)
	return w
}

// limits are what limits the load of one deployment.
func (a *Analysis) limits() []LimitPlan {
	c := &a.LambdaC
	critical := LimitPlan{Limit: "lambda_c", LoadPerS: Estimate{c.Point, c.Low, c.High}}
	switch c.Verdict {
	case NotFound:
		critical.LoadPerS, critical.Reason = Estimate{}, "no transition in the loads that were run: the highest of them that was steady stands in for its low end"
		for i := range a.Levels {
			if l := &a.Levels[i]; l.Judged && !slices.Contains(l.Flags, "not_steady") {
				critical.LoadPerS.Low = &l.OfferedPerS
			}
		}
	case Insufficient:
		critical.LoadPerS, critical.Reason = Estimate{}, "not enough evidence for λc: "+c.Missing
	}
	out := []LimitPlan{critical}
	if s := a.Stability; s != nil && s.Verdict == Found {
		out = append(out, LimitPlan{Limit: "keeps_up", LoadPerS: Estimate{Low: s.Low, High: s.High}, Reason: s.Reason})
	}
	for i := range a.Objectives {
		o := &a.Objectives[i]
		limit := LimitPlan{Limit: "objective", LoadPerS: Estimate{Low: o.Low, High: o.High}, Reason: o.Reason}
		if o.SLO != nil {
			limit.Limit = *o.SLO
		}
		if o.Modelled != nil {
			limit.LoadPerS.Point = &o.Modelled.Point
		}
		out = append(out, limit)
	}
	return out
}

// plan fills what follows from the limit's load.
func (l *LimitPlan) plan(p Plan, levels []Level) {
	at := l.LoadPerS
	if p.ForecastPerS > 0 {
		replicas := func(load *float64) *int64 { return replicasFor(p.ForecastPerS, load) }
		l.Replicas = Replicas{Point: replicas(at.Point), Low: replicas(at.High), High: replicas(at.Low)}
	}
	if p.PricePerHour <= 0 {
		return
	}
	perSecond := p.PricePerHour / 3600
	l.CostPer1kRequests = inverse(1000*perSecond, at)
	if tokens, ok := tokensPerRequest(levels, at); ok {
		l.CostPer1MTokens = inverse(1e6*perSecond/tokens, at)
	}
}

// replicasFor is the least number of deployments among which none gets more
// than its load; nil where the load is not known, or no number would do.
func replicasFor(forecast float64, load *float64) *int64 {
	if load == nil || *load <= 0 {
		return nil
	}
	// A quotient that is whole but for rounding stays whole.
	n := math.Ceil(forecast / *load * (1 - 1e-12))
	if n > 1e15 {
		return nil
	}
	return new(int64(n))
}

// inverse is x ÷ a load, low and high exchanged.
func inverse(x float64, load Estimate) Estimate {
	by := func(v *float64) *float64 {
		if v == nil {
			return nil
		}
		return finite(x / *v)
	}
	return Estimate{Point: by(load.Point), Low: by(load.High), High: by(load.Low)}
}

// tokensPerRequest are the output tokens per offered request of the judged
// levels up to a load; of the lowest, where all are above it.
func tokensPerRequest(levels []Level, load Estimate) (tokens float64, ok bool) {
	top := math.Inf(1)
	for _, end := range []*float64{load.Point, load.Low, load.High} {
		if end != nil {
			top = *end
			break
		}
	}
	var sum, n float64
	for i := range levels {
		l := &levels[i]
		if !l.Judged || l.OutputTokensPerS == nil || l.OfferedPerS > top && n > 0 {
			continue
		}
		sum, n = sum+*l.OutputTokensPerS*l.Seconds, n+float64(l.N)
	}
	return sum / n, sum > 0 && n > 0
}

// costs fills what each level cost.
func (w *WhatIf) costs(levels []Level) {
	perSecond := *w.PricePerHour / 3600
	for i := range levels {
		l := &levels[i]
		if !l.Judged {
			continue
		}
		c := LevelCost{OfferedPerS: l.OfferedPerS}
		if l.GoodputPerS != nil {
			c.Per1kGood = finite(1000 * perSecond / *l.GoodputPerS)
		}
		if l.OutputTokensPerS != nil {
			c.Per1MTokens = finite(1e6 * perSecond / *l.OutputTokensPerS)
		}
		w.LevelCosts = append(w.LevelCosts, c)
	}
}

// conclude takes the limit that needs the most.
func (w *WhatIf) conclude(p Plan) {
	if p.ForecastPerS <= 0 {
		return
	}
	for i := range w.Limits {
		l := &w.Limits[i]
		if l.Replicas.High == nil {
			w.Replicas, w.LimitedBy = nil, nil
			w.Reason = fmt.Sprintf("no load is proven to be below %s: run lower loads, or longer", l.Limit)
			return
		}
		if w.Replicas == nil || *l.Replicas.High > *w.Replicas {
			w.Replicas, w.LimitedBy = l.Replicas.High, &l.Limit
		}
	}
	if p.PricePerHour > 0 {
		w.FleetPerHour = finite(float64(*w.Replicas) * p.PricePerHour)
	}
}
