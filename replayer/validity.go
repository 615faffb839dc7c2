package replayer

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// Limits of the validity gate: beyond them a level says more about the client
// than about the service.
const (
	// minAchieved is the share of the scheduled requests that must be sent in
	// time.
	minAchieved = 0.99
	// lagShare of the median TTFT, if that is more than Config.MaxLag, bounds
	// the 99th percentile of the client's delay.
	lagShare = 0.02
	// maxCPU is the share of its cores that the client may use.
	maxCPU = 0.8
	// maxExcluded is the share of requests that the client may lose.
	maxExcluded = 0.01
	// maxBlamed is the share of requests that the service may refuse as wrong
	// (4xx): it felt that much less than was offered. blamedWarning is the
	// share from which that is said.
	maxBlamed     = 0.1
	blamedWarning = 0.01
	// maxDrift is how far the schedule's rate may be from the one asked.
	maxDrift = 0.02
)

// facts are what a level's verdict is made from, gathered by the collector.
type facts struct {
	level *trace.Level
	hold  time.Duration

	records    int64 // all, the warm-up's too
	sentInTime int64 // of those due in the window, sent before it was over
	planned    int64 // given up where the recorded client gave up
	waited     int64 // turns due later than scheduled: the one before was open
	unready    int64 // turns that the window's end found waiting
	lags       []int64
	ttfts      []int64         // of answered requests due in the window
	refused    map[int32]int64 // of those excluded, by status
	capHeld    bool
	stopped    string   // why the level did not run to its end; "" = it did
	drift      float64  // schedule's rate over the one asked, less 1
	cpu        *float64 // share of the client's cores
	cores      int
	shared     bool // the target is in this process
	maxConns   int  // the client's own limit; 0 = none
	policy     CapPolicy
	maxLag     time.Duration
	clockMoved time.Duration // of the wall clock against the monotonic one
}

// add counts one outcome.
func (f *facts) add(o *outcome) {
	f.records++
	l := f.level
	l.Within.Take(l, o.rec)
	if o.rec.ConnReused != nil && *o.rec.ConnReused {
		l.ConnsReused++
	}
	if d := o.rec.OutcomeDetail; d != nil && *d == trace.DetailSession {
		f.unready++
	}
	if !l.InWindow(o.rec.StartUnixNs) {
		return
	}
	if o.it.late {
		f.waited++
	}
	l.Scheduled++
	l.Outcomes[o.rec.Outcome]++
	l.Tally.Add(&o.rec.Result)
	if len(o.rec.Faults) > 0 {
		l.Faulted++
	}
	if d := o.rec.OutcomeDetail; d != nil && *d == trace.DetailPlan {
		f.planned++
	} else if r := &o.rec.Result; r.Class() == trace.ClassExcluded && r.StatusCode != nil {
		f.refused[*r.StatusCode]++
	}
	if !o.dispatched.IsZero() {
		if o.dispatched.UnixNano() < l.EndUnixNs+int64(f.maxLag) {
			f.sentInTime++
		}
		f.lags = append(f.lags, o.lag.Microseconds())
		f.seePrefix(o)
	}
	if ttft, ok := o.rec.TTFTUser(); ok && o.rec.Outcome == trace.OutcomeOK {
		f.ttfts = append(f.ttfts, ttft.Microseconds())
	}
}

// judge fills in the level's rates, lags and verdict.
func (f *facts) judge() {
	l := f.level
	if l.Concurrency != nil {
		l.OfferedPerS = float64(l.Scheduled) / f.hold.Seconds()
	}
	l.AchievedPerS = float64(f.sentInTime) / f.hold.Seconds()
	l.ClientCPUShare = f.cpu
	var lag99 time.Duration
	if len(f.lags) > 0 {
		l.LagP50Us, l.LagP99Us = new(quantile(f.lags, 0.5)), new(quantile(f.lags, 0.99))
		lag99 = time.Duration(*l.LagP99Us) * time.Microsecond
	}
	invalid := func(format string, args ...any) { l.Invalid = append(l.Invalid, fmt.Sprintf(format, args...)) }
	if f.stopped != "" {
		invalid("stopped before its end: %s", f.stopped)
	}
	if n := f.sendable(); n > 0 && float64(f.sentInTime) < minAchieved*float64(n) {
		invalid("achieved %.4g/s of %.4g/s scheduled (%.1f %%, needs 99 %%): the client fell behind",
			l.AchievedPerS, float64(n)/f.hold.Seconds(), 100*float64(f.sentInTime)/float64(n))
	}
	if limit := f.lagLimit(); lag99 > limit {
		invalid("client lag p99 %v above %v: requests were sent late", lag99, limit)
	}
	if f.capHeld {
		invalid("the client's own limit of %d in flight held: raise --max-in-flight, or the load is beyond what it can offer", l.InFlightCap)
	}
	if f.maxConns > 0 && int(l.InFlightMax) > f.maxConns {
		invalid("the client's own limit of %d connections held, with up to %d requests in flight: raise --max-connections", f.maxConns, l.InFlightMax)
	}
	if n := l.Tally.ExcludedByUs; l.Scheduled > 0 && float64(n) > maxExcluded*float64(l.Scheduled) {
		invalid("%d of %d requests (%.1f %%) were lost by the client, over 1 %%", n, l.Scheduled, 100*float64(n)/float64(l.Scheduled))
	}
	f.judgeBlamed(invalid)
	f.judgeCPU(invalid)
	f.judgeSessions()
	f.judgeClock()
	if math.Abs(f.drift) > maxDrift {
		l.Warnings = append(l.Warnings, fmt.Sprintf("the schedule has %+.1f %% of the offered %.4g/s in its window: the trace is uneven there", 100*f.drift, l.OfferedPerS))
	}
}

// sendable is the number of requests that were to be sent: under the drop
// policy not those dropped, which have a reason of their own.
func (f *facts) sendable() int64 {
	if f.policy == CapDrop {
		return f.level.Scheduled - f.level.Outcomes[trace.OutcomeNotSent]
	}
	return f.level.Scheduled
}

func (f *facts) lagLimit() time.Duration {
	ttft := time.Duration(quantile(f.ttfts, 0.5)) * time.Microsecond
	return max(f.maxLag, time.Duration(lagShare*float64(ttft)))
}

// judgeBlamed looks at answers that say nothing of the load.
func (f *facts) judgeBlamed(invalid func(string, ...any)) {
	l := f.level
	n := l.Tally.Excluded - l.Tally.ExcludedByUs - f.planned
	share := float64(n) / float64(max(l.Scheduled, 1))
	const text = "%d of %d requests (%.1f %%) were refused as wrong, %s: the service felt less than the load offered"
	switch {
	case share > maxBlamed:
		invalid(text, n, l.Scheduled, 100*share, f.refusals())
	case share > blamedWarning:
		l.Warnings = append(l.Warnings, fmt.Sprintf(text, n, l.Scheduled, 100*share, f.refusals()))
	}
}

// refusals names the statuses of those answers, with what they often mean.
func (f *facts) refusals() string {
	codes := slices.Sorted(maps.Keys(f.refused))
	var parts []string
	for _, code := range codes {
		parts = append(parts, fmt.Sprintf("status %d %d times", code, f.refused[code]))
	}
	if len(parts) == 0 {
		return "without a status"
	}
	switch {
	case slices.Contains(codes, 404):
		parts = append(parts, "is the model there? see --model")
	case slices.Contains(codes, 401) || slices.Contains(codes, 403):
		parts = append(parts, "see LAMBDAC_TARGET_HEADER_AUTHORIZATION")
	}
	return strings.Join(parts, ", ")
}

// waitedWarning is the share of turns held up from which that is said.
const waitedWarning = 0.01

// judgeSessions says where conversations held the load back: then what the
// service felt is below the load that the schedule meant.
func (f *facts) judgeSessions() {
	l := f.level
	meant := float64(l.Scheduled + f.unready)
	if n := f.waited + f.unready; float64(n) > waitedWarning*meant {
		l.Warnings = append(l.Warnings, fmt.Sprintf(
			"%d turns waited for the one before them, %d of them past the window's end: %.4g/s were due of %.4g/s meant",
			n, f.unready, float64(l.Scheduled)/f.hold.Seconds(), l.OfferedPerS))
	}
}

func (f *facts) judgeCPU(invalid func(string, ...any)) {
	switch {
	case f.cpu == nil || *f.cpu <= maxCPU:
	case f.shared:
		f.level.Warnings = append(f.level.Warnings, fmt.Sprintf(
			"client and service share a process that used %.0f %% of %d cores: latencies hold the client's too", 100**f.cpu, f.cores))
	default:
		invalid("the client used %.0f %% of its %d cores, over 80 %%: give it more cores or shard the replay", 100**f.cpu, f.cores)
	}
}
