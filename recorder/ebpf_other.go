//go:build !linux || !(amd64 || arm64)

package recorder

import (
	"errors"
	"fmt"

	"github.com/lambdac/lambdac/bpf"
)

// OpenEBPF sees what processes read and write; on this system it cannot.
func OpenEBPF(bpf.Options, Limits) (Source, error) {
	return nil, fmt.Errorf("open eBPF source: %w on this system; capture packets instead", errors.ErrUnsupported)
}
