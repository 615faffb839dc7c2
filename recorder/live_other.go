//go:build !linux

package recorder

import (
	"errors"
	"fmt"
)

// OpenInterface captures from a network interface; on this system it cannot.
func OpenInterface(name string, _ []int) (Source, error) {
	return nil, fmt.Errorf("open interface %q: %w on this system; capture with tcpdump and read the file", name, errors.ErrUnsupported)
}
