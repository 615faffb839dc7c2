package telemetry

import (
	"math"

	"github.com/lambdac/lambdac/trace"
)

// batch is what one reading of one source gave.
type batch struct {
	// at is when the reading began, on the run's clock.
	at int64
	// source is that of the rows added next.
	source trace.SampleSource
	// rows are of series that go on: where one is missing later, that is a hole.
	rows []trace.Sample
	// events happened once.
	events []trace.Sample
}

// add takes one value of a gauge or counter. One that is not finite is unknown.
func (b *batch) add(metric, instance string, v float64) { b.addRaw(metric, "", instance, v) }

// addRaw is add with the source's own name.
func (b *batch) addRaw(metric, raw, instance string, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		b.null(metric, raw, instance, "the source says NaN or infinity")
		return
	}
	b.rows = append(b.rows, trace.Sample{AtUnixNs: b.at, Source: b.source, Instance: instance, Metric: metric, RawName: rawName(raw), Value: &v})
}

// null takes what the source cannot tell, and why.
func (b *batch) null(metric, raw, instance, reason string) {
	b.rows = append(b.rows, trace.Sample{AtUnixNs: b.at, Source: b.source, Instance: instance, Metric: metric, RawName: rawName(raw), Reason: &reason})
}

// event takes what happened at a moment.
func (b *batch) event(at int64, metric, raw, instance string, v float64) {
	b.events = append(b.events, trace.Sample{AtUnixNs: at, Source: b.source, Instance: instance, Metric: metric, RawName: rawName(raw), Value: &v})
}

// missed takes a stretch in which events were not seen, and why.
func (b *batch) missed(metric, reason string) {
	b.events = append(b.events, trace.Sample{AtUnixNs: b.at, Source: b.source, Metric: metric, Reason: &reason})
}

func rawName(raw string) *string {
	if raw == "" {
		return nil
	}
	return &raw
}

// seriesKey names a series.
type seriesKey struct {
	source                trace.SampleSource
	instance, metric, raw string
}

func keyOf(s *trace.Sample) seriesKey {
	k := seriesKey{source: s.Source, instance: s.Instance, metric: s.Metric}
	if s.RawName != nil {
		k.raw = *s.RawName
	}
	return k
}

// hole is a sample without a value of the series.
func (k seriesKey) hole(at int64, reason *string) trace.Sample {
	return trace.Sample{AtUnixNs: at, Source: k.source, Instance: k.instance, Metric: k.metric, RawName: rawName(k.raw), Reason: reason}
}
