package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/lambdac/lambdac/internal/hostcheck"
	"github.com/lambdac/lambdac/internal/telemetry"
	"github.com/lambdac/lambdac/replayer"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// metricsHeaderPrefix starts the environment variables that hold header fields
// for --server-metrics.
const metricsHeaderPrefix = "LAMBDAC_METRICS_HEADER_"

// telemetryFlags say what is sampled beside a replay.
type telemetryFlags struct {
	parts   []string
	servers []string
	group   string
	every   time.Duration
}

func (o *telemetryFlags) register(f *pflag.FlagSet) {
	f.StringArrayVar(&o.servers, "server-metrics", nil, "`URL` of metrics in Prometheus' text format, sampled into the run: the server's, or an exporter's on its host (repeatable)")
	f.StringSliceVar(&o.parts, "telemetry", nil, "what is sampled besides: host, gpu, client, or off (default client, and host and gpu where the target is on this machine and no --server-metrics tells of them)")
	f.StringVar(&o.group, "telemetry-cgroup", "", "control group to sample, a path below /sys/fs/cgroup or pid:N (default that of the process that listens on the target's port, where it is on this machine)")
	f.DurationVar(&o.every, "telemetry-every", time.Second, "time between samples")
}

// runWatch is the telemetry of one replay.
type runWatch struct {
	cfg telemetry.Config
	// auto: parts that nobody asked for follow where the target is.
	auto    bool
	summary *telemetry.Summary
}

// config checks the flags.
func (o *telemetryFlags) config(cfg *replayer.Config) (*runWatch, error) {
	const see = "see lambdac replay --help"
	if o.every < 100*time.Millisecond || o.every > time.Minute {
		return nil, usage(see, "--telemetry-every %s: want 100ms to 1m", o.every)
	}
	w := &runWatch{auto: len(o.parts) == 0, cfg: telemetry.Config{
		Endpoints: o.servers, Header: headersFrom(os.Environ(), metricsHeaderPrefix), RootCAs: cfg.RootCAs, Dial: cfg.Dial, Every: o.every, Group: o.group,
	}}
	for _, part := range o.parts {
		switch part {
		case "host":
			w.cfg.Host = telemetry.On
		case "gpu":
			w.cfg.GPU = telemetry.On
		case "client":
			w.cfg.Client = telemetry.On
		case "off":
			if len(o.parts) > 1 {
				return nil, usage(see, "--telemetry off goes with nothing else")
			}
		default:
			return nil, usage(see, "--telemetry %q: want host, gpu, client or off", part)
		}
	}
	if pid, is := strings.CutPrefix(o.group, "pid:"); is {
		n, err := strconv.Atoi(pid)
		if err != nil || n < 1 {
			return nil, usage(see, "--telemetry-cgroup %q: want pid: and a number", o.group)
		}
		w.cfg.Group, w.cfg.PID = "", n
	}
	return w, nil
}

// open opens what is to be sampled; nothing is written yet.
func (w *runWatch) open(ctx context.Context, target string) (*telemetry.Session, error) {
	if w == nil {
		return telemetry.Open(ctx, telemetry.Config{})
	}
	port, local := onThisMachine(ctx, target)
	if w.auto {
		w.cfg.Client = telemetry.Auto
		if local {
			w.cfg.Host, w.cfg.GPU = telemetry.Auto, telemetry.Auto
		}
	}
	if local && w.cfg.Group == "" && w.cfg.PID == 0 {
		w.cfg.PID = listener(port)
	}
	s, err := telemetry.Open(ctx, w.cfg)
	if bad, is := errors.AsType[*telemetry.EndpointError](err); is {
		return nil, &exitError{exitUsage, err, bad.Remedy}
	}
	return s, err
}

// close ends sampling and says in the run what its telemetry lacks.
func (w *runWatch) close(s *telemetry.Session, result *replayer.Result, out *tracedir.Writer) error {
	sum := s.Close()
	if w == nil || result == nil {
		return sum.Err
	}
	w.summary = sum
	result.Warnings = append(result.Warnings, telemetryWarnings(sum)...)
	if len(sum.Restarts) > 0 {
		flagRestarts(result.Levels, sum.Restarts)
		return cmp.Or(sum.Err, out.SetLevels(result.Levels))
	}
	return sum.Err
}

// telemetryWarnings are what is doubtful about the samples.
func telemetryWarnings(sum *telemetry.Summary) []string {
	var out []string
	for i := range sum.Sources {
		s := &sum.Sources[i]
		if s.Holes > 0 {
			out = append(out, fmt.Sprintf("telemetry of %s has %s", s.Name, holesOf(s)))
		}
		if s.Abandoned {
			out = append(out, fmt.Sprintf("telemetry of %s: its last reading did not end and was given up", s.Name))
		}
	}
	for _, r := range sum.Restarts {
		out = append(out, fmt.Sprintf("counters of %s began again at %s: a restarted server is not one system", r.Name, time.Unix(0, r.AtUnixNs).UTC().Format(time.RFC3339)))
	}
	if step := sum.ClockStep; step.Abs() > 10*time.Millisecond {
		out = append(out, fmt.Sprintf("the wall clock was set by %s during the run: samples and later levels are apart by that", step.Round(time.Millisecond)))
	}
	return out
}

// holesOf counts a source's holes by reason, the most frequent first.
func holesOf(s *telemetry.Source) string {
	reasons := slices.SortedFunc(maps.Keys(s.Reasons), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Reasons[b], s.Reasons[a]), cmp.Compare(a, b))
	})
	for i, r := range reasons {
		reasons[i] = fmt.Sprintf("%s (%d)", r, s.Reasons[r])
	}
	return fmt.Sprintf("%d holes: %s", s.Holes, strings.Join(reasons, ", "))
}

// flagRestarts warns on each level during which a server began again.
func flagRestarts(levels []trace.Level, restarts []telemetry.Restart) {
	for i := range levels {
		l := &levels[i]
		for _, r := range restarts {
			if r.AtUnixNs >= l.BeginUnixNs && r.AtUnixNs <= max(l.EndUnixNs, l.DrainedUnixNs) {
				l.Warnings = append(l.Warnings, "counters of "+r.Name+" began again: a restarted server is not one system")
			}
		}
	}
}

// line says what was sampled, "" where nothing was.
func (w *runWatch) line() string {
	if w == nil || w.summary == nil || len(w.summary.Sources) == 0 {
		return ""
	}
	var there, absent []string
	samples := int64(0)
	for _, s := range w.summary.Sources {
		if s.Absent != "" {
			absent = append(absent, fmt.Sprintf("%s (%s)", s.Name, s.Absent))
			continue
		}
		there = append(there, s.Name)
		samples += s.Samples
	}
	out := fmt.Sprintf("telemetry: %d samples of %s", samples, strings.Join(there, ", "))
	if len(absent) > 0 {
		out += "; not there: " + strings.Join(absent, ", ")
	}
	return out
}

// sources is what --json says of the telemetry.
func (w *runWatch) sources() []telemetry.Source {
	if w == nil || w.summary == nil {
		return nil
	}
	return w.summary.Sources
}

// onThisMachine reports whether the target is a process of this machine, and its
// port.
func onThisMachine(ctx context.Context, target string) (port int, local bool) {
	u, err := url.Parse(target)
	if err != nil {
		return 0, false
	}
	port = map[string]int{"http": 80, "https": 443}[u.Scheme]
	if n, err := strconv.Atoi(u.Port()); err == nil {
		port = n
	}
	addrs, err := net.DefaultResolver.LookupIPAddr(ctx, u.Hostname())
	if err != nil || len(addrs) == 0 {
		return port, false
	}
	own, _ := net.InterfaceAddrs() // without them, loopback counts
	for _, a := range addrs {
		mine := slices.ContainsFunc(own, func(o net.Addr) bool {
			n, is := o.(*net.IPNet)
			return is && n.IP.Equal(a.IP)
		})
		if !a.IP.IsLoopback() && !mine {
			return port, false
		}
	}
	return port, true
}

// listener is the process that listens on a port, 0 where that is not known or
// not one.
func listener(port int) int {
	list, _, err := hostcheck.Processes(os.DirFS("/"), []int{port}, 0)
	if err != nil || len(list) != 1 {
		return 0
	}
	return list[0].PID
}

// mergeSamples joins the telemetry of shards: all of the first, which all sampled
// alike, and of the others what they say of themselves, by their shard's name.
func mergeSamples(dirs []*tracedir.Dir, out *tracedir.Writer) error {
	for i, dir := range dirs {
		for s, err := range tracedir.Rows[trace.Sample](dir) {
			if err != nil {
				return fmt.Errorf("read telemetry: %w", err)
			}
			if i > 0 && s.Source != trace.SampleClient {
				continue
			}
			if run := dir.Manifest().Run; s.Source == trace.SampleClient && run != nil {
				s.Instance = cmp.Or(run.Shard, s.Instance)
			}
			if err := out.WriteSample(s); err != nil {
				return err
			}
		}
	}
	return nil
}
