package hostcheck

import (
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Host is what was found out about a machine and about this process on it. A
// nil pointer or an empty string is unknown.
type Host struct {
	// Release is the kernel's release, such as 6.1.0-18-amd64.
	Release string
	// Arch is the processor's architecture in Go's words.
	Arch string
	// BTF reports whether the kernel describes its types.
	BTF bool
	// Tracefs is where tracefs is mounted, without a leading slash.
	Tracefs string
	// Caps are the effective capabilities of this process.
	Caps Caps
	// UserNamespace reports whether the process is in a user namespace of its
	// own, where capabilities do not count for BPF.
	UserNamespace bool
	// PIDNamespace reports whether the process sees the processes of one
	// container only.
	PIDNamespace bool
	// Lockdown is the mode of the kernel's lockdown: none, integrity or
	// confidentiality.
	Lockdown string
	// JIT is the value of net.core.bpf_jit_enable.
	JIT *int
	// PerfParanoid is the value of kernel.perf_event_paranoid.
	PerfParanoid *int
	// MemoryFree is what may still be allocated, in bytes: the machine's
	// available memory or what its control group leaves, the lesser of both.
	MemoryFree *int64
	// MemoryBound names what bounds MemoryFree: the machine or a control group.
	MemoryBound string
	// CPUs is the number of processors that run; 0 is unknown.
	CPUs int
	// ClockSource is what the kernel reads time from, such as tsc.
	ClockSource string
	// ClockSynced reports whether the clock is held to a reference.
	ClockSynced *bool
	// KernelTLS reports whether the kernel encrypts for programs that ask it to
	// (kTLS); KernelTLSConns is how many connections it does that for now.
	KernelTLS      *bool
	KernelTLSConns *int
	// UprobeMulti reports whether the kernel has the multi-uprobe link; nil is
	// judged by the release.
	UprobeMulti *bool
}

// Read finds out what it can about the machine whose /proc and /sys are below
// root; for this machine that is os.DirFS("/"). What cannot be read stays
// unknown, since every finding says itself what that means. Fields that no
// file tells (ClockSynced, UprobeMulti) are left to the caller.
func Read(root fs.FS) Host {
	h := Host{
		Release:      text(root, "proc/sys/kernel/osrelease"),
		Arch:         runtime.GOARCH,
		BTF:          exists(root, "sys/kernel/btf/vmlinux"),
		Tracefs:      tracefs(root),
		Lockdown:     lockdown(root),
		JIT:          integer(root, "proc/sys/net/core/bpf_jit_enable"),
		PerfParanoid: integer(root, "proc/sys/kernel/perf_event_paranoid"),
		CPUs:         cpus(text(root, "sys/devices/system/cpu/online")),
		ClockSource:  text(root, "sys/devices/system/clocksource/clocksource0/current_clocksource"),
	}
	h.KernelTLS, h.KernelTLSConns = kernelTLS(root)
	h.Caps = readCaps(root)
	h.UserNamespace = inUserNamespace(root)
	h.PIDNamespace = inPIDNamespace(root)
	h.MemoryFree, h.MemoryBound = memoryFree(root)
	return h
}

// text is a file's content without the white space around it; "" where it
// cannot be read.
func text(root fs.FS, name string) string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func integer(root fs.FS, name string) *int {
	n, err := strconv.Atoi(text(root, name))
	if err != nil {
		return nil
	}
	return &n
}

// exists reports whether a file is there. One that must not be looked at is.
func exists(root fs.FS, name string) bool {
	_, err := fs.Stat(root, name)
	return err == nil || errors.Is(err, fs.ErrPermission)
}

// tracefs finds the mount by its files, not by the list of mounts: what counts
// is whether they can be opened from here.
func tracefs(root fs.FS) string {
	for _, dir := range []string{"sys/kernel/tracing", "sys/kernel/debug/tracing"} {
		if exists(root, dir+"/events/syscalls") || exists(root, dir+"/README") {
			return dir
		}
	}
	return ""
}

// lockdown reads the mode in brackets of "none [integrity] confidentiality".
// A kernel without the module, and one on which securityfs is not mounted, has
// no such file: none, as only the module ever locks.
func lockdown(root fs.FS) string {
	said, err := fs.ReadFile(root, "sys/kernel/security/lockdown")
	if errors.Is(err, fs.ErrNotExist) {
		return "none"
	}
	_, rest, _ := strings.Cut(string(said), "[")
	mode, _, _ := strings.Cut(rest, "]")
	return mode
}

// kernelTLS reads whether the protocol is there, and its counts of connections.
func kernelTLS(root fs.FS) (loaded *bool, conns *int) {
	protocols := text(root, "proc/sys/net/ipv4/tcp_available_ulp")
	if protocols == "" && !exists(root, "proc/sys/net/ipv4/tcp_available_ulp") {
		return nil, nil
	}
	loaded = new(slices.Contains(strings.Fields(protocols), "tls"))
	for line := range strings.Lines(text(root, "proc/self/net/tls_stat")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil || name != "TlsCurrTxSw" && name != "TlsCurrTxDevice" {
			continue
		}
		if conns == nil {
			conns = new(0)
		}
		*conns += n
	}
	return loaded, conns
}

// cpus counts the processors in a list such as 0-3,8; 0 where it is no list.
func cpus(list string) int {
	n := 0
	for part := range strings.SplitSeq(list, ",") {
		first, last, ranged := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if ranged && err == nil {
			to, err = strconv.Atoi(last)
		}
		if err != nil || to < from || to > 1<<16 {
			return 0
		}
		n += to - from + 1
	}
	return n
}

// inPIDNamespace compares this process's namespace with the first one, whose
// number is fixed (PROC_PID_INIT_INO of the kernel's proc_ns.h).
func inPIDNamespace(root fs.FS) bool {
	ns, err := fs.ReadLink(root, "proc/self/ns/pid")
	return err == nil && ns != "pid:[4026531836]"
}
