package tracedir

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lambdac/lambdac/trace"
)

// sealed is a manifest that may be written.
func sealed() *trace.Manifest {
	return &trace.Manifest{
		Version: "test", TraceID: "T1", Origin: trace.OriginCapture, TimeBase: trace.TimeUnix, Semconv: "0.1.0",
		Seal: &trace.Seal{Mode: trace.ModeShape, Version: "test", PolicyHash: "p1"},
	}
}

// collect reads a whole table.
func collect[T any](tb testing.TB, d *Dir) []*T {
	tb.Helper()
	var rows []*T
	for row, err := range Rows[T](d) {
		if err != nil {
			tb.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

func open(tb testing.TB, path string) *Dir {
	tb.Helper()
	d, err := Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// asRead are the differences that a file makes: an empty map for none.
var asRead = cmp.Options{
	cmpopts.IgnoreFields(trace.Record{}, "Features", "Bodies"),
	cmp.Transformer("map", func(m map[string]string) map[string]string {
		if m == nil {
			return map[string]string{}
		}
		return m
	}),
}
