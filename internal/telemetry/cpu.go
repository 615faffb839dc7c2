package telemetry

import (
	"context"

	"github.com/prometheus/procfs"

	"github.com/lambdac/lambdac/trace"
)

// local is the Instance of this machine.
const local = "local"

// cpu reads /proc/stat.
type cpu struct {
	nothing
	proc procfs.FS
	last busyTime
}

func openCPU(_ context.Context, cfg *Config) (sampler, error) {
	proc, err := procFS(cfg)
	return &cpu{proc: proc}, err
}

func (c *cpu) sample(_ context.Context, b *batch) error {
	stat, err := c.proc.Stat()
	if err != nil {
		return reason("/proc/stat", err)
	}
	t := stat.CPUTotal
	// User time holds guest time; time stolen by a hypervisor is no longer there
	// to be used.
	idle := t.Idle + t.Iowait
	now := busyTime{total: idle + t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ + t.Steal, idle: idle}
	c.last.share(b, local, now)
	return nil
}

// busyTime is CPU time since the start of a host, over all its CPUs, s.
type busyTime struct{ total, idle float64 }

// share adds the share in use since the sample before, and takes now for the
// next. Of a first sample, and of one no time after the last, there is no share.
func (last *busyTime) share(b *batch, instance string, now busyTime) {
	if passed := now.total - last.total; last.total > 0 && passed > 0 {
		b.add(trace.MetricCPUUtilization, instance, min(1, max(0, 1-(now.idle-last.idle)/passed)))
	}
	*last = now
}
