package stats

import "math"

// Link is the scale on which an error rate is linear in load.
type Link uint8

const (
	// LinkLog: log p. An exponential onset, capped at 1.
	LinkLog Link = iota
	// LinkCloglog: log(−log(1−p)). Exponential at first, then saturating.
	LinkCloglog
	// LinkLogit: log(p/(1−p)).
	LinkLogit
)

// Links are all links.
var Links = []Link{LinkLog, LinkCloglog, LinkLogit}

// String returns the link's name.
func (l Link) String() string { return [...]string{"log", "cloglog", "logit"}[l] }

// rateFloor keeps p off 0 and 1, so that logarithms stay finite.
const rateFloor = 1e-13

// apply is g(p).
func (l Link) apply(p float64) float64 {
	p = min(max(p, rateFloor), 1-rateFloor)
	switch l {
	case LinkLog:
		return math.Log(p)
	case LinkCloglog:
		return math.Log(-math.Log1p(-p))
	default:
		return math.Log(p) - math.Log1p(-p)
	}
}

// inverse is p = g⁻¹(η), q = 1 − p, and dp/dη. Past the cap of the log link
// the derivative is 0.
func (l Link) inverse(eta float64) (p, q, slope float64) {
	switch l {
	case LinkLog:
		p = math.Exp(eta)
		if p >= 1-rateFloor {
			return 1 - rateFloor, rateFloor, 0
		}
		p = max(p, rateFloor)
		return p, 1 - p, p
	case LinkCloglog:
		h := math.Exp(min(eta, 3.3))
		q = math.Exp(-h)
		p = max(-math.Expm1(-h), rateFloor)
		return p, max(q, rateFloor), h * q
	default:
		p = 1 / (1 + math.Exp(-eta))
		p = min(max(p, rateFloor), 1-rateFloor)
		return p, 1 - p, p * (1 - p)
	}
}
