package main

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/lambdac/lambdac/bpf"
)

// keepPrivate keeps the memory of this process out of core dumps and from
// other processes of its user: captured traffic is in it, secrets and all.
func keepPrivate() error {
	if err := bpf.Prepare(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("keep memory out of core dumps: %w", err)
	}
	return nil
}
