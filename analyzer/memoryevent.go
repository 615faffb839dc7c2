package analyzer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lambdac/lambdac/analyzer/stats"
	"github.com/lambdac/lambdac/trace"
)

const (
	// cpuWindowNs before an event is that of its CPU utilisation.
	cpuWindowNs = 60e9
	// windowNs is the length of the windows that are compared, and the most that
	// may lie between two readings of free memory.
	windowNs = 10e9
	// afterNs behind an event is not as without one.
	afterNs = 60e9
	// leastFree is the share of a server's memory below which it has none left,
	// as the kernel has at its watermark.
	leastFree = 0.02
	// atLimit is the share of a control group's limit from which on it is reached.
	atLimit = 0.98
)

// memoryEvent is an out-of-memory event with what was found of it.
type memoryEvent struct {
	at int64
	// load is the number of the load that was held.
	load int
	// what says who told of it.
	what []string
	// order that was asked for and its zone, "" where not known; host: the
	// kernel's, else the server's allocator told, of instance.
	order    *int
	zone     string
	server   bool
	instance string

	cpu      Evidence
	pieces   Evidence
	severity Evidence
	// largest is the size of the largest free block, bytes; nil = not known.
	largest *float64
	none    State // no memory left
}

// memoryCounters are the counters whose rise is an event.
func memoryCounters() []string {
	return []string{trace.MetricOOMKills, trace.MetricCgroupOOM, trace.MetricCgroupOOMKill, trace.MetricServerAllocFailed}
}

// seesMemoryEvents reports whether an event would have been seen: a counter of
// them was read while a load was held.
func (t *Telemetry) seesMemoryEvents(loads []observedLoad) bool {
	for _, metric := range memoryCounters() {
		for _, s := range t.of(metric) {
			for _, l := range loads {
				for _, r := range l.runs {
					if len(s.within(r.Level.BeginUnixNs, r.Level.EndUnixNs)) > 0 {
						return true
					}
				}
			}
		}
	}
	return false
}

// memoryEvents are the events while a load was held, in order of time. What is
// told of within 10 s is one event.
func (t *Telemetry) memoryEvents(loads []observedLoad) []memoryEvent {
	var all []memoryEvent
	for _, metric := range []string{trace.MetricOOMOrder, trace.MetricAllocFailed} {
		for _, zone := range t.instances(metric) {
			for _, r := range t.one(metric, zone).readings {
				all = append(all, memoryEvent{at: r.at, what: []string{metric}, order: new(int(r.value)), zone: zone})
			}
		}
	}
	for _, metric := range memoryCounters() {
		for _, instance := range t.instances(metric) {
			for _, r := range t.one(metric, instance).rises() {
				all = append(all, memoryEvent{at: r.at, what: []string{metric}, server: metric == trace.MetricServerAllocFailed, instance: instance})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b memoryEvent) int { return cmp.Compare(a.at, b.at) })
	var out []memoryEvent
	for _, e := range all {
		load, held := loadAt(loads, e.at)
		if !held {
			continue
		}
		if n := len(out); n > 0 && e.at-out[n-1].at < windowNs {
			out[n-1].join(e)
			continue
		}
		e.load = load
		out = append(out, e)
	}
	return out
}

// loadAt is the load that was held at a moment, its drain included.
func loadAt(loads []observedLoad, at int64) (load int, held bool) {
	for i, l := range loads {
		for _, r := range l.runs {
			if at >= r.Level.BeginUnixNs && at <= max(r.Level.EndUnixNs, r.Level.DrainedUnixNs) {
				return i, true
			}
		}
	}
	return 0, false
}

// join adds what another source tells of the same event.
func (e *memoryEvent) join(o memoryEvent) {
	if !slices.Contains(e.what, o.what[0]) {
		e.what = append(e.what, o.what...)
	}
	if e.order == nil {
		e.order, e.zone = o.order, o.zone
	}
	if o.server {
		e.server, e.instance = true, o.instance
	}
}

// like events are compared together: of one load and one verdict each.
func (e *memoryEvent) like(o *memoryEvent) bool {
	return e.load == o.load && e.pieces.State == o.pieces.State && e.cpu.State == o.cpu.State && e.byServer() == o.byServer()
}

// byServer: the server's allocator is judged, the kernel did not say what was
// asked for.
func (e *memoryEvent) byServer() bool { return e.server && e.order == nil }

// judge fills what can be said of the event by itself.
func (e *memoryEvent) judge(t *Telemetry) {
	e.judgeCPU(t)
	e.none = Unknown
	e.pieces = Evidence{Name: "fragmented", State: Unknown, Unit: "index"}
	e.severity = Evidence{Name: "severity", State: Unknown, Unit: "bytes", Text: "the largest free block before the event is not known"}
	switch {
	case e.byServer():
		e.judgeAllocator(t)
	case e.zone == groupConstraint:
		e.none = Holds
		e.pieces.State, e.pieces.Text = Fails, "the kernel says that the limit of a control group was reached"
	default:
		e.judgeZone(t)
	}
	if e.largest != nil {
		e.severity.State, e.severity.Point = Holds, e.largest
		e.severity.Text = fmt.Sprintf("largest free block before the event: %s", gradeOf(*e.largest))
	}
}

func (e *memoryEvent) judgeCPU(t *Telemetry) {
	e.cpu = Evidence{Name: "cpu_before_event", State: Unknown, Unit: "%", Text: "CPU utilisation of the host in the 60 s before the event, 12 samples at least"}
	for _, s := range t.of(trace.MetricCPUUtilization) {
		mean, i, ok := batchMean(s.within(e.at-cpuWindowNs, e.at))
		if !ok || e.cpu.Point != nil && *e.cpu.Point >= 100*mean {
			continue // the busiest host counts
		}
		e.cpu.Point, e.cpu.Low, e.cpu.High = finite(100*mean), finite(100*i.Low), finite(100*i.High)
		e.cpu.State = isBelow(mean, i, cpuBelow)
		e.cpu.Text = "mean of the 60 s before the event; its interval, from six batches, is to lie below 60 %"
	}
}

// isBelow says whether a mean is below a limit: its interval is, the mean is not,
// or neither.
func isBelow(mean float64, i stats.Interval, limit float64) State {
	switch {
	case i.High < limit:
		return Holds
	case mean >= limit:
		return Fails
	}
	return Unknown
}

func (e *memoryEvent) evidence(n int) Evidence {
	return Evidence{
		Name: "event", State: Holds, Point: new(float64(n)), Unit: "events",
		Text: fmt.Sprintf("out of memory by %s; %s", strings.Join(e.what, ", "), count(n, "event")),
	}
}

// judgeZone judges by the kernel's free lists. Where the zone is not known, what
// is asked for must be lacking in each that could have served it.
func (e *memoryEvent) judgeZone(t *Telemetry) {
	zones := e.zones(t)
	if len(zones) == 0 {
		e.pieces.Text = "free blocks by order (buddyinfo) of the zone that the failing request asked for"
		return
	}
	var worst freeBlocks
	var reserve, taken float64
	known := true
	for i, zone := range zones {
		f, ok := t.freeBefore(zone, e.at, e.order)
		if !ok {
			e.pieces.Text = "free blocks by order (buddyinfo) at most 10 s before the event"
			return
		}
		r, ok := t.one(trace.MetricZoneMin, zone).before(e.at, 10*cpuWindowNs)
		known = known && ok
		if i == 0 || f.largest() > worst.largest() {
			worst, reserve = f, r.value
			if e.order != nil {
				taken = t.takenAtOnce(zone, e.at, *e.order)
			}
		}
	}
	e.largest = new(0.0)
	if k := worst.largest(); k >= 0 {
		e.largest = new(t.pageSize() * float64(int(1)<<k))
	}
	e.judgeOrder(worst, reserve, taken, known)
}

// takenAtOnce is the most blocks of an order that went between two readings, in
// the window before a moment: so many may have gone since the last one.
func (t *Telemetry) takenAtOnce(zone string, at int64, order int) float64 {
	most, last := 0.0, 0.0
	if order < 0 || order >= buddyOrders {
		return 0
	}
	for _, r := range t.one(trace.BuddyMetric(0), zone).within(at-windowNs, at) {
		f, ok := t.freeAt(zone, r.at)
		if !ok {
			continue
		}
		now := f.suitable(order)
		most, last = max(most, last-now), now
	}
	return most
}

// judgeOrder says whether the order asked for was lacking in a zone with memory
// left. The kernel found no block that suits; those of the last reading were used
// up since, if as many went between two readings before.
func (e *memoryEvent) judgeOrder(f freeBlocks, reserve, taken float64, known bool) {
	p := &e.pieces
	switch {
	case e.order == nil:
		p.Text = "the order of the failing request: the kernel's log or its tracepoints tell it, counters do not"
		return
	case *e.order < 1:
		e.none = Holds
		p.State, p.Text = Fails, "a single page was asked for"
		return
	case *e.order >= buddyOrders:
		p.Text = fmt.Sprintf("an order of 0 to 10, the event says %d", *e.order)
		return
	}
	suitable := f.suitable(*e.order)
	if suitable <= taken {
		clear(f[*e.order:])
	}
	free, _ := f.pages()
	p.Point = finite(f.index(*e.order))
	switch {
	case known && free <= reserve:
		e.none = Holds
		p.State, p.Text = Fails, fmt.Sprintf("%.0f pages were free, the zone keeps %.0f", free, reserve)
	case suitable > taken:
		e.none = Fails
		p.State, p.Text = Fails, fmt.Sprintf("%.0f blocks of order %d were free", suitable, *e.order)
	case !known:
		p.Text = "the watermark of the zone (zoneinfo): whether memory was left is not known"
	case *p.Point < fragmentedFrom:
		e.none = Fails
		p.State, p.Text = Fails, fmt.Sprintf("%.0f pages were free, for order %d their index is below 0.5", free, *e.order)
	default:
		e.none = Fails
		p.State = Holds
		p.Text = fmt.Sprintf("order %d was asked for, none was free of it, though %.0f pages were and the zone keeps %.0f", *e.order, free, reserve)
		if suitable > 0 {
			p.Text += fmt.Sprintf("; %.0f blocks of it at the last reading, as many went at once before", suitable)
		}
	}
}

// judgeAllocator judges by what the server's own allocator says. What was asked
// for is not known: more than the largest free block. If all that is free is less
// than twice that, the request may have been larger than all of it.
func (e *memoryEvent) judgeAllocator(t *Telemetry) {
	free, ok := t.one(trace.MetricServerFreeBytes, e.instance).before(e.at, windowNs)
	largest, ok2 := t.one(trace.MetricServerLargestFree, e.instance).before(e.at, windowNs)
	if !ok || !ok2 {
		e.pieces.Text = "free memory and largest free block of the server's allocator at most 10 s before the event"
		return
	}
	most := 0.0
	for _, r := range t.one(trace.MetricServerFreeBytes, e.instance).readings {
		most = max(most, r.value)
	}
	e.largest = &largest.value
	p := &e.pieces
	p.Unit = "share"
	e.none = stateOf(free.value < leastFree*most)
	if free.value > 0 {
		p.Point = finite(1 - largest.value/free.value)
	}
	text := fmt.Sprintf("%.3g MiB were free, the largest block %.3g MiB", free.value/(1<<20), largest.value/(1<<20))
	switch {
	case e.none == Holds:
		p.State, p.Text = Fails, text+": nothing was left"
	case *p.Point < fragmentedFrom:
		p.State, p.Text = Fails, text+": more than all of it may have been asked for"
	default:
		p.State, p.Text = Holds, text
	}
}

// published is the rule of the first publication: largest free block below
// 512 KB and CPU below 60 %, whatever was asked for.
func (e *memoryEvent) published() bool {
	return e.largest != nil && *e.largest < publishedBytes && e.cpu.Point != nil && *e.cpu.Point < 100*cpuBelow
}

func (e *memoryEvent) publishedEvidence() Evidence {
	out := Evidence{Name: "published_rule", State: stateOf(e.published()), Unit: "bytes", Point: e.largest, Text: "largest free block below 512 KB with CPU below 60 %: indicates, proves nothing"}
	if e.largest == nil || e.cpu.Point == nil {
		out.State = Unknown
	}
	return out
}

// exhaustion is the explanation that no memory was left.
func (e *memoryEvent) exhaustion() Cause {
	return Cause{Name: "exhaustion", State: e.none, Text: "no memory was left, in pieces or not: " + e.pieces.Text}
}

// groupLimit is the explanation that the control group had reached its limit.
func (t *Telemetry) groupLimit(e *memoryEvent) Cause {
	out := Cause{Name: "cgroup_limit", State: Unknown, Text: "memory of the control group and its limit are not known"}
	for _, group := range t.instances(trace.MetricCgroupMemory) {
		used, ok := t.one(trace.MetricCgroupMemory, group).before(e.at, windowNs)
		if !ok {
			continue
		}
		limit, ok := t.one(trace.MetricCgroupLimit, group).before(e.at, 10*cpuWindowNs)
		if !ok {
			out.State, out.Text = Fails, "the control group has no limit"
			continue
		}
		out.State = stateOf(used.value >= atLimit*limit.value)
		out.Text = fmt.Sprintf("the control group held %.3g of %.3g GiB", used.value/(1<<30), limit.value/(1<<30))
		if out.State == Holds {
			return out
		}
	}
	return out
}
