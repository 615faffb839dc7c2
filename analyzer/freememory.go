package analyzer

import (
	"slices"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// zones are those that may have served the request: the one it asked for, else
// all normal ones, else all.
func (e *memoryEvent) zones(t *Telemetry) []string {
	all := t.instances(trace.BuddyMetric(0))
	if e.zone != "" && e.zone != groupConstraint {
		if slices.Contains(all, e.zone) {
			return []string{e.zone}
		}
		return nil
	}
	var normal []string
	for _, zone := range all {
		if strings.HasSuffix(zone, "/Normal") {
			normal = append(normal, zone)
		}
	}
	if len(normal) > 0 {
		return normal
	}
	return all
}

// freeAt are the free blocks of a zone at or before a moment.
func (t *Telemetry) freeAt(zone string, at int64) (f freeBlocks, ok bool) {
	for k := range f {
		r, ok := t.one(trace.BuddyMetric(k), zone).before(at, windowNs)
		if !ok {
			return f, false
		}
		f[k] = r.value
	}
	return f, true
}

// freeBefore are the free blocks just before a request of an order failed: of the
// last two readings that in which less suited it, since the kernel itself found
// nothing and readings are a while apart.
func (t *Telemetry) freeBefore(zone string, at int64, order *int) (freeBlocks, bool) {
	last, ok := t.one(trace.BuddyMetric(0), zone).before(at, windowNs)
	if !ok {
		return freeBlocks{}, false
	}
	f, ok := t.freeAt(zone, last.at)
	earlier, ok2 := t.one(trace.BuddyMetric(0), zone).before(last.at-1, windowNs)
	if !ok || !ok2 || order == nil || *order < 0 || *order >= buddyOrders {
		return f, ok
	}
	if g, ok := t.freeAt(zone, earlier.at); ok && g.suitable(*order) < f.suitable(*order) {
		return g, true
	}
	return f, true
}

// pageSize of the host, 4 KiB where it does not say.
func (t *Telemetry) pageSize() float64 {
	for _, s := range t.of(trace.MetricPageSize) {
		return s.readings[0].value
	}
	return 4096
}

// pressure is the mean share of free memory that was in blocks too small, over
// the readings in a window; of the order asked for, else of 512 KB.
func (e *memoryEvent) pressure(t *Telemetry, from, to int64) (share float64, ok bool) {
	if e.byServer() {
		return t.allocatorPressure(e.instance, from, to)
	}
	order := 7
	if e.order != nil && *e.order > 0 && *e.order < buddyOrders {
		order = *e.order
	}
	sum, n := 0.0, 0.0
	for _, zone := range e.zones(t) {
		for _, r := range t.one(trace.BuddyMetric(0), zone).within(from, to) {
			if f, ok := t.freeAt(zone, r.at); ok {
				sum, n = sum+f.unusable(order), n+1
			}
		}
	}
	return sum / max(n, 1), n > 0
}

func (t *Telemetry) allocatorPressure(instance string, from, to int64) (share float64, ok bool) {
	sum, n := 0.0, 0.0
	for _, r := range t.one(trace.MetricServerLargestFree, instance).within(from, to) {
		free, ok := t.one(trace.MetricServerFreeBytes, instance).before(r.at, windowNs)
		if ok && free.value > 0 {
			sum, n = sum+1-r.value/free.value, n+1
		}
	}
	return sum / max(n, 1), n > 0
}
