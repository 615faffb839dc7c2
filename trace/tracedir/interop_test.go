package tracedir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
)

// runPython runs a script of testdata and fails with what it printed.
func runPython(t *testing.T, script string, args ...string) string {
	t.Helper()
	python := testenv.Python(t, "duckdb", "pyarrow", "polars")
	cmd := exec.Command(python, append([]string{filepath.Join("testdata", script)}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// TestOtherReaders writes every table, live and not, and has DuckDB, pyarrow
// and polars compare each value with what was written: NULLs, lists that are
// NULL and lists that are empty, maps, nanosecond integers, timestamps.
func TestOtherReaders(t *testing.T) {
	testenv.Long(t)
	for _, live := range []bool{false, true} {
		t.Run(map[bool]string{false: "whole", true: "live"}[live], func(t *testing.T) {
			path := t.TempDir()
			w, err := Create(path, sealed(), Options{Live: live})
			if err != nil {
				t.Fatal(err)
			}
			want := make(map[string][]map[string]any)
			for i, r := range makeRecords(rand.New(rand.NewPCG(9, 1)), 150) {
				want[tableRequests] = append(want[tableRequests], columns(reflect.ValueOf(r).Elem()))
				if r.Features != nil {
					want[tableFeatures] = append(want[tableFeatures], columns(reflect.ValueOf(r.Features).Elem()))
				}
				for i := range r.Bodies {
					want[tableBodies] = append(want[tableBodies], columns(reflect.ValueOf(&r.Bodies[i]).Elem()))
				}
				window := &trace.CaptureWindow{Source: "pcap", WindowStartUnixNs: int64(i) * 1e9, LostByReason: map[string]int64{"gap": int64(i)}}
				sample := &trace.Sample{AtUnixNs: int64(i), Source: trace.SampleGPU, Metric: "m", Value: new(float64(i) + 0.1)}
				want[tableCapture] = append(want[tableCapture], columns(reflect.ValueOf(window).Elem()))
				want[tableTelemetry] = append(want[tableTelemetry], columns(reflect.ValueOf(sample).Elem()))
				if err := errors.Join(w.Write(r), w.WriteCapture(window), w.WriteSample(sample)); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			expected := filepath.Join(t.TempDir(), "want.json")
			data, err := json.Marshal(want)
			if err := errors.Join(err, os.WriteFile(expected, data, 0o644)); err != nil {
				t.Fatal(err)
			}
			out := runPython(t, "compare.py", path, expected)
			if got := strings.Count(out, "equal"); got != 3*len(tableNames) {
				t.Errorf("%d comparisons, want %d:\n%s", got, 3*len(tableNames), out)
			}
		})
	}
}

// TestDatasetsInOtherReaders: DuckDB, pyarrow and polars agree on every value of
// every file of the repository's datasets, which is what a researcher opens
// first, and on four tables they agree with what is read here.
func TestDatasetsInOtherReaders(t *testing.T) {
	testenv.Long(t)
	files := datasetFiles(t)
	out := runPython(t, "agree.py", files...)
	for _, file := range files {
		if !strings.Contains(out, file+" ") {
			t.Errorf("%s was not compared:\n%s", file, out)
		}
	}
	var args []string
	for _, part := range []struct {
		dataset, table string
		rows           func(*testing.T, *Dir) []map[string]any
	}{
		{"agentic", tableRequests, rowsAsJSON[trace.Record]},
		{"healthy", tableRequests, rowsAsJSON[trace.Record]},
		{"pathology-batch-quality", tableFeatures, rowsAsJSON[trace.Features]},
		{"release-new", tableTelemetry, rowsAsJSON[trace.Sample]},
	} {
		path := filepath.Join("../../datasets/data", part.dataset)
		want := map[string][]map[string]any{part.table: part.rows(t, open(t, path))}
		expected := filepath.Join(t.TempDir(), "want.json")
		data, err := json.Marshal(want)
		if err := errors.Join(err, os.WriteFile(expected, data, 0o644)); err != nil {
			t.Fatal(err)
		}
		args = append(args, path, expected)
	}
	if out := runPython(t, "compare.py", args...); strings.Count(out, "equal") != 3*4 {
		t.Errorf("four tables, three readers:\n%s", out)
	}
}

func rowsAsJSON[T any](t *testing.T, dir *Dir) (rows []map[string]any) {
	t.Helper()
	for _, row := range collect[T](t, dir) {
		rows = append(rows, columns(reflect.ValueOf(row).Elem()))
	}
	return rows
}

// datasetFiles are all Parquet files of the repository's datasets, wherever
// they lie.
func datasetFiles(t *testing.T) (files []string) {
	t.Helper()
	tables := map[string]int{}
	err := filepath.WalkDir("../../datasets/data", func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".parquet") {
			files = append(files, path)
			tables[filepath.Base(filepath.Dir(path))]++
		}
		return err
	})
	if err != nil || tables[tableRequests] < 14 || tables[tableFeatures] == 0 || tables[tableTelemetry] == 0 {
		t.Fatalf("files by table: %v, %v", tables, err)
	}
	return files
}

// columns is a row as JSON: column name to value. Bytes become hexadecimal.
func columns(v reflect.Value) map[string]any {
	row := make(map[string]any)
	for _, f := range columnFields(v.Type()) {
		row[columnName(f)] = jsonValue(v.FieldByIndex(f.Index))
	}
	return row
}

func jsonValue(v reflect.Value) any {
	switch {
	case v.Type() == reflect.TypeFor[[]byte]():
		return fmt.Sprintf("%x", v.Bytes())
	case v.Kind() == reflect.Struct:
		return columns(v)
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return jsonValue(v.Elem())
	case v.Kind() == reflect.Slice && !v.IsNil():
		list := make([]any, v.Len())
		for i := range list {
			list[i] = jsonValue(v.Index(i))
		}
		return list
	case v.Kind() == reflect.Map && v.IsNil():
		return map[string]any{}
	case v.Kind() == reflect.Int8:
		return v.Int() // not its name
	case v.Kind() == reflect.String:
		return v.String()
	}
	return v.Interface()
}

// TestNoNaNInFiles scans every DOUBLE column of written files with DuckDB,
// with and without its optimizer, which answers from the bounds: in a file
// with a NaN the two differ (cases.md 14; duckdb/duckdb#25521).
func TestNoNaNInFiles(t *testing.T) {
	out := runPython(t, "no_nan.py", makeTrace(t, 300))
	if !strings.Contains(out, "DOUBLE columns: 7") {
		t.Errorf("%s", out)
	}
}

// TestFiltersFindText asks for the value of a text column, which has no
// bounds: engines that prune by statistics or page index must find every row.
func TestFiltersFindText(t *testing.T) {
	path := t.TempDir()
	w, err := Create(path, sealed(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range benchRecords(2000, 0) {
		r.RequestModel = new(fmt.Sprintf("model-%d", i%4))
		if err := w.Write(&r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if out := runPython(t, "filter.py", path); strings.TrimSpace(out) != "duckdb 500 pyarrow 500 polars 500" {
		t.Errorf("rows found: %s", out)
	}
}

// TestRewrittenByDuckDB: a trace whose requests were filtered by DuckDB, in
// which every column is optional, still reads the same.
func TestRewrittenByDuckDB(t *testing.T) {
	path := makeTrace(t, 100)
	want := collect[trace.Record](t, open(t, path))
	runPython(t, "rewrite.py", path)
	got := collect[trace.Record](t, open(t, path))
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(want[i], got[i]) {
			t.Fatalf("row %d changed", i)
		}
	}
}
