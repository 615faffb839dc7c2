//go:build !linux

package telemetry

import (
	"context"
	"errors"
)

var errNotLinux = errors.New("only Linux has it")

func openKmsg(context.Context, *Config) (sampler, error) { return nil, errNotLinux }

func openTracepoints(context.Context, *Config) (sampler, error) { return nil, errNotLinux }

func openZones(context.Context, *Config) (sampler, error) { return nil, errNotLinux }
