package analyzer

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/lambdac/lambdac/analyzer/stats"
)

// USL is the universal scalability law over the answers of the judged, steady
// runs: X(N) = γN ÷ (1 + α(N−1) + βN(N−1)).
type USL struct {
	// Verdict is found where the throughput has a peak that the loads reach,
	// not_found where the law was fitted and they do not, insufficient where it
	// was not fitted.
	Verdict Verdict `json:"verdict"`
	// Concurrency says what N is: "offered", the requests that a closed loop held
	// in flight, or "mean", those that an open loop had in flight by Little's law
	// (answers per second times their mean duration).
	Concurrency string `json:"concurrency"`
	// GammaPerS is the throughput of one request alone, answers per second.
	GammaPerS Estimate `json:"gamma_per_s"`
	Alpha     Estimate `json:"alpha"`
	Beta      Estimate `json:"beta"`
	// PeakConcurrency is √((1−α)/β), PeakPerS the throughput there; all nil
	// unless the verdict is found.
	PeakConcurrency Estimate `json:"peak_concurrency"`
	PeakPerS        Estimate `json:"peak_per_s"`
	// LowestConcurrency and HighestConcurrency are those of the runs.
	LowestConcurrency  *float64 `json:"lowest_concurrency"`
	HighestConcurrency *float64 `json:"highest_concurrency"`
	// RelativeSD is the residual standard deviation of log X; Runs is the number
	// of runs that were fitted.
	RelativeSD *float64 `json:"relative_sd"`
	Runs       int      `json:"runs"`
	Reason     string   `json:"reason,omitempty"`
}

// Estimate is a fitted number with its 95 % interval; nil = not known, or a
// high end without a bound.
type Estimate struct {
	Point *float64 `json:"point"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}

const (
	// uslLoads is the least number of loads for the law's three parameters.
	uslLoads = 6
	// uslReach is the share of the fitted peak that the runs must reach: with 0.5
	// of it half of all fits are off by more than a quarter.
	uslReach = 0.8
)

// uslOf fits the law.
func uslOf(loads []*load, closed bool, seed uint64) *USL {
	u := &USL{Verdict: Insufficient, Concurrency: "mean"}
	if closed {
		u.Concurrency = "offered"
	}
	n, x, fitted := scalingOf(loads, closed)
	u.Runs = len(n)
	if len(n) > 0 {
		u.LowestConcurrency, u.HighestConcurrency = new(slices.Min(n)), new(slices.Max(n))
	}
	if fitted < uslLoads {
		u.Reason = fmt.Sprintf("the scalability law needs %d steady loads with answers, there are %d", uslLoads, fitted)
		return u
	}
	fit, err := stats.FitUSL(n, x)
	switch {
	case errors.Is(err, stats.ErrNoMinimum):
		u.Reason = "the scalability law fits nowhere"
		return u
	case err != nil:
		u.Reason = err.Error()
		return u
	}
	r, ok := fit.Bootstrap(n, bootstraps, seed, confidence)
	if !ok {
		u.Reason = "the parameters of the scalability law are not determined by these loads"
		return u
	}
	u.publish(fit, r)
	return u
}

// scalingOf is the concurrency and the throughput of each run; fitted counts
// the loads.
func scalingOf(loads []*load, closed bool) (n, x []float64, fitted int) {
	for _, l := range loads {
		if !l.valid() || !l.steady {
			continue
		}
		before := len(n)
		for _, r := range l.judged {
			seconds := r.level.Seconds()
			inFlight := float64(r.answeredUs) / 1e6 / seconds
			if closed {
				inFlight = l.perS
			}
			if rate := float64(r.tally.OK) / seconds; rate > 0 && inFlight > 0 && !math.IsInf(rate, 1) {
				n, x = append(n, inFlight), append(x, rate)
			}
		}
		if len(n) > before {
			fitted++
		}
	}
	return n, x, fitted
}

// publish fills in the fit, and the peak where the loads determine it.
func (u *USL) publish(fit stats.USL, r stats.USLRange) {
	u.GammaPerS, u.Alpha, u.Beta = estimate(fit.Gamma, r.Gamma), estimate(fit.Alpha, r.Alpha), estimate(fit.Beta, r.Beta)
	u.RelativeSD = new(fit.SD)
	u.Verdict = NotFound
	switch {
	case r.Beta.Low <= 0:
		u.Reason = fmt.Sprintf("no peak within range: up to %.4g in flight nothing shows that more of them answer less", *u.HighestConcurrency)
	case *u.HighestConcurrency < uslReach*fit.Peak():
		u.Reason = fmt.Sprintf("no peak within range: the law places it at %.4g in flight and the runs reached %.4g, less than %g of that",
			fit.Peak(), *u.HighestConcurrency, uslReach)
	default:
		u.Verdict = Found
		u.PeakConcurrency, u.PeakPerS = estimate(fit.Peak(), r.Peak), estimate(fit.Top(), r.Top)
	}
}

// estimate leaves out what is not finite.
func estimate(point float64, i stats.Interval) Estimate {
	return Estimate{Point: finite(point), Low: finite(i.Low), High: finite(i.High)}
}
