package analyzer

import (
	"fmt"

	"github.com/lambdac/lambdac/analyzer/stats"
)

// Regimes compares the loads below the interval of λc with those above it.
type Regimes struct {
	// Verdict is found where the error rate above is higher, with the lower end
	// of ErrorRatio above 1.
	Verdict Verdict `json:"verdict"`
	Sub     *Regime `json:"sub"`
	Super   *Regime `json:"super"`
	// ErrorRatio is ε above ÷ ε below with its exact conditional 95 % interval,
	// on counts deflated by the dispersion. A nil point or high end is infinite.
	ErrorRatio Effect `json:"error_ratio"`
	Reason     string `json:"reason"`
}

// Regime is what the loads of one regime showed together.
type Regime struct {
	// LowPerS and HighPerS are its lowest and highest load.
	LowPerS  float64 `json:"low_per_s"`
	HighPerS float64 `json:"high_per_s"`
	N        int64   `json:"n"`
	Errors   int64   `json:"errors"`
	// TTFTUserUs is over all answered requests of the regime.
	TTFTUserUs Latency `json:"ttft_user_us"`
}

// regimesOf splits the judged, steady loads at the interval of λc; what lies
// inside it is left out.
func regimesOf(loads []*load, c LambdaC, phi *float64) *Regimes {
	out := &Regimes{Verdict: Insufficient, ErrorRatio: Effect{Unit: "ratio"}}
	if c.Verdict != Found || c.Low == nil || c.High == nil {
		out.Reason = "λc has no closed interval to split the loads at"
		return out
	}
	var sub, super []*load
	for _, l := range loads {
		switch {
		case !l.valid() || !l.steady:
		case min(l.x, l.perS) <= *c.Low:
			sub = append(sub, l)
		case max(l.x, l.perS) >= *c.High:
			super = append(super, l)
		}
	}
	out.Sub, out.Super = regimeOf(sub), regimeOf(super)
	if out.Sub == nil || out.Super == nil {
		out.Reason = fmt.Sprintf("%s below the interval of λc and %s above it that can be judged", count(len(sub), "load"), count(len(super), "load"))
		return out
	}
	out.compare(phi)
	return out
}

func (r *Regimes) compare(phi *float64) {
	deflate := 1.0
	if phi != nil {
		deflate = max(1, *phi)
	}
	point, i, ok := stats.RateRatio(
		float64(r.Super.Errors)/deflate, float64(r.Super.N), float64(r.Sub.Errors)/deflate, float64(r.Sub.N), confidence)
	if !ok {
		r.Reason = "no failure in either regime"
		return
	}
	r.ErrorRatio.Point, r.ErrorRatio.Low, r.ErrorRatio.High = finite(point), finite(i.Low), finite(i.High)
	r.Reason = "the loads were split at the λc that these same runs gave: run both regimes again to confirm the ratio"
	if r.Verdict = NotFound; i.Low > 1 {
		r.Verdict = Found
	}
}

func regimeOf(loads []*load) *Regime {
	if len(loads) == 0 {
		return nil
	}
	out := &Regime{LowPerS: loads[0].perS, HighPerS: loads[len(loads)-1].perS}
	var ttft []float64
	for _, l := range loads {
		for _, r := range l.judged {
			out.N += r.tally.Offered()
			out.Errors += r.tally.Failed()
			for _, us := range r.ttft {
				ttft = append(ttft, float64(us))
			}
		}
	}
	out.TTFTUserUs = latencyOf(ttft)
	return out
}
