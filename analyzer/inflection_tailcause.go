package analyzer

import (
	"fmt"
	"math"
	"slices"

	"github.com/lambdac/lambdac/analyzer/stats"
	"github.com/lambdac/lambdac/trace"
)

const (
	// gpuIdleBelow is the activity below which a GPU is mostly idle.
	gpuIdleBelow = 0.3
	// clockStable is the share of its clock at the higher load that a GPU keeps.
	clockStable = 0.95
	// slowedBits of NVML's clocks event reasons: power cap, slowdown by hardware,
	// by heat, by power brake. What idleness or a setting does is not in them.
	slowedBits = 0x4 | 0x8 | 0x20 | 0x40 | 0x80
	// firstPart of a window in which what is cold at its start shows.
	firstPart = 0.2
	// unknownShare of answers may lack a column.
	unknownShare = 0.1
)

// gpuActivity is how busy the GPU was at low load.
type gpuActivity struct {
	Evidence

	// weak: from utilisation, which cannot prove idleness.
	weak bool
	// want says what would do.
	want string
}

const wantActivity = "SM or DRAM activity of the GPU at low load (GPM, or DCGM's profiling fields): utilisation counts any kernel and proves nothing"

// gpuIdle takes the activity from SM and DRAM activity, the busier of them and
// of the GPUs, else from utilisation. A utilisation of 0 throughout, though
// requests were answered, was not measured.
func gpuIdle(runs []*ObservedRun, t *Telemetry) gpuActivity {
	out := gpuActivity{Evidence: Evidence{Name: "gpu_idle", State: Unknown, Unit: "%", Text: "activity of the GPU at low load is not known"}, want: wantActivity}
	for _, metric := range []string{trace.MetricGPUSMActive, trace.MetricGPUDRAMActive} {
		out.take(metric, runs, t)
	}
	if out.Point != nil {
		if out.State == Unknown {
			out.want = "runs at low load that agree: " + out.Text
		}
		return out
	}
	out.weak = true
	out.take(trace.MetricGPUUtilization, runs, t)
	if out.Point != nil && *out.Point == 0 {
		out.Point, out.Low, out.High, out.State = nil, nil, nil, Unknown
		out.Text = "utilisation is 0 throughout though requests were answered: it was not measured"
	}
	return out
}

// take keeps the busiest of the GPUs by a metric, if it is busier than what was
// taken before.
func (g *gpuActivity) take(metric string, runs []*ObservedRun, t *Telemetry) {
	for _, s := range t.of(metric) {
		var means []float64
		for _, r := range runs {
			if w := s.within(r.Level.StartUnixNs, r.Level.EndUnixNs); len(w) > 0 {
				means = append(means, meanOf(w))
			}
		}
		mean, i, ok := stats.MeanInterval(means, confidence)
		if !ok || g.Point != nil && *g.High >= 100*i.High {
			continue
		}
		g.Point, g.Low, g.High = finite(100*mean), finite(100*i.Low), finite(100*i.High)
		g.State = isBelow(mean, i, gpuIdleBelow)
		g.Text = fmt.Sprintf("%s of the busiest GPU at low load, %d runs; its interval is to lie below 30 %%", metric, len(means))
	}
}

// tailCauses are the other explanations of a tail at low load.
func tailCauses(low, high observedLoad, t *Telemetry) []Cause {
	return []Cause{
		clockCause(low, high, t), stateCause(low, high, t), throttleCause(low, t), promptCause(low, high),
		startCause(low, high), connectionCause(low, high), timerCause(low, high), clientCause(low, high),
	}
}

// readings of a metric in the windows of runs, all GPUs together.
func (t *Telemetry) readings(metric string, runs []*ObservedRun) []float64 {
	var out []float64
	for _, s := range t.of(metric) {
		for _, r := range runs {
			for _, x := range s.within(r.Level.StartUnixNs, r.Level.EndUnixNs) {
				out = append(out, x.value)
			}
		}
	}
	slices.Sort(out)
	return out
}

// clockCause: a GPU that clocks down when idle is slow for the first requests.
func clockCause(low, high observedLoad, t *Telemetry) Cause {
	out := Cause{Name: "clock_ramp", State: Unknown, Text: "the SM clock at both loads"}
	at, ok := stats.Quantile(t.readings(trace.MetricGPUSMClock, low.runs), 0.05)
	usual, ok2 := stats.Quantile(t.readings(trace.MetricGPUSMClock, high.runs), 0.5)
	if !ok || !ok2 {
		return out
	}
	out.State = stateOf(at < clockStable*usual)
	out.Text = fmt.Sprintf("SM clock at low load %.4g MHz (5 %% quantile), %.4g MHz at the higher load", at/1e6, usual/1e6)
	if out.State == Holds {
		out.Text += ": lock the clocks and run again"
	}
	return out
}

// stateCause: likewise for the power state.
func stateCause(low, high observedLoad, t *Telemetry) Cause {
	out := Cause{Name: "power_state", State: Unknown, Text: "the power state (P-state) of the GPU at both loads"}
	at, ok := stats.Quantile(t.readings(trace.MetricGPUPState, low.runs), 0.95)
	usual, ok2 := stats.Quantile(t.readings(trace.MetricGPUPState, high.runs), 0.5)
	if !ok || !ok2 {
		return out
	}
	out.State = stateOf(at > usual)
	out.Text = fmt.Sprintf("P%.0f at low load (95 %% quantile), P%.0f at the higher load", at, usual)
	return out
}

func throttleCause(low observedLoad, t *Telemetry) Cause {
	out := Cause{Name: "throttling", State: Unknown, Text: "the reasons for which the GPU lowers its clocks, at low load"}
	masks := t.readings(trace.MetricGPUThrottle, low.runs)
	if len(masks) == 0 {
		return out
	}
	slowed := 0
	for _, m := range masks {
		if uint64(m)&slowedBits != 0 {
			slowed++
		}
	}
	share := float64(slowed) / float64(len(masks))
	out.State = stateOf(share > 0.01)
	out.Text = fmt.Sprintf("slowed by power or heat in %.2g %% of %d samples at low load", 100*share, len(masks))
	return out
}

// persists reports the ratio of P99s of a changed value, and whether the tail is
// still there: at least 1.4, or at least half of the whole, both as logarithms,
// since what is left out makes the ratio less certain.
func persists(low, high observedLoad, of func(*ObservedRun, *Answer) (us, weight float64)) (ratio float64, known, still bool) {
	side := func(l observedLoad) []float64 {
		var out []float64
		for _, r := range l.runs {
			out = append(out, p99sOf([]*ObservedRun{r}, tailAnswers/3, func(a *Answer) (float64, float64) { return of(r, a) })...)
		}
		return out
	}
	a, b := side(low), side(high)
	if len(a) == 0 || len(b) == 0 {
		return 0, false, false
	}
	whole := mean(logP99s(low.runs)) - mean(logP99s(high.runs))
	left := mean(a) - mean(b)
	return math.Exp(left), true, left >= min(math.Log(tailRatio), whole/2)
}

// without is the cause that a changed value takes the tail away.
func without(name, done, lacking string, low, high observedLoad, of func(*ObservedRun, *Answer) (us, weight float64)) Cause {
	ratio, known, still := persists(low, high, of)
	if !known {
		return Cause{Name: name, State: Unknown, Text: lacking}
	}
	return Cause{Name: name, State: stateOf(!still), Text: fmt.Sprintf("%s the ratio is %.3g", done, ratio)}
}

// shareOf is the share of answers of which something is true.
func shareOf(l observedLoad, is func(*Answer) bool) float64 {
	n, k := 0.0, 0.0
	for _, r := range l.runs {
		for i := range r.Answers {
			n++
			if is(&r.Answers[i]) {
				k++
			}
		}
	}
	return k / max(n, 1)
}

// promptCause weighs the answers at low load as if their prompts were as long as
// those at the higher load, by classes of length that are finer at the top, where
// a P99 is made.
func promptCause(low, high observedLoad) Cause {
	lacking := "the lengths of the prompts at both loads"
	counted := func(a *Answer) bool { return a.InputTokens > 0 }
	if shareOf(low, counted) < 1-unknownShare || shareOf(high, counted) < 1-unknownShare {
		return Cause{Name: "prompt_mix", State: Unknown, Text: lacking}
	}
	var lengths []float64
	for _, r := range high.runs {
		for _, a := range r.Answers {
			if a.InputTokens > 0 {
				lengths = append(lengths, float64(a.InputTokens))
			}
		}
	}
	slices.Sort(lengths)
	cuts := []float64{0.25, 0.5, 0.75, 0.9, 0.97, 0.99}
	for i, q := range cuts {
		cuts[i], _ = stats.Quantile(lengths, q)
	}
	class := func(a *Answer) int {
		i, _ := slices.BinarySearch(cuts, float64(a.InputTokens))
		return i
	}
	have, want := make([]float64, len(cuts)+1), make([]float64, len(cuts)+1)
	for i := range have {
		in := func(a *Answer) bool { return counted(a) && class(a) == i }
		have[i], want[i] = shareOf(low, in), shareOf(high, in)
	}
	lows := make(map[*ObservedRun]bool)
	for _, r := range low.runs {
		lows[r] = true
	}
	return without("prompt_mix", "with prompts weighed to the same lengths", lacking, low, high, func(r *ObservedRun, a *Answer) (float64, float64) {
		switch {
		case !counted(a):
			return 0, 0
		case !lows[r]:
			return float64(a.LatencyUs), 1
		}
		return float64(a.LatencyUs), want[class(a)] / have[class(a)]
	})
}

// startCause leaves out what is cold at the start of a window.
func startCause(low, high observedLoad) Cause {
	return without("cold_start", "without the first fifth of the windows", "longer windows: without their first fifth too few answers are left", low, high, func(r *ObservedRun, a *Answer) (float64, float64) {
		if float64(a.StartUnixNs-r.Level.StartUnixNs) < firstPart*float64(r.Level.EndUnixNs-r.Level.StartUnixNs) {
			return 0, 0
		}
		return float64(a.LatencyUs), 1
	})
}

// connectionCause leaves out requests that had to open a connection.
func connectionCause(low, high observedLoad) Cause {
	lacking := "whether requests opened a connection"
	known := func(a *Answer) bool { return a.Conn != ConnUnknown }
	if shareOf(low, known) < 1-unknownShare {
		return Cause{Name: "new_connections", State: Unknown, Text: lacking}
	}
	if opened := shareOf(low, func(a *Answer) bool { return a.Conn == ConnOpened }); opened < 0.005 {
		return Cause{Name: "new_connections", State: Fails, Text: fmt.Sprintf("%.2g %% of the requests at low load opened a connection", 100*opened)}
	}
	return without("new_connections", "without requests that opened a connection", "kept connections: too few requests at low load had one", low, high, func(_ *ObservedRun, a *Answer) (float64, float64) {
		if a.Conn == ConnOpened {
			return 0, 0
		}
		return float64(a.LatencyUs), 1
	})
}

// timerCause: a server that waits for a batch to fill delays all requests at low
// load, not only the slowest.
func timerCause(low, high observedLoad) Cause {
	quantile := func(l observedLoad, q float64) float64 {
		var all []float64
		for _, r := range l.runs {
			for _, a := range r.Answers {
				all = append(all, float64(a.LatencyUs))
			}
		}
		slices.Sort(all)
		v, _ := stats.Quantile(all, q)
		return v
	}
	lowMid, lowTail := quantile(low, 0.5), quantile(low, 0.99)
	highMid, highTail := quantile(high, 0.5), quantile(high, 0.99)
	shifted := lowMid >= tailRatio*highMid && lowTail-lowMid < tailRatio*(highTail-highMid)
	return Cause{Name: "batching_timer", State: stateOf(shifted), Text: fmt.Sprintf(
		"median %.3g ms at low load, %.3g ms at the higher; from there to P99 %.3g ms and %.3g ms", lowMid/1e3, highMid/1e3, (lowTail-lowMid)/1e3, (highTail-highMid)/1e3)}
}

// clientCause measures from the actual send.
func clientCause(low, high observedLoad) Cause {
	return without("client", "measured from the actual send", "when requests were really sent", low, high, func(_ *ObservedRun, a *Answer) (float64, float64) {
		return float64(a.LatencyUs - a.LagUs), 1
	})
}
