package telemetry

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/lambdac/lambdac/trace"
)

// tracepoints counts events of the kernel that no file of /proc counts. A
// counter of perf is enough: no program runs in the kernel, an event costs it an
// addition.
type tracepoints struct {
	counters []perfCounter
}

// perfCounter counts one tracepoint, on each CPU.
type perfCounter struct {
	metric, raw string
	fds         []int
}

func openTracepoints(_ context.Context, cfg *Config) (sampler, error) {
	online, err := os.ReadFile(cfg.path("sys/devices/system/cpu/online"))
	if err != nil {
		return nil, reason("list of CPUs", err)
	}
	cpus, t := parseCPUs(string(online)), &tracepoints{}
	for _, p := range []struct{ metric, group, name string }{
		{trace.MetricExtfrag, "kmem", "mm_page_alloc_extfrag"},
		{trace.MetricOOMVictims, "oom", "mark_victim"},
	} {
		id, err := tracepointID(cfg, p.group, p.name)
		if err == nil {
			c := perfCounter{metric: p.metric, raw: p.group + ":" + p.name}
			c.fds, err = countEverywhere(id, cpus)
			t.counters = append(t.counters, c)
		}
		if err != nil {
			return nil, errors.Join(err, t.close())
		}
	}
	return t, nil
}

// tracepointID is the number of a tracepoint, which tracefs tells.
func tracepointID(cfg *Config, group, name string) (uint64, error) {
	var err error
	for _, mount := range []string{"sys/kernel/tracing", "sys/kernel/debug/tracing"} {
		var id float64
		var ok bool
		if id, ok, err = number(cfg.path(mount, "events", group, name, "id")); err == nil && ok {
			return uint64(id), nil
		}
	}
	if errors.Is(err, os.ErrNotExist) {
		return 0, errors.New("tracefs is not mounted, or has no such tracepoint: mount -t tracefs tracefs /sys/kernel/tracing")
	}
	return 0, reason("tracefs", err)
}

// countEverywhere opens a counter on each CPU.
func countEverywhere(id uint64, cpus []int) ([]int, error) {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id}
	attr.Size = uint32(unsafe.Sizeof(attr))
	var fds []int
	for _, cpu := range cpus {
		fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		switch {
		case errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM):
			return fds, errors.New("tracepoints may not be counted: CAP_PERFMON")
		case err != nil:
			return fds, fmt.Errorf("tracepoints cannot be counted here: %w", err)
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

func (t *tracepoints) sample(_ context.Context, b *batch) error {
	var count [8]byte
	for _, c := range t.counters {
		sum := 0.0
		for _, fd := range c.fds {
			if n, err := unix.Read(fd, count[:]); err != nil || n != len(count) {
				return errors.New("a counter of tracepoints cannot be read")
			}
			sum += float64(binary.NativeEndian.Uint64(count[:]))
		}
		b.addRaw(c.metric, c.raw, local, sum)
	}
	return nil
}

func (t *tracepoints) close() error {
	var errs []error
	for _, c := range t.counters {
		for _, fd := range c.fds {
			errs = append(errs, unix.Close(fd))
		}
	}
	return errors.Join(errs...)
}

// parseCPUs reads a list such as "0-3,8"; what is none of it is left out.
func parseCPUs(list string) []int {
	var out []int
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		first, last, ranged := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if ranged && err == nil {
			to, err = strconv.Atoi(last)
		}
		for cpu := from; err == nil && cpu <= min(to, from+1<<16); cpu++ {
			out = append(out, cpu)
		}
	}
	return out
}
