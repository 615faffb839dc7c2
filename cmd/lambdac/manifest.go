package main

import (
	"crypto/rand"

	"github.com/lambdac/lambdac/trace"
)

// semconv is the version of the OpenTelemetry GenAI conventions that the
// column names follow.
const semconv = "semantic-conventions-genai v0.1.0"

func newManifest(origin trace.Origin, seal *trace.Seal) *trace.Manifest {
	return &trace.Manifest{
		Schema: trace.ManifestSchema, Version: version, SchemaVersion: trace.SchemaVersion,
		TraceID: rand.Text(), Origin: origin, TimeBase: trace.TimeUnix, Seal: seal, Semconv: semconv,
	}
}
