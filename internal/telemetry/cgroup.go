package telemetry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// cgroup watches one control group. Version 1 has its controllers in
// hierarchies of their own, version 2 in one; hosts mix them.
type cgroup struct {
	nothing
	name string
	// memory and cpu are the group's folders; "" = no such controller.
	memory, cpu groupDir
}

// groupDir is a group's folder in one hierarchy.
type groupDir struct {
	dir, mount string
	v1         bool
}

func openCgroup(_ context.Context, cfg *Config) (sampler, error) {
	if cfg.Group == "" && cfg.PID == 0 {
		return nil, errNotAsked
	}
	paths := groupPaths{all: path.Clean("/" + cfg.Group)}
	if cfg.Group == "" {
		text, err := os.ReadFile(cfg.path("proc", fmt.Sprint(cfg.PID), "cgroup"))
		if err != nil {
			return nil, reason("process of that number", err)
		}
		paths = parseGroups(string(text))
	}
	g := findGroup(cfg.path("sys/fs/cgroup"), paths)
	if g.memory.dir == "" && g.cpu.dir == "" {
		return nil, errors.New("there is no such control group, or none with a controller of memory or CPU")
	}
	return g, nil
}

// groupPaths are the paths of a process's groups: by controller of version 1,
// and of version 2 ("").
type groupPaths struct {
	all  string // the same in each hierarchy
	each map[string]string
}

func (p groupPaths) of(controller string) string {
	if p.all != "" {
		return p.all
	}
	return p.each[controller]
}

// parseGroups reads /proc/PID/cgroup: lines "number:controller,…:path".
func parseGroups(text string) groupPaths {
	p := groupPaths{each: make(map[string]string)}
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) < 3 || !strings.HasPrefix(parts[2], "/") {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			p.each[controller] = path.Clean(parts[2])
		}
	}
	return p
}

// findGroup finds the group's folders below root. A path that is not there is
// that of another namespace's view: then the mount's own root is the group, as in
// a container.
func findGroup(root string, paths groupPaths) *cgroup {
	g := &cgroup{name: paths.of("memory")}
	if g.name == "" {
		g.name = paths.of("")
	}
	unified := []string{root, filepath.Join(root, "unified")}
	g.memory = firstGroup("memory.usage_in_bytes", paths.of("memory"), true, filepath.Join(root, "memory"))
	if g.memory.dir == "" {
		g.memory = firstGroup("memory.current", paths.of(""), false, unified...)
	}
	g.cpu = firstGroup("cpuacct.usage", paths.of("cpuacct"), true, filepath.Join(root, "cpu,cpuacct"), filepath.Join(root, "cpuacct"))
	if g.cpu.dir == "" {
		g.cpu = firstGroup("cpu.stat", paths.of(""), false, unified...)
	}
	return g
}

// firstGroup is the group's folder in the first hierarchy that has the file.
func firstGroup(file, group string, v1 bool, mounts ...string) groupDir {
	if group == "" {
		return groupDir{}
	}
	for _, mount := range mounts {
		if _, err := os.Stat(filepath.Join(mount, group, file)); err == nil {
			return groupDir{dir: filepath.Join(mount, group), mount: mount, v1: v1}
		}
	}
	return groupDir{}
}

func (g *cgroup) sample(_ context.Context, b *batch) error {
	return errors.Join(g.sampleMemory(b), g.sampleCPU(b, g.name, trace.MetricCgroupCPU, trace.MetricCgroupThrottled))
}

func (g *cgroup) sampleMemory(b *batch) error {
	switch {
	case g.memory.dir == "":
		b.null(trace.MetricCgroupMemory, "", g.name, "the group has no memory controller")
		return nil
	case g.memory.v1:
		return reason("control group", g.memory1(b))
	}
	return reason("control group", g.memory2(b))
}

func (g *cgroup) memory2(b *batch) error {
	dir := g.memory.dir
	used, _, err := number(filepath.Join(dir, "memory.current"))
	if err != nil {
		return err
	}
	b.addRaw(trace.MetricCgroupMemory, "memory.current", g.name, used)
	if limit := g.limit(); !math.IsInf(limit, 1) {
		b.addRaw(trace.MetricCgroupLimit, "memory.max", g.name, limit)
	}
	if err := g.addFields(b, "memory.stat", map[string]string{"anon": trace.MetricCgroupAnon}); err != nil {
		return err
	}
	return g.addFields(b, "memory.events", map[string]string{"oom": trace.MetricCgroupOOM, "oom_kill": trace.MetricCgroupOOMKill})
}

// limit is the least of the limits of the group and of those above it: any of
// them ends it.
func (g *cgroup) limit() float64 {
	least := math.Inf(1)
	for dir := g.memory.dir; len(dir) > len(g.memory.mount); dir = filepath.Dir(dir) {
		if v, ok, err := number(filepath.Join(dir, "memory.max")); err == nil && ok {
			least = min(least, v)
		}
	}
	return least
}

func (g *cgroup) memory1(b *batch) error {
	used, _, err := number(filepath.Join(g.memory.dir, "memory.usage_in_bytes"))
	if err != nil {
		return err
	}
	b.addRaw(trace.MetricCgroupMemory, "memory.usage_in_bytes", g.name, used)
	anon := 0.0
	err = fields(filepath.Join(g.memory.dir, "memory.stat"), func(name string, v float64) {
		switch {
		case name == "total_rss":
			anon = v
		case name == "hierarchical_memory_limit" && v < unlimited:
			b.addRaw(trace.MetricCgroupLimit, name, g.name, v)
		}
	})
	if err != nil {
		return err
	}
	b.addRaw(trace.MetricCgroupAnon, "total_rss", g.name, anon)
	b.null(trace.MetricCgroupOOM, "", g.name, "version 1 of control groups counts kills only")
	return g.addFields(b, "memory.oom_control", map[string]string{"oom_kill": trace.MetricCgroupOOMKill})
}

// unlimited is the least value that version 1 says for "no limit": the greatest
// signed number, in whole pages of up to 64 KiB.
const unlimited = 1<<63 - 1<<16

// addFields adds values of a file of the group's memory folder, by their names
// there.
func (g *cgroup) addFields(b *batch, file string, metrics map[string]string) error {
	return fields(filepath.Join(g.memory.dir, file), func(name string, v float64) {
		if metric := metrics[name]; metric != "" {
			b.addRaw(metric, file+":"+name, g.name, v)
		}
	})
}

// sampleCPU adds the CPU time of the group and how long its limit held it back,
// s, where the metrics are not "".
func (g *cgroup) sampleCPU(b *batch, instance, used, throttled string) error {
	add := func(metric, raw string, seconds float64) {
		if metric != "" {
			b.addRaw(metric, raw, instance, seconds)
		}
	}
	if g.cpu.dir == "" {
		return nil
	}
	if g.cpu.v1 {
		if ns, _, err := number(filepath.Join(g.cpu.dir, "cpuacct.usage")); err == nil {
			add(used, "cpuacct.usage", ns/1e9)
		}
	}
	err := fields(filepath.Join(g.cpuStat(), "cpu.stat"), func(name string, v float64) {
		switch name {
		case "usage_usec":
			add(used, name, v/1e6)
		case "throttled_usec":
			add(throttled, name, v/1e6)
		case "throttled_time": // version 1
			add(throttled, name, v/1e9)
		}
	})
	if errors.Is(err, os.ErrNotExist) && g.cpu.v1 {
		return nil // cpuacct alone: nothing throttles
	}
	return reason("control group", err)
}

// cpuStat is the folder of cpu.stat. Where version 1 has cpu and cpuacct apart,
// the group has the same path in both.
func (g *cgroup) cpuStat() string {
	if rest, ok := strings.CutPrefix(g.cpu.dir, g.cpu.mount); ok && g.cpu.v1 && filepath.Base(g.cpu.mount) == "cpuacct" {
		return filepath.Join(filepath.Dir(g.cpu.mount), "cpu", rest)
	}
	return g.cpu.dir
}
