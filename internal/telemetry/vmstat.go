package telemetry

import (
	"context"

	"github.com/lambdac/lambdac/trace"
)

// vmstat reads counters of /proc/vmstat.
type vmstat struct {
	nothing
	path string
}

// vmstatRow is one counter.
type vmstatRow struct {
	raw, metric string
	scale       float64
}

func vmstatRows() []vmstatRow {
	const kib = 1024 // pgpgin and pgpgout count KiB, not pages
	return []vmstatRow{
		{"pgpgin", trace.MetricPagingIn, kib},
		{"pgpgout", trace.MetricPagingOut, kib},
		{"oom_kill", trace.MetricOOMKills, 1},
		{"compact_stall", trace.MetricCompactStall, 1},
		{"compact_fail", trace.MetricCompactFail, 1},
	}
}

func vmstatMetrics() []string {
	var metrics []string
	for _, r := range vmstatRows() {
		metrics = append(metrics, r.metric)
	}
	return metrics
}

func openVMStat(_ context.Context, cfg *Config) (sampler, error) {
	return &vmstat{path: cfg.path("proc", "vmstat")}, nil
}

func (s *vmstat) sample(_ context.Context, b *batch) error {
	values := make(map[string]float64)
	if err := fields(s.path, func(name string, v float64) { values[name] = v }); err != nil {
		return reason("/proc/vmstat", err)
	}
	for _, r := range vmstatRows() {
		v, ok := values[r.raw]
		if !ok {
			b.null(r.metric, r.raw, local, "this kernel does not count it")
			continue
		}
		b.addRaw(r.metric, r.raw, local, v*r.scale)
	}
	return nil
}
