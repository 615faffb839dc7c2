package telemetry

import (
	"context"
	"os"

	"github.com/prometheus/procfs"

	"github.com/lambdac/lambdac/trace"
)

// memory reads /proc/meminfo.
type memory struct {
	nothing
	proc procfs.FS
}

func openMemory(_ context.Context, cfg *Config) (sampler, error) {
	proc, err := procFS(cfg)
	return &memory{proc: proc}, err
}

func (m *memory) sample(_ context.Context, b *batch) error {
	info, err := m.proc.Meminfo()
	if err != nil {
		return reason("/proc/meminfo", err)
	}
	for _, v := range []struct {
		metric, raw string
		value       *uint64
	}{
		{trace.MetricMemoryAvailable, "MemAvailable", info.MemAvailableBytes},
		{trace.MetricMemoryFree, "MemFree", info.MemFreeBytes},
		{trace.MetricMemoryAnon, "AnonPages", info.AnonPagesBytes},
	} {
		if v.value == nil {
			b.null(v.metric, v.raw, local, "/proc/meminfo does not say")
			continue
		}
		b.addRaw(v.metric, v.raw, local, float64(*v.value))
	}
	b.add(trace.MetricPageSize, local, float64(os.Getpagesize()))
	return nil
}
