package telemetry

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"github.com/lambdac/lambdac/trace"
)

// client is the load generator itself: what is wrong with it reads as a fault of
// the service.
type client struct {
	nothing
	proc procfs.FS
	self string // its folder in /proc
	root string
	// group limits this process; nil = none found.
	group *cgroup

	lastCPU time.Duration
	lastAt  time.Time
	pauses  debug.GCStats
}

// clientName is the Instance of this process.
const clientName = "self"

func openClient(_ context.Context, cfg *Config) (sampler, error) {
	proc, err := procFS(cfg)
	if err != nil {
		return nil, err
	}
	c := &client{proc: proc, self: cfg.path("proc", strconv.Itoa(os.Getpid())), root: cfg.path("proc")}
	if text, err := os.ReadFile(filepath.Join(c.self, "cgroup")); err == nil {
		c.group = findGroup(cfg.path("sys/fs/cgroup"), parseGroups(string(text)))
	}
	return c, nil
}

func (c *client) sample(_ context.Context, b *batch) error {
	b.add(trace.MetricClientGoroutines, clientName, float64(runtime.NumGoroutine()))
	debug.ReadGCStats(&c.pauses)
	b.add(trace.MetricClientGCPause, clientName, c.pauses.PauseTotal.Seconds())
	var group error
	if c.group != nil {
		group = c.group.sampleCPU(b, clientName, "", trace.MetricClientThrottled)
	}
	return errors.Join(c.sampleCPU(b), c.sampleFiles(b), c.sampleTCP(b), group)
}

// sampleCPU adds the share of the CPUs that Go may use.
func (c *client) sampleCPU(b *batch) error {
	used, ok := processCPU()
	if !ok {
		return errors.New("this system does not tell the CPU time of a process")
	}
	now := time.Now()
	if wall := now.Sub(c.lastAt); !c.lastAt.IsZero() && wall > 0 {
		b.add(trace.MetricClientCPU, clientName, (used-c.lastCPU).Seconds()/(wall.Seconds()*float64(runtime.GOMAXPROCS(0))))
	}
	c.lastCPU, c.lastAt = used, now
	return nil
}

func (c *client) sampleFiles(b *batch) error {
	dir, err := os.Open(filepath.Join(c.self, "fd"))
	if err != nil {
		return reason("/proc/self/fd", err)
	}
	names, err := dir.Readdirnames(-1)
	_ = dir.Close()
	if err != nil {
		return reason("/proc/self/fd", err)
	}
	b.add(trace.MetricClientOpenFiles, clientName, float64(len(names)-1)) // without the folder's own
	return nil
}

// sampleTCP adds what the kernel counts for the network namespace.
func (c *client) sampleTCP(b *batch) error {
	sockets, err := c.proc.NetSockstat()
	if err != nil {
		return reason("/proc/net/sockstat", err)
	}
	for _, p := range sockets.Protocols {
		if p.Protocol == "TCP" && p.TW != nil {
			b.add(trace.MetricClientTimeWait, clientName, float64(*p.TW))
		}
	}
	text, err := os.ReadFile(filepath.Join(c.root, "net", "snmp"))
	if err != nil {
		return reason("/proc/net/snmp", err)
	}
	if n, ok := retransmits(string(text)); ok {
		b.addRaw(trace.MetricClientRetrans, "Tcp:RetransSegs", clientName, n)
	}
	return nil
}

// retransmits finds RetransSegs in /proc/net/snmp: a line of names and a line of
// values for each protocol.
func retransmits(text string) (n float64, ok bool) {
	var names []string
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "Tcp:" {
			continue
		}
		if names == nil {
			names = words
			continue
		}
		for i, name := range names {
			if name == "RetransSegs" && i < len(words) {
				v, err := strconv.ParseUint(words[i], 10, 64)
				return float64(v), err == nil
			}
		}
	}
	return 0, false
}
