package hostcheck

import (
	"fmt"
	"strings"
)

// Want is what the recording would use.
type Want struct {
	// RingBytes is the memory of all ring buffers together; 0 leaves it
	// unjudged.
	RingBytes int64
}

// Judge says what the host's facts mean for each way to record. It always
// returns one finding per check, in the same order.
func (h *Host) Judge(want Want) []Finding {
	findings := []Finding{
		h.kernel(), h.btf(), h.lockdown(), h.namespaces(), h.capabilities(),
		h.tlsCapabilities(), h.otherUsers(), h.packets(), h.uprobes(), h.seccomp(), h.kernelTLS(),
		h.memory(want.RingBytes), h.jit(), h.tracing(), h.perfEvents(), h.processors(), h.clock(),
	}
	for i := range findings {
		if findings[i].Blocks == nil {
			findings[i].Blocks = []Use{}
		}
	}
	return findings
}

func ok(check, format string, args ...any) Finding {
	return Finding{Check: check, State: StateOK, Found: fmt.Sprintf(format, args...)}
}

// Fallback is the remedy where eBPF cannot be had.
const Fallback = "record from packets: --iface IF --port P"

func (h *Host) kernel() Finding {
	v, known := ParseVersion(h.Release)
	switch {
	case !known:
		return Finding{"kernel", StateLimited, "release unknown", []Use{UseEBPF, UseTLS}, "mount /proc"}
	case !v.AtLeast(6, 1):
		return Finding{
			"kernel", StateNo, h.Release + " is older than 6.1",
			[]Use{UseEBPF, UseTLS},
			"boot a kernel from 6.1 on, or " + Fallback,
		}
	}
	return ok("kernel", "%s", h.Release)
}

func (h *Host) btf() Finding {
	if !h.BTF {
		return Finding{
			"btf", StateNo, "the kernel does not describe its types (no /sys/kernel/btf/vmlinux)",
			[]Use{UseEBPF, UseTLS},
			"mount /sys or boot a kernel built with CONFIG_DEBUG_INFO_BTF, or " + Fallback,
		}
	}
	return ok("btf", "/sys/kernel/btf/vmlinux")
}

func (h *Host) lockdown() Finding {
	switch h.Lockdown {
	case "none", "integrity":
		return ok("lockdown", "%s", h.Lockdown)
	case "confidentiality":
		return Finding{
			"lockdown", StateNo, "confidentiality: programs may not read memory",
			[]Use{UseEBPF, UseTLS},
			"boot with lockdown=integrity, or " + Fallback,
		}
	}
	return Finding{"lockdown", StateLimited, "mode unknown", []Use{UseEBPF, UseTLS}, "make /sys/kernel/security/lockdown readable"}
}

func (h *Host) namespaces() Finding {
	switch {
	case h.UserNamespace:
		return Finding{
			"namespaces", StateNo, "in a user namespace, where capabilities do not count",
			[]Use{UseEBPF, UseTLS},
			"run on the host, or in a container without a user namespace",
		}
	case h.PIDNamespace:
		return Finding{
			"namespaces", StateLimited, "in a container: only its own processes are seen",
			[]Use{UseEBPF, UseTLS},
			"run on the host, or in a container with the host's process namespace",
		}
	}
	return ok("namespaces", "the host's")
}

func (h *Host) capabilities() Finding {
	if missing := h.Caps.lacks(capBPF, capPerfmon); len(missing) > 0 {
		return Finding{
			"capabilities", StateNo, "this process lacks " + strings.Join(missing, " and "),
			[]Use{UseEBPF, UseTLS},
			"run as root, or grant " + strings.Join(missing, " and "),
		}
	}
	return ok("capabilities", "CAP_BPF, CAP_PERFMON")
}

// tlsCapabilities: an old-style uprobe is a perf event, and opening one on a
// file needs CAP_SYS_ADMIN; the multi-uprobe link needs CAP_PERFMON.
func (h *Host) tlsCapabilities() Finding {
	const check = "capabilities for TLS"
	if !h.hasUprobeMulti() && !h.Caps.has(capSysAdmin) {
		return Finding{
			check, StateNo, "CAP_SYS_ADMIN is missing, which uprobes need before Linux 6.6",
			[]Use{UseTLS},
			"run as root, grant CAP_SYS_ADMIN, or boot a kernel from 6.6 on",
		}
	}
	return ok(check, "enough for uprobes")
}

func (h *Host) otherUsers() Finding {
	const check = "other users' processes"
	if missing := h.Caps.lacks(capDACReadSearch, capSysPtrace); len(missing) > 0 {
		return Finding{
			check, StateLimited, "libraries and sockets of other users' processes are not found without " + strings.Join(missing, " and "),
			[]Use{UseTLS},
			"grant " + strings.Join(missing, " and "),
		}
	}
	return ok(check, "can be looked at")
}

func (h *Host) packets() Finding {
	if !h.Caps.has(capNetRaw) {
		return Finding{"packets", StateNo, "this process lacks CAP_NET_RAW", []Use{UseIface}, "run as root, or grant CAP_NET_RAW"}
	}
	return ok("packets", "CAP_NET_RAW")
}

func (h *Host) uprobes() Finding {
	if !h.hasUprobeMulti() {
		return Finding{
			"uprobes", StateLimited, "one at a time: the multi-uprobe link came with Linux 6.6",
			[]Use{UseTLS},
			"none needed as root",
		}
	}
	return ok("uprobes", "multi-uprobe link")
}

func (h *Host) seccomp() Finding {
	if h.uretprobeKills() {
		return Finding{
			"seccomp", StateLimited, "this kernel may end processes with a seccomp filter at a return probe; they are probed at return instructions instead",
			[]Use{UseTLS},
			"boot a kernel from 6.14 on",
		}
	}
	return ok("seccomp", "return probes are harmless")
}

func (h *Host) memory(ring int64) Finding {
	const check = "memory"
	switch {
	case h.MemoryFree == nil:
		return Finding{check, StateLimited, "free memory unknown", []Use{UseEBPF, UseTLS}, "mount /proc"}
	case ring > *h.MemoryFree:
		return Finding{
			check, StateNo, fmt.Sprintf("rings of %s, and %s leaves %s", size(ring), h.MemoryBound, size(*h.MemoryFree)),
			[]Use{UseEBPF, UseTLS},
			"choose a smaller ring, or free memory",
		}
	case ring > *h.MemoryFree/4:
		return Finding{
			check, StateLimited, fmt.Sprintf("rings of %s take more than a quarter of the %s that %s leaves", size(ring), size(*h.MemoryFree), h.MemoryBound),
			[]Use{UseEBPF, UseTLS},
			"choose a smaller ring, or free memory",
		}
	}
	return ok(check, "%s free, rings of %s", size(*h.MemoryFree), size(ring))
}

func (h *Host) jit() Finding {
	const check = "bpf jit"
	switch {
	case h.JIT == nil:
		return ok(check, "bpf_jit_enable unknown")
	case *h.JIT == 0:
		return Finding{
			check, StateLimited, "off (bpf_jit_enable 0): programs are interpreted, several times slower",
			[]Use{UseEBPF, UseTLS},
			"sysctl -w net.core.bpf_jit_enable=1",
		}
	}
	return ok(check, "on (bpf_jit_enable %d)", *h.JIT)
}

func (h *Host) perfEvents() Finding {
	const check = "perf events"
	if h.PerfParanoid == nil {
		return ok(check, "perf_event_paranoid unknown; CAP_PERFMON stands above it")
	}
	return ok(check, "perf_event_paranoid %d; CAP_PERFMON stands above it", *h.PerfParanoid)
}

func (h *Host) processors() Finding {
	switch h.CPUs {
	case 0:
		return ok("processors", "number unknown")
	case 1:
		return Finding{
			"processors", StateLimited, "one, which the recorder shares with the service",
			[]Use{UseEBPF, UseTLS, UseIface},
			"watch the loss that lambdac show reports",
		}
	}
	return ok("processors", "%d", h.CPUs)
}

// clock: offsets are taken from a steady clock, so a wrong wall clock only
// shifts when things are said to have happened, and hinders no recording.
func (h *Host) clock() Finding {
	source := ""
	if h.ClockSource != "" {
		source = ", read from " + h.ClockSource
	}
	switch {
	case h.ClockSource == "hpet" || h.ClockSource == "acpi_pm" || h.ClockSource == "jiffies":
		return Finding{
			"clock", StateLimited, "slow or coarse clock source " + h.ClockSource,
			[]Use{UseEBPF, UseTLS, UseIface},
			"boot with a stable tsc",
		}
	case h.ClockSynced == nil:
		return ok("clock", "held to a reference: unknown%s", source)
	case !*h.ClockSynced:
		return Finding{
			"clock", StateLimited, "not held to a reference" + source + ": times of several machines cannot be compared",
			nil, "run an NTP client",
		}
	}
	return ok("clock", "held to a reference%s", source)
}

// kernelTLS: what a program writes by its library is read there, whoever
// encrypts it; what it sends without the library is encrypted on its way.
func (h *Host) kernelTLS() Finding {
	const check = "kernel TLS"
	switch {
	case h.KernelTLS == nil:
		return ok(check, "unknown")
	case !*h.KernelTLS:
		return ok(check, "not loaded: no connection uses it")
	case h.KernelTLSConns != nil && *h.KernelTLSConns > 0:
		return Finding{
			check, StateLimited, fmt.Sprintf("%d connections use it: files that go out by sendfile are counted, not read", *h.KernelTLSConns),
			[]Use{UseTLS},
			"turn it off in the server, such as by ssl_conf_command Options -KTLS in nginx",
		}
	}
	return ok(check, "loaded, and no connection uses it now")
}

func (h *Host) tracing() Finding {
	if h.Tracefs == "" {
		return ok("tracefs", "not mounted; not needed: programs attach without it")
	}
	return ok("tracefs", "/%s", h.Tracefs)
}

// size is a number of bytes in words, cut to a tenth.
func size(n int64) string {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= unit.bytes {
			return fmt.Sprintf("%.4g %s", float64(n*10/unit.bytes)/10, unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
