package telemetry

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/prometheus/procfs"

	"github.com/lambdac/lambdac/trace"
)

// pressure reads /proc/pressure: how long tasks waited for a resource.
type pressure struct {
	nothing
	proc procfs.FS
}

func pressureResources() []string { return []string{"cpu", "memory", "io"} }

func pressureMetrics() []string {
	var metrics []string
	for _, r := range pressureResources() {
		metrics = append(metrics, trace.MetricPSIPrefix+r+".some")
	}
	return metrics
}

func openPressure(_ context.Context, cfg *Config) (sampler, error) {
	proc, err := procFS(cfg)
	return &pressure{proc: proc}, err
}

func (p *pressure) sample(_ context.Context, b *batch) error {
	for _, resource := range pressureResources() {
		stats, err := p.proc.PSIStatsForResource(resource)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EOPNOTSUPP) {
			return errors.New("this kernel measures no pressure (PSI): CONFIG_PSI, or psi=1 on its command line")
		}
		if err != nil {
			return reason("/proc/pressure", err)
		}
		if stats.Some != nil {
			b.add(trace.MetricPSIPrefix+resource+".some", local, float64(stats.Some.Total))
		}
		if stats.Full != nil {
			b.add(trace.MetricPSIPrefix+resource+".full", local, float64(stats.Full.Total))
		}
	}
	return nil
}
