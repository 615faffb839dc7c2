package main

import (
	"context"
	"fmt"
	"io"

	"github.com/lambdac/lambdac/internal/telemetry"
)

// doctorSource is one source of telemetry on this machine.
type doctorSource struct {
	// Name is the sampler's, such as buddy, kmsg or gpu.
	Name string `json:"name"`
	// Readable reports whether a replay would sample it.
	Readable bool `json:"readable"`
	// Reason is why it would not, and what would help; empty where it would.
	Reason string `json:"reason"`
}

// addTelemetry says what a replay could sample of this machine: each source is
// opened and read once.
func (r *doctorResult) addTelemetry(ctx context.Context) {
	s, err := telemetry.Open(ctx, telemetry.Config{Host: telemetry.On, GPU: telemetry.On, Client: telemetry.On, Group: "/"})
	if err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("telemetry: %v", err))
		return
	}
	for _, src := range s.Close().Sources {
		r.Telemetry = append(r.Telemetry, doctorSource{src.Name, src.Absent == "", src.Absent})
	}
}

func printTelemetry(w io.Writer, list []doctorSource) {
	fmt.Fprintln(w, "\ntelemetry\treadable")
	for _, s := range list {
		state := "yes"
		if !s.Readable {
			state = "no: " + s.Reason
		}
		fmt.Fprintf(w, "%s\t%s\n", s.Name, state)
	}
}
