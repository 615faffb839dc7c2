package hostcheck

import (
	"io/fs"
	"strconv"
	"strings"
)

// Caps is a set of capabilities, as bits of /proc/PID/status (capabilities(7)).
type Caps uint64

// The capabilities that recording is about, by their numbers in
// linux/capability.h.
const (
	capDACReadSearch = 2
	capNetRaw        = 13
	capSysPtrace     = 19
	capSysAdmin      = 21
	capPerfmon       = 38
	capBPF           = 39
)

var capNames = map[int]string{
	capDACReadSearch: "CAP_DAC_READ_SEARCH",
	capNetRaw:        "CAP_NET_RAW",
	capSysPtrace:     "CAP_SYS_PTRACE",
	capSysAdmin:      "CAP_SYS_ADMIN",
	capPerfmon:       "CAP_PERFMON",
	capBPF:           "CAP_BPF",
}

// has reports whether the set has a capability, or the one that stands for it:
// CAP_SYS_ADMIN still does for CAP_BPF and CAP_PERFMON (bpf_capable and
// perfmon_capable of linux/capability.h).
func (c Caps) has(n int) bool {
	if c&(1<<n) != 0 {
		return true
	}
	return (n == capBPF || n == capPerfmon) && c&(1<<capSysAdmin) != 0
}

// lacks are the names of those that the set does not have, in their order.
func (c Caps) lacks(wanted ...int) (names []string) {
	for _, n := range wanted {
		if !c.has(n) {
			names = append(names, capNames[n])
		}
	}
	return names
}

func readCaps(root fs.FS) Caps {
	bits, err := strconv.ParseUint(statusField(text(root, "proc/self/status"), "CapEff"), 16, 64)
	if err != nil {
		return 0
	}
	return Caps(bits)
}

// statusField is the value of one line of a /proc/PID/status.
func statusField(status, name string) string {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// inUserNamespace: the first namespace maps every user to itself.
func inUserNamespace(root fs.FS) bool {
	ids := strings.Fields(text(root, "proc/self/uid_map"))
	return len(ids) >= 3 && (ids[0] != "0" || ids[1] != "0" || ids[2] != "4294967295")
}
