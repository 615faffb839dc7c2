package tracedir

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

var update = flag.Bool("update", false, "write testdata/v1 anew; only before the schema is released")

// goldenTables is what a golden trace holds, column by column, as JSON. It is
// kept beside the trace, since the generator changes with the schema and the
// files do not.
type goldenTables map[string][]map[string]any

// TestGoldenV1 opens a trace that was written under schema version 1 and
// compares each value. A column that came later is nil or zero.
func TestGoldenV1(t *testing.T) {
	const dir, values = "testdata/v1", "testdata/v1.json"
	if *update {
		writeGolden(t, dir, values)
	}
	data, err := os.ReadFile(values)
	if err != nil {
		t.Fatal(err)
	}
	want := decodeGolden(t, data)
	d := open(t, dir)
	if got := d.Warnings(); len(got) != 0 {
		t.Errorf("warnings %q", got)
	}
	got := make(goldenTables)
	addGolden[trace.Record](t, got, tableRequests, d)
	addGolden[trace.Features](t, got, tableFeatures, d)
	addGolden[trace.Body](t, got, tableBodies, d)
	addGolden[trace.CaptureWindow](t, got, tableCapture, d)
	addGolden[trace.Sample](t, got, tableTelemetry, d)
	encoded, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	read := decodeGolden(t, encoded)
	for table, rows := range want {
		if len(read[table]) != len(rows) {
			t.Fatalf("%s: %d rows, want %d", table, len(read[table]), len(rows))
		}
		for i, row := range rows {
			compareGolden(t, table, row, read[table][i])
		}
	}
	levels, err := d.Levels()
	if err != nil || len(levels) != 1 || levels[0].Scheduled != 20 {
		t.Errorf("levels %+v, error %v", levels, err)
	}
	if d.Manifest().TraceID != "golden" || d.Manifest().SchemaVersion != 1 {
		t.Errorf("manifest %+v", d.Manifest())
	}
}

func compareGolden(t *testing.T, table string, want, got map[string]any) {
	t.Helper()
	for column, value := range got {
		old, there := want[column]
		if !there && (value == nil || value == json.Number("0") || reflect.ValueOf(value).IsZero()) {
			continue
		}
		if diff := cmp.Diff(old, value); diff != "" {
			t.Errorf("%s, column %s: %s", table, column, diff)
		}
	}
	for column := range want {
		if _, there := got[column]; !there {
			t.Errorf("%s: column %s is gone", table, column)
		}
	}
}

func addGolden[T any](t *testing.T, tables goldenTables, table string, d *Dir) {
	t.Helper()
	for _, row := range collect[T](t, d) {
		tables[table] = append(tables[table], columns(reflect.ValueOf(row).Elem()))
	}
}

// decodeGolden keeps 64-bit integers exact.
func decodeGolden(t *testing.T, data []byte) (tables goldenTables) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&tables); err != nil {
		t.Fatal(err)
	}
	return tables
}

func writeGolden(t *testing.T, dir, values string) {
	t.Helper()
	m := sealed()
	m.TraceID = "golden"
	w, err := Create(dir, m, Options{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range makeRecords(rand.New(rand.NewPCG(10, 1)), 20) {
		window := &trace.CaptureWindow{Source: "pcap", WindowStartUnixNs: int64(i), LostByReason: map[string]int64{"gap": 3}}
		err := errors.Join(w.Write(r), w.WriteCapture(window), w.WriteSample(&trace.Sample{AtUnixNs: int64(i), Value: new(0.5)}))
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.SetLevels([]trace.Level{{OfferedPerS: 2, Scheduled: 20}}), w.SetMarks(nil), w.Close()); err != nil {
		t.Fatal(err)
	}
	d := open(t, dir)
	tables := make(goldenTables)
	addGolden[trace.Record](t, tables, tableRequests, d)
	addGolden[trace.Features](t, tables, tableFeatures, d)
	addGolden[trace.Body](t, tables, tableBodies, d)
	addGolden[trace.CaptureWindow](t, tables, tableCapture, d)
	addGolden[trace.Sample](t, tables, tableTelemetry, d)
	data, err := json.MarshalIndent(tables, "", " ")
	if err := errors.Join(err, os.MkdirAll(filepath.Dir(values), 0o755), os.WriteFile(values, append(data, '\n'), 0o644)); err != nil {
		t.Fatal(err)
	}
}
