package analyzer

import (
	"fmt"
	"math"
	"slices"

	"github.com/lambdac/lambdac/analyzer/stats"
)

// maxStarts bounds the arrivals that are kept in memory: 256 MiB.
const maxStarts = 1 << 25

// arrivals gathers the times of arrival.
type arrivals struct {
	starts     []int64
	n          int64
	first      int64
	last       int64
	resolution int64
}

func (a *arrivals) add(startUnixNs, resolutionNs int64) {
	if a.n == 0 {
		a.first, a.last = startUnixNs, startUnixNs
	}
	a.n++
	a.first, a.last = min(a.first, startUnixNs), max(a.last, startUnixNs)
	a.resolution = max(a.resolution, resolutionNs)
	if len(a.starts) < maxStarts {
		a.starts = append(a.starts, startUnixNs)
	}
}

func (a *arrivals) ends() (first, last *int64) {
	if a.n == 0 {
		return nil, nil
	}
	return &a.first, &a.last
}

// rates summarizes the arrivals.
func (a *arrivals) rates() Rates {
	out := Rates{Busiest: []BusyWindow{}, Stationary: "unknown"}
	span := a.last - a.first
	if a.n < 2 || span <= 0 {
		out.Reason = "fewer than two arrivals at different times"
		return out
	}
	out.SpanS = float64(span) / 1e9
	out.MeanPerS = new(float64(a.n-1) / out.SpanS)
	if a.n > int64(len(a.starts)) {
		out.Reason = fmt.Sprintf("more than %d arrivals: windows and burstiness are not computed", maxStarts)
		return out
	}
	slices.Sort(a.starts)
	out.Busiest = busiest(a.starts)
	out.GapCV, out.Reason = a.gapCV()
	out.Stationary = stationary(a.starts)
	return out
}

// gapCV is the standard deviation of the gaps ÷ their mean. It says nothing
// where the grid on which arrivals were recorded is as coarse as the gaps.
func (a *arrivals) gapCV() (cv *float64, reason string) {
	mean := float64(a.last-a.first) / float64(a.n-1)
	if a.resolution > 0 && float64(a.resolution) >= mean {
		return nil, fmt.Sprintf("arrivals are recorded on a grid of %g s, as coarse as the mean gap of %.3g s: burstiness cannot be told",
			float64(a.resolution)/1e9, mean/1e9)
	}
	square := 0.0
	for i := 1; i < len(a.starts); i++ {
		d := float64(a.starts[i]-a.starts[i-1]) - mean
		square += d * d
	}
	if a.n < 3 {
		return nil, "fewer than three arrivals"
	}
	return new(math.Sqrt(square/float64(a.n-2)) / mean), ""
}

const (
	minuteNs     = 60_000_000_000
	busiestShown = 3
)

// busiest returns the minutes with the most arrivals, each starting at an
// arrival, without overlap; none where the trace is shorter than a minute.
func busiest(starts []int64) []BusyWindow {
	out := []BusyWindow{}
	if starts[len(starts)-1]-starts[0] < minuteNs {
		return out
	}
	for range busiestShown {
		best := BusyWindow{}
		end := 0
		for i, s := range starts {
			if s+minuteNs > starts[len(starts)-1]+1 {
				break
			}
			for end < len(starts) && starts[end] < s+minuteNs {
				end++
			}
			w := BusyWindow{StartUnixNs: s, Requests: int64(end - i)}
			if w.Requests > best.Requests && !slices.ContainsFunc(out, w.overlaps) {
				best = w
			}
		}
		if best.Requests == 0 {
			break
		}
		best.PerS = float64(best.Requests) / 60
		out = append(out, best)
	}
	return out
}

func (w BusyWindow) overlaps(v BusyWindow) bool {
	return w.StartUnixNs < v.StartUnixNs+minuteNs && v.StartUnixNs < w.StartUnixNs+minuteNs
}

const (
	slots        = 10
	slotParts    = 10
	minStationed = 200
	// steadyWithin is the deviation of a slot that is steady whatever the test
	// says: arrivals on a clock vary less than any.
	steadyWithin = 0.1
)

// stationary compares ten slots of the trace: "no" where their counts differ
// more than the parts of a slot do among themselves, so that short bursts alone
// are no change of rate. The variance of slot counts, in units of what the parts
// predict, is held against F(9, 90) at 1 %.
func stationary(starts []int64) string {
	if len(starts) < minStationed {
		return "unknown"
	}
	first, span := starts[0], starts[len(starts)-1]-starts[0]+1
	var parts [slots * slotParts]float64
	for _, s := range starts {
		parts[int(float64(s-first)/float64(span)*float64(len(parts)))]++
	}
	grand := float64(len(starts)) / slots
	var between, within, farthest float64
	for i := range slots {
		slot := parts[i*slotParts : (i+1)*slotParts]
		mean := 0.0
		for _, n := range slot {
			mean += n / slotParts
		}
		for _, n := range slot {
			within += (n - mean) * (n - mean)
		}
		d := mean*slotParts - grand
		between += d * d / slotParts
		farthest = max(farthest, math.Abs(d)/grand)
	}
	if farthest <= steadyWithin {
		return "yes"
	}
	f := between / (slots - 1) / (within / (slots * (slotParts - 1)))
	if within == 0 || stats.FSurvival(f, slots-1, slots*(slotParts-1)) < 0.01 {
		return "no"
	}
	return "yes"
}
