//go:build amd64 || arm64

package recorder

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lambdac/lambdac/bpf"
)

// OpenEBPF sees what processes read and write on the connections asked for:
// the server's side, from inside the kernel. See [bpf.Load] for what it needs.
func OpenEBPF(o bpf.Options, limits Limits) (Source, error) {
	k, err := bpf.Load(o)
	if err != nil {
		return nil, fmt.Errorf("open eBPF source: %w", err)
	}
	s := newEBPFSource(k, readClocks)
	s.budget = ebpfBudget{limits: limits, usage: readUsage, libraries: o.Nested}
	s.side = ebpfSide{server: !o.NoServer, client: o.Client}
	if !o.Nested {
		return s, nil
	}
	follower, err := followTLS(k, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open eBPF source: %w", err), k.Close())
	}
	s.tls = follower
	return s, nil
}

// readClocks reads CLOCK_BOOTTIME and the wall clock.
func readClocks() (boot, wall int64) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0, time.Now().UnixNano() // not on any kernel that loads the programs
	}
	return ts.Nano(), time.Now().UnixNano()
}
