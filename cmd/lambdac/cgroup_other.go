//go:build !linux

package main

import (
	"errors"
	"fmt"
)

// cgroupID is the kernel's number of a control group; here there are none.
func cgroupID(name string) (uint64, error) {
	return 0, fmt.Errorf("control group %q: %w on this system", name, errors.ErrUnsupported)
}
