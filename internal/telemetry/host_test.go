package telemetry

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
)

// hostRoot makes a host's files, by path below its root.
func hostRoot(t testing.TB, files map[string]string) *Config {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "proc"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		writeFile(t, filepath.Join(root, name), text)
	}
	return (&Config{Root: root}).withDefaults()
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// lines are rows as "metric instance value", or with "NULL: reason".
func lines(rows []trace.Sample) (out []string) {
	for _, r := range rows {
		value := ""
		if r.Value == nil {
			value = "NULL: " + *r.Reason
		} else {
			value = strconv.FormatFloat(*r.Value, 'g', 6, 64)
		}
		out = append(out, strings.TrimSpace(r.Metric+" "+r.Instance)+" "+value)
	}
	return out
}

// readOnce opens a sampler and reads it.
func readOnce(t *testing.T, open func(context.Context, *Config) (sampler, error), cfg *Config) (*batch, error) {
	t.Helper()
	s, err := open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.close() })
	b := &batch{at: 1, source: trace.SampleHost}
	return b, s.sample(t.Context(), b)
}

func TestHostFiles(t *testing.T) {
	rows := []struct {
		name, file, text string
		open             func(context.Context, *Config) (sampler, error)
		want             []string
		events           []string
	}{
		{
			"memory", "proc/meminfo", "MemTotal: 16384000 kB\nMemFree: 1000 kB\nMemAvailable: 8000 kB\nAnonPages: 300 kB\n", openMemory,
			[]string{"system.memory.available local 8.192e+06", "system.memory.free local 1.024e+06", "system.memory.anon local 307200", fmt.Sprintf("linux.page_size local %d", os.Getpagesize())},
			nil,
		},
		{
			"memory without a field", "proc/meminfo", "MemFree: 1000 kB\n", openMemory,
			[]string{"system.memory.available local NULL: /proc/meminfo does not say", "system.memory.free local 1.024e+06", "system.memory.anon local NULL: /proc/meminfo does not say", fmt.Sprintf("linux.page_size local %d", os.Getpagesize())},
			nil,
		},
		{
			// Of order 2: (4 × 1 + 2 × 2) pages in 6 blocks, 1 − (1 + 8/4)/6 = 0.5.
			"buddy", "proc/buddyinfo", "Node 0, zone   Normal      4      2      0 \n", openBuddy,
			[]string{"linux.buddy.free_blocks.order_0 0/Normal 4", "linux.buddy.free_blocks.order_1 0/Normal 2", "linux.buddy.free_blocks.order_2 0/Normal 0"},
			[]string{"linux.extfrag.index.order_2 0/Normal 0.5"},
		},
		{
			"vmstat", "proc/vmstat", "pgpgin 10\npgpgout 3\noom_kill 2\ncompact_stall 5\nsomething else\n", openVMStat,
			[]string{"system.paging.in local 10240", "system.paging.out local 3072", "linux.oom.kills local 2", "linux.compaction.stall local 5", "linux.compaction.fail local NULL: this kernel does not count it"},
			nil,
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			b, err := readOnce(t, row.open, hostRoot(t, map[string]string{row.file: row.text}))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, lines(b.rows)); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(row.events, lines(b.events)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPressure(t *testing.T) {
	line := func(total int) string { return fmt.Sprintf("avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n", total) }
	cfg := hostRoot(t, map[string]string{
		"proc/pressure/cpu":    "some " + line(1),
		"proc/pressure/memory": "some " + line(2) + "full " + line(3),
		"proc/pressure/io":     "some " + line(4) + "full " + line(5),
	})
	b, err := readOnce(t, openPressure, cfg)
	want := []string{"linux.pressure.cpu.some local 1", "linux.pressure.memory.some local 2", "linux.pressure.memory.full local 3", "linux.pressure.io.some local 4", "linux.pressure.io.full local 5"}
	if diff := cmp.Diff(want, lines(b.rows)); diff != "" || err != nil {
		t.Errorf("error %v, rows (-want +got):\n%s", err, diff)
	}
	if _, err := readOnce(t, openPressure, hostRoot(t, nil)); err == nil || !strings.Contains(err.Error(), "psi=1") {
		t.Errorf("error %v, want one that says how to switch it on", err)
	}
}

func TestCPUShare(t *testing.T) {
	stat := func(user, idle, iowait, steal int) string {
		return fmt.Sprintf("cpu  %d 0 0 %d %d 0 0 %d 0 0\ncpu0 1 0 0 1 0 0 0 0 0 0\nbtime 1\n", user, idle, iowait, steal)
	}
	cfg := hostRoot(t, map[string]string{"proc/stat": stat(100, 100, 0, 0)})
	s, err := openCPU(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, text := range []string{
		stat(100, 100, 0, 0),    // the first: nothing to compare with
		stat(160, 140, 0, 0),    // 60 of 100
		stat(160, 190, 50, 0),   // waiting for a disk is idle
		stat(160, 215, 50, 75),  // stolen time is not there to be used: 75 of 100
		stat(160, 215, 50, 75),  // no time has passed
		stat(160, 214, 51, 175), // idle time that steps back is none
	} {
		writeFile(t, cfg.path("proc/stat"), text)
		b := &batch{}
		if err := s.sample(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join(lines(b.rows), ","))
	}
	want := []string{"", "system.cpu.utilization local 0.6", "system.cpu.utilization local 0", "system.cpu.utilization local 0.75", "", "system.cpu.utilization local 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("shares (-want +got):\n%s", diff)
	}
}

// TestExtfragIndex holds the index to the kernel's formula, worked by hand:
// 1 − (1 + pages/2^order)/blocks.
func TestExtfragIndex(t *testing.T) {
	rows := []struct {
		name  string
		free  []float64
		order int
		want  float64
		ok    bool
	}{
		{"single pages", []float64{1000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 9, 1 - (1+1000.0/512)/1000, true},
		{"little is free", []float64{2, 0, 0, 0}, 3, 1 - (1+2.0/8)/2, true},
		{"a block is free", []float64{1000, 0, 1, 0}, 2, 0, false},
		{"a larger block is free", []float64{1000, 0, 0, 1}, 2, 0, false},
		{"nothing is free", []float64{0, 0, 0, 0}, 2, 0, false},
		{"one block, half the size", []float64{0, 1, 0, 0}, 2, 0, true}, // 1 − (1 + 2/4)/1 = −0.5: none
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if got, ok := extfragIndex(row.free, row.order); got != row.want || ok != row.ok {
				t.Errorf("%v, %v; want %v, %v", got, ok, row.want, row.ok)
			}
		})
	}
}

func TestCgroups(t *testing.T) {
	v2 := map[string]string{
		"proc/7/cgroup":                             "0::/kube/pod\n",
		"sys/fs/cgroup/kube/memory.max":             "5000\n",
		"sys/fs/cgroup/kube/pod/memory.max":         "max\n",
		"sys/fs/cgroup/kube/pod/memory.current":     "4000\n",
		"sys/fs/cgroup/kube/pod/memory.stat":        "anon 3000\nfile 500\n",
		"sys/fs/cgroup/kube/pod/memory.events":      "low 0\noom 2\noom_kill 1\n",
		"sys/fs/cgroup/kube/pod/cpu.stat":           "usage_usec 1500000\nthrottled_usec 250000\n",
		"sys/fs/cgroup/memory.max":                  "1\n", // of the root: never there, and not a limit
		"sys/fs/cgroup/kube/pod/memory.swap.events": "max 0\n",
	}
	v1 := map[string]string{
		"proc/7/cgroup": "9:memory:/docker/c\n5:cpu,cpuacct:/docker/c\n0::/\n",
		"sys/fs/cgroup/memory/docker/c/memory.usage_in_bytes": "4000\n",
		"sys/fs/cgroup/memory/docker/c/memory.stat":           "rss 10\nhierarchical_memory_limit 5000\ntotal_rss 3000\n",
		"sys/fs/cgroup/memory/docker/c/memory.oom_control":    "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
		"sys/fs/cgroup/cpu,cpuacct/docker/c/cpuacct.usage":    "1500000000\n",
		"sys/fs/cgroup/cpu,cpuacct/docker/c/cpu.stat":         "nr_periods 1\nthrottled_time 250000000\n",
	}
	apart := map[string]string{
		"proc/7/cgroup": "9:memory:/c\n5:cpu:/c\n4:cpuacct:/c\n",
		"sys/fs/cgroup/memory/c/memory.usage_in_bytes": "4000\n",
		"sys/fs/cgroup/memory/c/memory.stat":           "hierarchical_memory_limit 9223372036854771712\ntotal_rss 3000\n",
		"sys/fs/cgroup/memory/c/memory.oom_control":    "oom_kill 1\n",
		"sys/fs/cgroup/cpuacct/c/cpuacct.usage":        "1500000000\n",
		"sys/fs/cgroup/cpu/c/cpu.stat":                 "throttled_time 250000000\n",
	}
	const noOOM = "cgroup.memory.events.oom %s NULL: version 1 of control groups counts kills only"
	rows := []struct {
		name  string
		files map[string]string
		cfg   Config
		want  []string
	}{
		{"version 2: the limit of a group above", v2, Config{PID: 7}, []string{
			"cgroup.memory.current /kube/pod 4000", "cgroup.memory.limit /kube/pod 5000", "cgroup.memory.anon /kube/pod 3000",
			"cgroup.memory.events.oom /kube/pod 2", "cgroup.memory.events.oom_kill /kube/pod 1", "cgroup.cpu.time /kube/pod 1.5", "cgroup.cpu.throttled_time /kube/pod 0.25",
		}},
		{"by path", v2, Config{Group: "kube/pod"}, []string{
			"cgroup.memory.current /kube/pod 4000", "cgroup.memory.limit /kube/pod 5000", "cgroup.memory.anon /kube/pod 3000",
			"cgroup.memory.events.oom /kube/pod 2", "cgroup.memory.events.oom_kill /kube/pod 1", "cgroup.cpu.time /kube/pod 1.5", "cgroup.cpu.throttled_time /kube/pod 0.25",
		}},
		{"version 1", v1, Config{PID: 7}, []string{
			"cgroup.memory.current /docker/c 4000", "cgroup.memory.limit /docker/c 5000", "cgroup.memory.anon /docker/c 3000", fmt.Sprintf(noOOM, "/docker/c"),
			"cgroup.memory.events.oom_kill /docker/c 1", "cgroup.cpu.time /docker/c 1.5", "cgroup.cpu.throttled_time /docker/c 0.25",
		}},
		{"version 1: cpu and cpuacct apart, no limit", apart, Config{PID: 7}, []string{
			"cgroup.memory.current /c 4000", "cgroup.memory.anon /c 3000", fmt.Sprintf(noOOM, "/c"),
			"cgroup.memory.events.oom_kill /c 1", "cgroup.cpu.time /c 1.5", "cgroup.cpu.throttled_time /c 0.25",
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			cfg := hostRoot(t, row.files)
			cfg.PID, cfg.Group = row.cfg.PID, row.cfg.Group
			b, err := readOnce(t, openCgroup, cfg)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, lines(b.rows)); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCgroupThatIsNotThere(t *testing.T) {
	for _, cfg := range []*Config{hostRoot(t, nil), hostRoot(t, map[string]string{"proc/7/cgroup": "nonsense\n"})} {
		cfg.PID = 7
		if _, err := openCgroup(t.Context(), cfg); err == nil {
			t.Error("a group that is not there was opened")
		}
	}
}

// TestThisHost reads this machine and holds what it says to what the kernel says
// right after, by other ways.
func TestThisHost(t *testing.T) {
	if runtime.GOOS != "linux" {
		testenv.Missing(t, "/proc", "run the tests on Linux")
	}
	s, err := Open(t.Context(), Config{Host: On, Client: On, PID: os.Getpid(), Every: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	out := new(memoryOutput)
	s.Start(out)
	waitFor(t, func() bool {
		return len(out.of(trace.MetricCPUUtilization)) >= 3 && len(out.of(trace.MetricClientCPU)) >= 3
	})
	sum := s.Close()
	if sum.Err != nil {
		t.Fatal(sum.Err)
	}
	zones := strings.Count(readText(t, "/proc/buddyinfo"), "zone")
	last := out.of(trace.BuddyMetric(0))
	if names := instances(last); len(names) != zones {
		t.Errorf("zones %q, /proc/buddyinfo has %d", names, zones)
	}
	for _, metric := range []string{trace.MetricCPUUtilization, trace.MetricClientCPU} {
		for _, r := range out.of(metric) {
			if r.Value != nil && (*r.Value < 0 || *r.Value > 1.5) {
				t.Errorf("%s is %v: a share", metric, *r.Value)
			}
		}
	}
	for _, metric := range []string{trace.MetricMemoryAvailable, trace.MetricZoneMin, trace.MetricPagingIn, trace.MetricOOMKills, trace.MetricClientOpenFiles, trace.MetricClientGoroutines, trace.MetricClientRetrans, trace.MetricClientTimeWait} {
		rows := out.of(metric)
		if len(rows) == 0 || rows[len(rows)-1].Value == nil {
			t.Errorf("%s was not read on this machine: %+v", metric, rows)
		}
	}
	for _, src := range sum.Sources {
		t.Logf("%-12s %s readings %d, slowest %s", src.Name, src.Absent, src.Readings, src.Slowest)
	}
}

func instances(rows []trace.Sample) (names []string) {
	for _, r := range rows {
		names = append(names, r.Instance)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func readText(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// waitFor waits until ok, two minutes at most.
func waitFor(t testing.TB, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within two minutes")
		}
	}
}

func TestRetransmits(t *testing.T) {
	const head = "Ip: Forwarding DefaultTTL\nIp: 1 64\n"
	rows := []struct {
		name, text string
		want       float64
		ok         bool
	}{
		{"as the kernel writes it", head + "Tcp: RtoAlgorithm RetransSegs InErrs\nTcp: 1 42 0\n", 42, true},
		{"no such protocol", head, 0, false},
		{"fewer values than names", "Tcp: A B RetransSegs\nTcp: 1 2\n", 0, false},
		{"no number", "Tcp: RetransSegs\nTcp: x\n", 0, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if got, ok := retransmits(row.text); got != row.want || ok != row.ok {
				t.Errorf("%v, %v; want %v, %v", got, ok, row.want, row.ok)
			}
		})
	}
}

func TestReasonsNameNoPath(t *testing.T) {
	for _, err := range []error{fs.ErrNotExist, fs.ErrPermission, &fs.PathError{Op: "open", Path: "/secret/42", Err: fs.ErrClosed}} {
		if text := reason("x", err).Error(); strings.Contains(text, "secret") {
			t.Errorf("reason %q has a path", text)
		}
	}
}

// FuzzHostFiles gives each parser of a file of /proc what it is not.
func FuzzHostFiles(f *testing.F) {
	f.Add([]byte("Node 0, zone   Normal      4      2      0 \n"))
	f.Add([]byte("Node 0, zone      DMA\n  per-node stats\n      nr_inactive_anon 1\n  pages free     3840\n        boost    0\n        min      19\n        managed  3840\n        protection: (0, 2953)\n"))
	f.Add([]byte("cpu  1 2 3 4\ncpu0 1\n"))
	f.Add([]byte("some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"))
	f.Add([]byte("9:memory:/docker/c\n0::/\n"))
	f.Add([]byte("Tcp: RetransSegs\nTcp: 7\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		cfg := hostRoot(t, nil)
		for _, row := range []struct {
			file string
			open func(context.Context, *Config) (sampler, error)
		}{
			{"proc/buddyinfo", openBuddy},
			{"proc/zoneinfo", openZones},
			{"proc/stat", openCPU},
			{"proc/meminfo", openMemory},
			{"proc/vmstat", openVMStat},
			{"proc/pressure/cpu", openPressure},
		} {
			writeFile(t, cfg.path(row.file), string(text))
			s, err := row.open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			b := &batch{}
			if err := s.sample(t.Context(), b); err != nil && len(text) > 3 && bytes.Contains([]byte(err.Error()), text) {
				t.Errorf("error %q holds what was read", err)
			}
			for _, r := range append(b.rows, b.events...) {
				if (r.Value == nil) == (r.Reason == nil) {
					t.Errorf("row %+v has neither a value nor a reason, or both", r)
				}
			}
		}
		parseGroups(string(text))
		retransmits(string(text))
		parseCPUs(string(text))
	})
}
