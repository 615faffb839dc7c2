package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/lambdac/lambdac/analyzer"
)

// unknown is what stands where a number is not known.
const unknown = "–"

// rate formats requests per second to four significant digits.
func rate(v *float64) string {
	if v == nil {
		return unknown
	}
	return significant(*v, 4)
}

// percent formats a share as a percentage to three significant digits.
func percent(v *float64) string {
	if v == nil {
		return unknown
	}
	return significant(*v*100, 3) + " %"
}

// millis formats microseconds as milliseconds to three significant digits.
func millis(us *float64) string {
	if us == nil {
		return unknown
	}
	return significant(*us/1000, 3)
}

// significant formats v with n significant digits and without an exponent.
func significant(v float64, n int) string {
	if v == 0 {
		return "0"
	}
	digits := n - 1 - int(math.Floor(math.Log10(math.Abs(v))))
	if digits < 0 {
		scale := math.Pow10(-digits)
		return strconv.FormatFloat(math.Round(v/scale)*scale, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// interval formats the ends of an interval; an open end is "open".
func interval(low, high *float64, f func(*float64) string) string {
	if low == nil && high == nil {
		return unknown
	}
	lo, hi := "open", "open"
	if low != nil {
		lo = f(low)
	}
	if high != nil {
		hi = f(high)
	}
	return lo + "–" + hi
}

// headline is the one sentence of the verdict.
func headline(a *analyzer.Analysis) string {
	if a.Validity.Verdict != "valid" {
		return invalidLine(a)
	}
	c := &a.LambdaC
	switch c.Verdict {
	case analyzer.Found:
		return foundLine(a)
	case analyzer.NotFound:
		return notFoundLine(a)
	default:
		return "λc: not enough evidence. " + c.Missing
	}
}

// invalidLine says that there is no verdict, and what there is.
func invalidLine(a *analyzer.Analysis) string {
	judged, answered := 0, int64(0)
	for i := range a.Levels {
		if l := &a.Levels[i]; l.Judged {
			judged++
			answered += l.N - l.Errors
		}
	}
	if answered == 0 || len(a.Validity.Reasons) == 0 {
		return "The run is invalid: its numbers say nothing about the service."
	}
	loads := fmt.Sprintf("The %d loads that can be judged are below", judged)
	if judged == 1 {
		loads = "The one load that can be judged is below"
	}
	return "No verdict: " + a.Validity.Reasons[0] + ". " + loads + ", for what they are worth."
}

func foundLine(a *analyzer.Analysis) string {
	c := &a.LambdaC
	text := ""
	switch {
	case c.Point != nil:
		text = fmt.Sprintf("λc = %s req/s (%s %s)", rate(c.Point), confidence(c.Confidence), interval(c.Low, c.High, rate))
	case c.Low != nil && c.High != nil:
		text = fmt.Sprintf("λc lies in %s req/s (%s)", interval(c.Low, c.High, rate), confidence(c.Confidence))
	case c.High != nil:
		text = fmt.Sprintf("λc is below %s req/s (%s)", rate(c.High), confidence(c.Confidence))
	case c.Low != nil:
		text = fmt.Sprintf("λc is above %s req/s (%s)", rate(c.Low), confidence(c.Confidence))
	default:
		text = "a transition is there, its place is not determined"
	}
	if c.Family != nil {
		text += ", shape " + *c.Family
	}
	if a.FirstToBreak != nil {
		text += ", first to break: " + a.FirstToBreak.Name
	}
	if h := headroom(a); h != "" {
		text += "; " + h
	}
	return text
}

// headroom relates the peak of the traffic to λc; empty where it is not known.
func headroom(a *analyzer.Analysis) string {
	h := &a.Headroom
	if h.RecordedPeakPerS == nil || h.Share == nil && h.Low == nil {
		return ""
	}
	text := fmt.Sprintf("today's peak is %s req/s, ", rate(h.RecordedPeakPerS))
	switch {
	case h.Share == nil && *h.Low < 0:
		return text + "which may be more than it carries: head-room is not proven"
	case h.Share == nil:
		return text + fmt.Sprintf("so at least %s head-room", percent(h.Low))
	case *h.Share < 0:
		return text + "above λc: no head-room" + headroomEnds(h)
	}
	return text + fmt.Sprintf("so %s head-room", percent(h.Share)) + headroomEnds(h)
}

func headroomEnds(h *analyzer.Headroom) string {
	if h.Low == nil && h.High == nil {
		return ""
	}
	return fmt.Sprintf(" (95 %% %s)", interval(h.Low, h.High, percent))
}

// pValue formats a p-value; the least that B permutations can give is a bound.
func pValue(a *analyzer.Analysis) string {
	p := *a.LambdaC.PValue
	if least := 1 / float64(a.Methods.Permutations+1); a.Methods.Permutations > 0 && p <= least {
		return "≤ " + significant(least, 1)
	}
	return "= " + significant(p, 2)
}

func notFoundLine(a *analyzer.Analysis) string {
	text := "No transition in the tested range"
	fitted, unsteady := testedLoads(a)
	if n := len(fitted); n > 0 {
		text += fmt.Sprintf(" (%s–%s req/s)", rate(&fitted[0]), rate(&fitted[n-1]))
	}
	if len(unsteady) > 0 {
		text += fmt.Sprintf("; at %s req/s and above the service fell behind", rate(&unsteady[0]))
		text += served(a)
	}
	if r := a.LambdaC.DetectableRatio; r != nil {
		text += fmt.Sprintf("; a rise to %s times the base error rate would have been found with 80 %% power", significant(*r, 2))
	}
	return text
}

// served is what the service answered while it fell behind; empty = not known.
func served(a *analyzer.Analysis) string {
	s := a.Stability
	if s == nil || s.Served.Point == nil {
		return ""
	}
	return fmt.Sprintf(" and answered %s/s (95 %% %s)", rate(s.Served.Point), interval(s.Served.Low, s.Served.High, rate))
}

// regimes compares the loads below and above λc; empty where they are not told
// apart.
func regimes(a *analyzer.Analysis) string {
	r := a.Regimes
	if r == nil || r.Sub == nil || r.Super == nil || r.ErrorRatio.Low == nil {
		return ""
	}
	text := fmt.Sprintf("errors above λc are %s times those below (95 %% %s)",
		number(r.ErrorRatio.Point), interval(r.ErrorRatio.Low, r.ErrorRatio.High, number))
	if sub, super := r.Sub.TTFTUserUs.P99, r.Super.TTFTUserUs.P99; sub != nil && super != nil {
		text += fmt.Sprintf("; p99 of the first token %s ms below, %s ms above", millis(sub), millis(super))
	}
	return text
}

// scaling says how the throughput grows with the requests in flight; empty
// where the law was not fitted.
func scaling(a *analyzer.Analysis) string {
	u := a.USL
	if u == nil || u.GammaPerS.Point == nil {
		return ""
	}
	text := fmt.Sprintf("γ = %s/s, α = %s, β = %s (95 %% %s)", rate(u.GammaPerS.Point), number(u.Alpha.Point), number(u.Beta.Point),
		interval(u.Beta.Low, u.Beta.High, number))
	if peak := u.PeakConcurrency; u.Verdict == analyzer.Found {
		text += fmt.Sprintf("; throughput peaks at %s in flight (95 %% %s) with %s/s", number(peak.Point),
			interval(peak.Low, peak.High, number), rate(u.PeakPerS.Point))
	}
	if u.Reason != "" {
		text += "; " + u.Reason
	}
	return text
}

// number formats to three significant digits.
func number(v *float64) string {
	if v == nil {
		return "∞"
	}
	return significant(*v, 3)
}

// testedLoads are the loads that the fits rest on, and those above them at
// which the service was still filling.
func testedLoads(a *analyzer.Analysis) (fitted, unsteady []float64) {
	for i := range a.Levels {
		switch l := &a.Levels[i]; {
		case !l.Judged:
		case slices.Contains(l.Flags, "not_steady"):
			unsteady = append(unsteady, l.OfferedPerS)
		default:
			fitted, unsteady = append(fitted, l.OfferedPerS), nil
		}
	}
	return fitted, unsteady
}

func confidence(c float64) string { return strconv.FormatFloat(c*100, 'g', 4, 64) + " %" }

// seconds formats a length in seconds.
func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(100 * time.Millisecond).String()
}
