package analyzer

import (
	"math"

	"github.com/lambdac/lambdac/trace"
)

// ControlArm relates a run to its control arm: a replay, at the same loads, of a
// synthetic trace with the recorded one's rate and lengths and nothing else of it.
type ControlArm struct {
	Validity Validity `json:"validity"`
	// LambdaC is the control arm's.
	LambdaC LambdaC `json:"lambda_c"`
	// Verdict is found where the λc of the two arms differ: that part is due to
	// the content and the order of the recorded traffic. Not found is no proof
	// that they are equal.
	Verdict Verdict `json:"verdict"`
	// Difference is the recorded trace's λc less the control's, in their unit; Low
	// and High are its 95 % interval. nil where an arm does not tell it.
	Difference *float64 `json:"difference"`
	Low        *float64 `json:"low"`
	High       *float64 `json:"high"`
	// Reason says why the verdict is insufficient.
	Reason string `json:"reason,omitempty"`
}

// RelateControl compares the λc of a run with that of its control arm.
func RelateControl(recorded, control *Analysis) *ControlArm {
	c := &ControlArm{Validity: control.Validity, LambdaC: control.LambdaC, Verdict: Insufficient}
	switch {
	case recorded.Validity.Verdict != trace.Valid:
		c.Reason = "the replay of the recorded trace is not valid"
	case control.Validity.Verdict != trace.Valid:
		c.Reason = "the control arm is not valid"
	case recorded.LambdaC.Verdict != Found:
		c.Reason = "no λc was found with the recorded trace"
	case control.LambdaC.Verdict != Found:
		c.Reason = "no λc was found in the control arm"
	default:
		c.relate(recorded.LambdaC, control.LambdaC)
	}
	return c
}

// relate fills difference, interval and verdict. The interval of the difference of
// two independent estimates is taken from theirs: Zou & Donner, Stat. Med. 27:1693
// (2008). Without a point it spans all pairs of ends.
func (c *ControlArm) relate(a, b LambdaC) {
	pointed := a.Point != nil && b.Point != nil
	if pointed {
		c.Difference = new(*a.Point - *b.Point)
	}
	if a.Low != nil && b.High != nil {
		c.Low = new(*a.Low - *b.High)
		if pointed {
			c.Low = new(*c.Difference - math.Hypot(*a.Point-*a.Low, *b.High-*b.Point))
		}
	}
	if a.High != nil && b.Low != nil {
		c.High = new(*a.High - *b.Low)
		if pointed {
			c.High = new(*c.Difference + math.Hypot(*a.High-*a.Point, *b.Point-*b.Low))
		}
	}
	switch {
	case c.Low != nil && *c.Low > 0, c.High != nil && *c.High < 0:
		c.Verdict = Found
	case c.Low != nil && c.High != nil:
		c.Verdict = NotFound
	default:
		c.Reason = "an interval of λc has an open end"
	}
}
