package analyzer

import (
	"math"

	"github.com/lambdac/lambdac/analyzer/stats"
)

// Headroom relates the recorded traffic to λc.
type Headroom struct {
	// RecordedPeakPerS is the highest 1-minute rate of the trace, or the rate
	// that was stated in its place; PeakLow and PeakHigh its 95 % interval as the
	// count of a minute (Poisson), nil for a stated rate.
	RecordedPeakPerS *float64 `json:"recorded_peak_per_s"`
	PeakLow          *float64 `json:"peak_low"`
	PeakHigh         *float64 `json:"peak_high"`
	// Share is 1 − peak ÷ λc; negative where the peak is above it. Low and High
	// are its 95 % interval, from those of peak and λc. Where λc has an interval
	// and no point, Share is nil.
	Share *float64 `json:"share"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
	// Reason says why a field is nil.
	Reason string `json:"reason,omitempty"`
}

// headroomOf relates a peak rate to λc; a stated peak goes before the recorded.
func headroomOf(recorded *float64, stated float64, c LambdaC, closed bool) Headroom {
	h := Headroom{RecordedPeakPerS: recorded}
	switch {
	case stated > 0:
		h.RecordedPeakPerS = &stated
	case recorded != nil:
		count := stats.PoissonInterval(math.Round(*recorded*60), confidence)
		h.PeakLow, h.PeakHigh = new(count.Low/60), new(count.High/60)
	}
	switch {
	case h.RecordedPeakPerS == nil:
		h.Reason = "the recorded trace is shorter than a minute"
	case closed:
		h.Reason = "λc of a closed loop is a number in flight, the peak a rate"
	case c.Verdict != Found || c.Low == nil && c.Point == nil && c.High == nil:
		h.Reason = "no λc was found"
	default:
		h.relate(c)
	}
	return h
}

// relate fills share and interval. The interval of the ratio of two independent
// estimates is taken from theirs, on the logarithm: Zou & Donner, Stat. Med.
// 27:1693 (2008). Without a point of λc it spans all pairs of ends.
func (h *Headroom) relate(c LambdaC) {
	peak, low, high := *h.RecordedPeakPerS, *h.RecordedPeakPerS, *h.RecordedPeakPerS
	if h.PeakLow != nil {
		low, high = *h.PeakLow, *h.PeakHigh
	}
	if c.Point == nil {
		h.Reason = "λc has an interval and no point"
		if c.Low != nil && *c.Low > 0 {
			h.Low = finite(1 - high / *c.Low)
		}
		if c.High != nil {
			h.High = finite(1 - low / *c.High)
		}
		return
	}
	used := peak / *c.Point
	h.Share = finite(1 - used)
	if c.Low != nil && *c.Low > 0 {
		h.Low = finite(1 - used*math.Exp(math.Hypot(math.Log(high/peak), math.Log(*c.Point / *c.Low))))
	}
	if c.High != nil {
		h.High = finite(1 - used*math.Exp(-math.Hypot(math.Log(peak/low), math.Log(*c.High / *c.Point))))
	}
}
