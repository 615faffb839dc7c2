package telemetry

import (
	"context"

	"github.com/prometheus/procfs"

	"github.com/lambdac/lambdac/trace"
)

// zones reads /proc/zoneinfo: below its watermark a zone serves only what cannot
// wait.
type zones struct {
	nothing
	proc procfs.FS
}

func openZones(_ context.Context, cfg *Config) (sampler, error) {
	proc, err := procFS(cfg)
	return &zones{proc: proc}, err
}

func (z *zones) sample(_ context.Context, b *batch) error {
	all, err := z.proc.Zoneinfo()
	if err != nil {
		return reason("/proc/zoneinfo", err)
	}
	for i := range all {
		// A zone without pages (Movable on most hosts) has no free blocks either.
		if zone := &all[i]; zone.Min != nil && (zone.Managed == nil || *zone.Managed > 0) {
			b.add(trace.MetricZoneMin, zoneName(zone.Node, zone.Zone), float64(*zone.Min))
		}
	}
	return nil
}
