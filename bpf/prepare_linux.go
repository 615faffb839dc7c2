package bpf

import (
	"fmt"

	"github.com/cilium/ebpf/features"
)

// Prepare reads the kernel's version, which loading the programs of TLS
// libraries needs: the library finds it in this process's own memory, and
// remembers it. A process that is not root calls this before it makes its
// memory unreadable (PR_SET_DUMPABLE); after it, that is too late.
func Prepare() error {
	if _, err := features.LinuxVersionCode(); err != nil {
		return fmt.Errorf("read the kernel's version: %w", err)
	}
	return nil
}
