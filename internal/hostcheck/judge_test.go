package hostcheck

import (
	"errors"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// goodHost is the /proc and /sys of a machine on which all works, cut to what
// is read of them.
func goodHost() fstest.MapFS {
	return fstest.MapFS{
		"proc/sys/kernel/osrelease":           file("6.12.30-cloud-amd64\n"),
		"proc/sys/kernel/perf_event_paranoid": file("2\n"),
		"proc/sys/net/core/bpf_jit_enable":    file("1\n"),
		"proc/self/status":                    file("Name:\tlambdac\nCapPrm:\t000001ffffffffff\nCapEff:\t000001ffffffffff\n"),
		"proc/self/uid_map":                   file("         0          0 4294967295\n"),
		"proc/self/ns/pid":                    link("pid:[4026531836]"),
		"proc/self/cgroup":                    file("0::/system.slice/lambdac.service\n"),
		"proc/meminfo":                        file("MemTotal:       16384000 kB\nMemAvailable:    8388608 kB\n"),
		"sys/kernel/btf/vmlinux":              file("\x9f\xeb"),
		"sys/kernel/tracing/README":           file(""),
		"sys/kernel/security/lockdown":        file("none [integrity] confidentiality\n"),
		"sys/devices/system/cpu/online":       file("0-3\n"),
		"sys/devices/system/clocksource/clocksource0/current_clocksource": file("tsc\n"),
	}
}

func file(content string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(content), Mode: 0o444} }

func link(to string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink | 0o777}
}

// TestGoodHost: on a machine where all works nothing is limited but what no
// file tells.
func TestGoodHost(t *testing.T) {
	h := Read(goodHost())
	h.Arch, h.ClockSynced = "arm64", new(true)
	for _, f := range h.Judge(Want{RingBytes: 64 << 20}) {
		if f.State != StateOK || f.Remedy != "" || len(f.Blocks) > 0 {
			t.Errorf("%+v", f)
		}
	}
	got := map[Use]State{}
	for _, use := range []Use{UseEBPF, UseTLS, UseIface} {
		got[use] = Verdict(h.Judge(Want{}), use)
	}
	if diff := cmp.Diff(map[Use]State{UseEBPF: StateOK, UseTLS: StateOK, UseIface: StateOK}, got); diff != "" {
		t.Error(diff)
	}
}

// TestBadConditions: one thing is wrong with a machine; it is found, blocks
// what it should and nothing else, and one line says what and another what to
// do.
func TestBadConditions(t *testing.T) {
	const no, limited = StateNo, StateLimited
	rows := []struct {
		name   string
		change map[string]string // file → content; "" takes it away
		ring   int64
		check  string
		state  State
		blocks []Use
		found  string // part of Found
		remedy string // part of Remedy
	}{
		{"old kernel", map[string]string{"proc/sys/kernel/osrelease": "5.15.0-91-generic"}, 0, "kernel", no, []Use{UseEBPF, UseTLS}, "5.15.0-91-generic is older than 6.1", "--iface"},
		{"no release", map[string]string{"proc/sys/kernel/osrelease": ""}, 0, "kernel", limited, []Use{UseEBPF, UseTLS}, "unknown", "mount /proc"},
		{"no BTF", map[string]string{"sys/kernel/btf/vmlinux": ""}, 0, "btf", no, []Use{UseEBPF, UseTLS}, "no /sys/kernel/btf/vmlinux", "CONFIG_DEBUG_INFO_BTF"},
		{"confidentiality", map[string]string{"sys/kernel/security/lockdown": "none integrity [confidentiality]\n"}, 0, "lockdown", no, []Use{UseEBPF, UseTLS}, "confidentiality", "lockdown=integrity"},
		{"no lockdown module", map[string]string{"sys/kernel/security/lockdown": ""}, 0, "lockdown", StateOK, []Use{}, "none", ""},
		{"lockdown in other words", map[string]string{"sys/kernel/security/lockdown": "yes"}, 0, "lockdown", limited, []Use{UseEBPF, UseTLS}, "unknown", "readable"},
		{"no root", map[string]string{"proc/self/status": "CapEff:\t0000000000000000\n"}, 0, "capabilities", no, []Use{UseEBPF, UseTLS}, "lacks CAP_BPF and CAP_PERFMON", "run as root"},
		{"no root, packets", map[string]string{"proc/self/status": "CapEff:\t0000000000000000\n"}, 0, "packets", no, []Use{UseIface}, "lacks CAP_NET_RAW", "run as root"},
		{"BPF alone", map[string]string{"proc/self/status": "CapEff:\t0000008000000000\n"}, 0, "capabilities", no, []Use{UseEBPF, UseTLS}, "lacks CAP_PERFMON", "grant CAP_PERFMON"},
		{"the older capability", map[string]string{"proc/self/status": "CapEff:\t0000000000200000\n"}, 0, "capabilities", StateOK, []Use{}, "CAP_BPF", ""},
		{"BPF and PERFMON", map[string]string{"proc/self/status": "CapEff:\t000000c000000000\n"}, 0, "capabilities for TLS", StateOK, []Use{}, "enough", ""},
		{"BPF and PERFMON, others", map[string]string{"proc/self/status": "CapEff:\t000000c000000000\n"}, 0, "other users' processes", limited, []Use{UseTLS}, "CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE", "grant"},
		{"BPF and PERFMON on 6.1", map[string]string{"proc/self/status": "CapEff:\t000000c000000000\n", "proc/sys/kernel/osrelease": "6.1.0"}, 0, "capabilities for TLS", no, []Use{UseTLS}, "CAP_SYS_ADMIN", "6.6"},
		{"uprobes on 6.1", map[string]string{"proc/sys/kernel/osrelease": "6.1.0"}, 0, "uprobes", limited, []Use{UseTLS}, "one at a time", "none needed"},
		{"user namespace", map[string]string{"proc/self/uid_map": "0 1000 1\n"}, 0, "namespaces", no, []Use{UseEBPF, UseTLS}, "user namespace", "on the host"},
		{"container", map[string]string{"proc/self/ns/pid": "->pid:[4026532201]"}, 0, "namespaces", limited, []Use{UseEBPF, UseTLS}, "container", "process namespace"},
		{"no tracefs", map[string]string{"sys/kernel/tracing/README": ""}, 0, "tracefs", StateOK, []Use{}, "not mounted", ""},
		{"no JIT", map[string]string{"proc/sys/net/core/bpf_jit_enable": "0\n"}, 0, "bpf jit", limited, []Use{UseEBPF, UseTLS}, "interpreted", "sysctl"},
		{"seccomp", nil, 0, "seccomp", limited, []Use{UseTLS}, "seccomp filter", "6.14"},
		{"seccomp on 6.14", map[string]string{"proc/sys/kernel/osrelease": "6.14.2"}, 0, "seccomp", StateOK, []Use{}, "harmless", ""},
		{"ring too large", nil, 16 << 30, "memory", no, []Use{UseEBPF, UseTLS}, "rings of 16 GiB, and the machine leaves 8 GiB", "smaller ring"},
		{"ring large", nil, 4 << 30, "memory", limited, []Use{UseEBPF, UseTLS}, "more than a quarter of the 8 GiB", "smaller ring"},
		{"ring above the group's limit", map[string]string{
			"sys/fs/cgroup/system.slice/lambdac.service/memory.max": "max\n", "sys/fs/cgroup/system.slice/memory.max": "134217728\n",
			"sys/fs/cgroup/system.slice/memory.current": "104857600\n", "sys/fs/cgroup/system.slice/memory.stat": "anon 1\ninactive_file 20971520\n",
		}, 64 << 20, "memory", no, []Use{UseEBPF, UseTLS}, "rings of 64 MiB, and a control group leaves 48 MiB", "smaller ring"},
		{"version 1 groups", map[string]string{
			"proc/self/cgroup": "9:name=systemd:/\n4:memory:/docker/ab\n3:cpu:/\n0::/\n", "sys/fs/cgroup/memory/docker/ab/memory.limit_in_bytes": "67108864\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 128 << 20, "memory", no, []Use{UseEBPF, UseTLS}, "a control group leaves 64 MiB", "smaller ring"},
		{"no meminfo", map[string]string{"proc/meminfo": ""}, 1, "memory", limited, []Use{UseEBPF, UseTLS}, "unknown", "mount /proc"},
		{"one processor", map[string]string{"sys/devices/system/cpu/online": "0\n"}, 0, "processors", limited, []Use{UseEBPF, UseTLS, UseIface}, "one", "loss"},
		{"slow clock", map[string]string{"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n"}, 0, "clock", limited, []Use{UseEBPF, UseTLS, UseIface}, "hpet", "tsc"},
		{"no kernel TLS", map[string]string{"proc/sys/net/ipv4/tcp_available_ulp": "espintcp mptcp\n"}, 0, "kernel TLS", StateOK, []Use{}, "not loaded", ""},
		{"kernel TLS", map[string]string{"proc/sys/net/ipv4/tcp_available_ulp": "espintcp mptcp tls\n"}, 0, "kernel TLS", StateOK, []Use{}, "no connection", ""},
		{"kernel TLS in use", map[string]string{
			"proc/sys/net/ipv4/tcp_available_ulp": "tls\n", "proc/self/net/tls_stat": "TlsCurrTxSw                     \t2\nTlsCurrRxSw                     \t3\nTlsCurrTxDevice                 \t1\n",
		}, 0, "kernel TLS", limited, []Use{UseTLS}, "3 connections", "KTLS"},
		{"free clock", map[string]string{"unsynced": "x"}, 0, "clock", limited, []Use{}, "not held", "NTP"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			root := goodHost()
			for name, content := range row.change {
				to, linked := strings.CutPrefix(content, "->")
				switch {
				case content == "":
					delete(root, name)
				case linked:
					root[name] = link(to)
				default:
					root[name] = file(content)
				}
			}
			h := Read(root)
			h.Arch, h.ClockSynced = "amd64", new(row.change["unsynced"] == "")
			f := find(t, h.Judge(Want{RingBytes: row.ring}), row.check)
			if f.State != row.state || !strings.Contains(f.Found, row.found) || !strings.Contains(f.Remedy, row.remedy) || strings.Contains(f.Found+f.Remedy, "\n") {
				t.Errorf("got %+v", f)
			}
			if diff := cmp.Diff(row.blocks, f.Blocks); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func find(t *testing.T, findings []Finding, check string) Finding {
	t.Helper()
	for _, f := range findings {
		if f.Check == check {
			return f
		}
	}
	t.Fatalf("no finding %q", check)
	return Finding{}
}

// TestRefuse: all that blocks a way to record stands in one line, and so does
// what to do; what only limits it does not refuse.
func TestRefuse(t *testing.T) {
	root := goodHost()
	delete(root, "sys/kernel/btf/vmlinux")
	root["sys/kernel/security/lockdown"] = file("[confidentiality]")
	root["proc/sys/net/core/bpf_jit_enable"] = file("0")
	h := Read(root)
	findings := h.Judge(Want{})
	err := Refuse(findings, UseEBPF)
	refusal, is := errors.AsType[*Refusal](err)
	if !is || len(refusal.Causes) != 2 || Verdict(findings, UseEBPF) != StateNo {
		t.Fatalf("got %v", err)
	}
	want := "btf: the kernel does not describe its types (no /sys/kernel/btf/vmlinux); lockdown: confidentiality: programs may not read memory"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(refusal.Remedy(), "CONFIG_DEBUG_INFO_BTF") || !strings.Contains(refusal.Remedy(), "lockdown=integrity") {
		t.Errorf("remedy %q", refusal.Remedy())
	}
	if err := Refuse(findings, UseIface); err != nil {
		t.Errorf("packets: %v", err)
	}
}

// TestNothingReadable: an empty root is a machine of which nothing is known;
// nothing is claimed of it and nothing panics.
func TestNothingReadable(t *testing.T) {
	h := Read(fstest.MapFS{})
	if h.MemoryFree != nil || h.JIT != nil || h.Caps != 0 || h.CPUs != 0 || h.BTF {
		t.Errorf("got %+v", h)
	}
	if err := Refuse(h.Judge(Want{RingBytes: 1}), UseEBPF); err == nil {
		t.Error("not refused")
	}
}

func TestParseVersion(t *testing.T) {
	rows := map[string]struct {
		want Version
		ok   bool
	}{
		"6.1.0-18-amd64": {Version{6, 1, 0}, true}, "6.18.44-fc-v657": {Version{6, 18, 44}, true},
		"6.1-rc3": {Version{6, 1, 0}, true}, "7.0": {Version{7, 0, 0}, true}, "6.6.x": {Version{6, 6, 0}, true},
		"": {}, "six.one": {}, "6": {}, "6.": {},
	}
	for release := range maps.Keys(rows) {
		v, ok := ParseVersion(release)
		if v != rows[release].want || ok != rows[release].ok {
			t.Errorf("%q: %v %v", release, v, ok)
		}
	}
}

func TestCPUs(t *testing.T) {
	for list, want := range map[string]int{"0": 1, "0-3": 4, "0-1,4,6-7": 5, "": 0, "x": 0, "3-1": 0, "0-99999999": 0} {
		if got := cpus(list); got != want {
			t.Errorf("%q: %d, want %d", list, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1023: "1023 bytes", 1536: "1.5 KiB", 64 << 20: "64 MiB", 20<<30 - 1: "19.9 GiB"} {
		if got := size(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
