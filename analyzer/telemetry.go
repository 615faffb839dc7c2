package analyzer

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"github.com/lambdac/lambdac/analyzer/stats"
	"github.com/lambdac/lambdac/trace"
)

// Telemetry is what samples say, by metric and instance. The zero value is
// empty and ready. What could not be read is left out and counted.
type Telemetry struct {
	series map[string]map[string]*series
}

// groupConstraint is what the kernel says of an OOM kill for the limit of a
// control group; it stands for the zone then.
const groupConstraint = "CONSTRAINT_MEMCG"

// series are the readings of one metric of one instance, in order of time.
type series struct {
	readings []reading
	// nulls counts the samples that had no value.
	nulls  int
	sorted bool
}

type reading struct {
	at    int64
	value float64
}

// Add takes one sample, in any order of time.
func (t *Telemetry) Add(s *trace.Sample) {
	if t.series == nil {
		t.series = make(map[string]map[string]*series)
	}
	if t.series[s.Metric] == nil {
		t.series[s.Metric] = make(map[string]*series)
	}
	instance := s.Instance
	if s.Metric == trace.MetricOOMOrder && s.RawName != nil && *s.RawName == groupConstraint {
		instance = groupConstraint
	}
	at := t.series[s.Metric][instance]
	if at == nil {
		at = &series{sorted: true}
		t.series[s.Metric][instance] = at
	}
	if s.Value == nil {
		at.nulls++
		return
	}
	if n := len(at.readings); n > 0 && at.readings[n-1].at > s.AtUnixNs {
		at.sorted = false
	}
	at.readings = append(at.readings, reading{s.AtUnixNs, *s.Value})
}

// of returns the series of a metric in order of instance; none where it has no
// reading.
func (t *Telemetry) of(metric string) []*series {
	var out []*series
	for _, instance := range t.instances(metric) {
		out = append(out, t.one(metric, instance))
	}
	return out
}

// instances of a metric that have readings, in order.
func (t *Telemetry) instances(metric string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(t.series[metric])) {
		if len(t.series[metric][name].readings) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// one is the series of a metric and instance, nil where there is none.
func (t *Telemetry) one(metric, instance string) *series {
	s := t.series[metric][instance]
	if s != nil && !s.sorted {
		slices.SortStableFunc(s.readings, func(a, b reading) int { return cmp.Compare(a.at, b.at) })
		s.sorted = true
	}
	return s
}

// within are the readings in [from, to).
func (s *series) within(from, to int64) []reading {
	if s == nil {
		return nil
	}
	i := sort.Search(len(s.readings), func(i int) bool { return s.readings[i].at >= from })
	j := sort.Search(len(s.readings), func(i int) bool { return s.readings[i].at >= to })
	return s.readings[i:max(i, j)]
}

// before is the last reading at or before a moment, not older than age.
func (s *series) before(at, age int64) (reading, bool) {
	if s == nil {
		return reading{}, false
	}
	i := sort.Search(len(s.readings), func(i int) bool { return s.readings[i].at > at })
	if i == 0 || at-s.readings[i-1].at > age {
		return reading{}, false
	}
	return s.readings[i-1], true
}

// rises are the readings at which a counter had counted something since the one
// before. One that is lower is of a counter that began again at 0.
func (s *series) rises() []reading {
	var out []reading
	for i := 1; i < len(s.readings); i++ {
		if now, last := s.readings[i].value, s.readings[i-1].value; now > last || now < last && now > 0 {
			out = append(out, s.readings[i])
		}
	}
	return out
}

// increase is how much a counter counted in [from, to), and how often it began
// again: from a restart on its value is what it has counted since. ok is false
// where there are no two readings.
func (s *series) increase(from, to int64) (by float64, restarts int, ok bool) {
	readings := s.within(from, to)
	for i := 1; i < len(readings); i++ {
		now, last := readings[i].value, readings[i-1].value
		if now < last {
			restarts++
			last = 0
		}
		by += now - last
	}
	return by, restarts, len(readings) > 1
}

// batches of which a mean's interval is made.
const batches = 6

// batchMean is the mean of readings with its interval from the means of six
// successive batches, which may be taken for independent where readings are not.
// ok is false for fewer than two readings a batch.
func batchMean(readings []reading) (mean float64, i stats.Interval, ok bool) {
	if len(readings) < 2*batches {
		return 0, stats.Interval{}, false
	}
	means := make([]float64, batches)
	for b := range means {
		part := readings[b*len(readings)/batches : (b+1)*len(readings)/batches]
		for _, r := range part {
			means[b] += r.value / float64(len(part))
		}
	}
	return stats.MeanInterval(means, confidence)
}

func meanOf(readings []reading) float64 {
	sum := 0.0
	for _, r := range readings {
		sum += r.value
	}
	return sum / float64(len(readings))
}
