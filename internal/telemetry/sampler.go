package telemetry

import (
	"context"
	"errors"

	"github.com/lambdac/lambdac/trace"
)

// sampler reads one source. Its methods are never called at once.
type sampler interface {
	// sample adds what the source says now. What it added before an error
	// stands. An error's text is a reason in the telemetry table: it is the same
	// for the same cause and holds nothing that was read.
	sample(ctx context.Context, b *batch) error
	close() error
}

// row is one source of the table.
type row struct {
	// name is what summaries call it, and the Instance of its scrape.duration.
	name   string
	source trace.SampleSource
	part   part
	// metrics are the names under which its absence is recorded.
	metrics []string
	// open returns an error that says in one line why the source is not there.
	open func(ctx context.Context, cfg *Config) (sampler, error)
}

// errNotAsked is the error of a source that the configuration does not name.
var errNotAsked = errors.New("it is not asked for")

// part is what a [Config] switches.
type part uint8

const (
	partHost part = iota
	partGPU
	partClient
	partServer
)

// samplers are the sources on this machine.
func samplers() []row {
	return []row{
		{"cpu", trace.SampleHost, partHost, []string{trace.MetricCPUUtilization}, openCPU},
		{"memory", trace.SampleHost, partHost, []string{trace.MetricMemoryAvailable, trace.MetricMemoryFree, trace.MetricMemoryAnon}, openMemory},
		{"buddy", trace.SampleHost, partHost, []string{trace.BuddyMetric(0)}, openBuddy},
		{"zones", trace.SampleHost, partHost, []string{trace.MetricZoneMin}, openZones},
		{"vmstat", trace.SampleHost, partHost, vmstatMetrics(), openVMStat},
		{"pressure", trace.SampleHost, partHost, pressureMetrics(), openPressure},
		{"cgroup", trace.SampleHost, partHost, []string{trace.MetricCgroupMemory, trace.MetricCgroupAnon, trace.MetricCgroupOOMKill, trace.MetricCgroupCPU}, openCgroup},
		{"kmsg", trace.SampleHost, partHost, []string{trace.MetricOOMOrder, trace.MetricAllocFailed}, openKmsg},
		{"tracepoints", trace.SampleHost, partHost, []string{trace.MetricExtfrag}, openTracepoints},
		{"gpu", trace.SampleGPU, partGPU, []string{trace.MetricGPUUtilization, trace.MetricGPUSMActive, trace.MetricGPUDRAMActive, trace.MetricGPUSMClock}, openGPU},
		{"client", trace.SampleClient, partClient, []string{trace.MetricClientCPU, trace.MetricClientOpenFiles}, openClient},
	}
}
