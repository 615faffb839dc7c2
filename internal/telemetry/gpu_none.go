//go:build !cgo || !linux

package telemetry

import (
	"context"
	"errors"
)

func openGPU(context.Context, *Config) (sampler, error) {
	return nil, errors.New("this build has no NVML: build on Linux with CGO_ENABLED=1")
}
