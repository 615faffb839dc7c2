package telemetry

import (
	"maps"
	"slices"
	"strconv"

	dto "github.com/prometheus/client_model/go"

	"github.com/lambdac/lambdac/trace"
)

// maxOrder is above the largest block of any kernel.
const maxOrder = 30

// cpuTime adds the share of the host's CPUs that was in use since the scrape
// before.
func (s *server) cpuTime(family *dto.MetricFamily, b *batch) {
	var now busyTime
	for _, series := range family.GetMetric() {
		v := valueOf(series)
		now.total += v
		if mode := labelsOf(series)["mode"]; mode == "idle" || mode == "iowait" {
			now.idle += v
		}
	}
	if now.total > 0 {
		s.tells[trace.SampleHost] = true
		s.cpu.share(b, s.name, now)
	}
}

// freeBlocks adds the host's free blocks, zone by zone.
func (s *server) freeBlocks(family *dto.MetricFamily, b *batch) {
	zones := make(map[string][]float64)
	for _, series := range family.GetMetric() {
		l := labelsOf(series)
		order, err := strconv.Atoi(l["size"])
		if err != nil || order < 0 || order > maxOrder {
			continue
		}
		zone := s.prefix + zoneName(l["node"], l["zone"])
		for len(zones[zone]) <= order {
			zones[zone] = append(zones[zone], 0)
		}
		zones[zone][order] = valueOf(series)
	}
	for _, zone := range slices.Sorted(maps.Keys(zones)) {
		addBuddy(b, zone, zones[zone])
	}
}

// failedAllocations adds an event for each order and zone in which allocations
// failed since the scrape before: what the kernel's log says on this machine. No
// exporter has it by itself; a textfile or a tracing exporter can.
func (s *server) failedAllocations(family *dto.MetricFamily, b *batch) {
	for _, series := range family.GetMetric() {
		l := labelsOf(series)
		order, err := strconv.Atoi(l["order"])
		if err != nil || order < 0 || order > maxOrder {
			continue
		}
		k := seriesKey{source: trace.SampleHost, instance: l.String(), metric: trace.MetricAllocFailed}
		last, seen := s.counters[k]
		now := valueOf(series)
		s.counters[k] = now
		if now > last && (seen || s.scraped) {
			b.event(b.at, trace.MetricAllocFailed, family.GetName(), s.prefix+zoneName(l["node"], l["zone"]), float64(order))
		}
	}
	s.scraped = true
}
