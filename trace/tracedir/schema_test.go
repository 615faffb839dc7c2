package tracedir

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/lambdac/lambdac/internal/leaktest"
	"github.com/lambdac/lambdac/trace"
)

// leafTypes maps each column of each table to its leaf.
func leafTypes() map[string]parquet.LeafColumn {
	leaves := make(map[string]parquet.LeafColumn)
	for table, schema := range map[string]*parquet.Schema{
		tableRequests: parquet.SchemaOf(new(trace.Record)), tableFeatures: parquet.SchemaOf(new(trace.Features)),
		tableBodies: parquet.SchemaOf(new(trace.Body)), tableCapture: parquet.SchemaOf(new(trace.CaptureWindow)),
		tableTelemetry: parquet.SchemaOf(new(trace.Sample)),
	} {
		for _, path := range schema.Columns() {
			leaf, _ := schema.Lookup(path...)
			leaves[table+"."+strings.Join(path, ".")] = leaf
		}
	}
	return leaves
}

// TestNoNanosecondTypes: Spark refuses TIMESTAMP(NANOS), and DuckDB cuts it
// to microseconds in silence. Nanoseconds are plain integers here.
func TestNoNanosecondTypes(t *testing.T) {
	times := 0
	for name, leaf := range leafTypes() {
		kind := leaf.Node.Type()
		if kind.Kind() == parquet.Int96 {
			t.Errorf("%s is an INT96", name)
		}
		if kind.LogicalType() == nil {
			continue
		}
		if ts, ok := kind.LogicalType().Value.(*format.TimestampType); ok {
			times++
			if _, micros := ts.Unit.Value.(*format.MicroSeconds); !micros || !ts.IsAdjustedToUTC {
				t.Errorf("%s is %v, want microseconds in UTC", name, kind)
			}
		}
		if ts, ok := kind.LogicalType().Value.(*format.TimeType); ok {
			t.Errorf("%s is a time of day: %v", name, ts)
		}
	}
	if times != 1 {
		t.Errorf("%d timestamp columns, want start_ts alone", times)
	}
}

// TestDatasetsAreSparks: every file of the datasets has the columns of its
// table in the types that Spark's Parquet reader has (spark.apache.org,
// sql-data-sources-parquet): BOOLEAN, INT32, INT64, DOUBLE, BINARY and STRING,
// signed integers, microseconds, lists and maps.
func TestDatasetsAreSparks(t *testing.T) {
	ours := leafTypes()
	for _, file := range datasetFiles(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, path := range f.Schema().Columns() {
			leaf, _ := f.Schema().Lookup(path...)
			name := filepath.Base(filepath.Dir(file)) + "." + strings.Join(path, ".")
			got := leaf.Node.Type()
			if want, ok := ours[name]; !ok || got.String() != want.Node.Type().String() {
				t.Errorf("%s: %s is %v, not as written now", file, name, got)
			}
			if why := notSparks(got); why != "" {
				t.Errorf("%s: %s is %v: %s", file, name, got, why)
			}
		}
	}
}

// notSparks says why Spark would not read a leaf; "" = it does.
func notSparks(leaf parquet.Type) string {
	switch leaf.Kind() {
	case parquet.Boolean, parquet.Int32, parquet.Int64, parquet.Double, parquet.ByteArray:
	default:
		return "another kind"
	}
	if leaf.LogicalType() == nil {
		return ""
	}
	switch logical := leaf.LogicalType().Value.(type) {
	case *format.StringType, *format.EnumType:
	case *format.IntType:
		if !logical.IsSigned {
			return "unsigned"
		}
	case *format.TimestampType:
		if _, micros := logical.Unit.Value.(*format.MicroSeconds); !micros {
			return "no microseconds"
		}
	default:
		return "another logical type"
	}
	return ""
}

// TestBoundedStrings lists every string column whose values may stand in a
// footer. A new string column has no bounds until it is put here.
func TestBoundedStrings(t *testing.T) {
	want := map[string][]string{
		tableRequests: {
			"request_id", "origin", "session_id", "parent_request_id", "session_source", "api_kind", "token_source",
			"prefix_block_unit", "outcome", "outcome_detail", "retry_of", "lag_cause", "sanitizer_mode", "body_state", "vantage",
		},
		tableFeatures:  {"request_id", "reason"},
		tableBodies:    {"request_id", "side"},
		tableCapture:   nil,
		tableTelemetry: {"source"},
	}
	text := map[string][][]string{
		tableRequests: textColumns[trace.Record](), tableFeatures: textColumns[trace.Features](),
		tableBodies: textColumns[trace.Body](), tableCapture: textColumns[trace.CaptureWindow](), tableTelemetry: textColumns[trace.Sample](),
	}
	var got, wanted []string
	for name, leaf := range leafTypes() {
		table, column, _ := strings.Cut(name, ".")
		if leaf.Node.Type().Kind() != parquet.ByteArray {
			continue
		}
		if slices.Contains(want[table], column) {
			wanted = append(wanted, name)
		}
		if !slices.ContainsFunc(text[table], func(path []string) bool { return strings.Join(path, ".") == column }) {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	slices.Sort(wanted)
	if !slices.Equal(got, wanted) {
		t.Errorf("string columns with bounds:\n%q\nwant\n%q", got, wanted)
	}
}

// TestTextIsNotInFooters plants a canary in every string of every table. It
// must be found where values are kept and nowhere else: no bounds, no page
// headers, no indexes.
func TestTextIsNotInFooters(t *testing.T) {
	const canary = "canary-7f3a9c51e2b84d06"
	path := t.TempDir()
	w, err := Create(path, sealed(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range makeRecords(rand.New(rand.NewPCG(3, 1)), 200) {
		plant(reflect.ValueOf(r).Elem(), canary)
		r.Bodies = append(r.Bodies, trace.Body{Side: trace.SideRequest, Body: []byte("{" + canary + "}")})
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.WriteCapture(&trace.CaptureWindow{Source: canary, LostByReason: map[string]int64{canary: 1}}); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteSample(&trace.Sample{Instance: canary, Metric: canary, RawName: new(canary), Reason: new(canary)}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	hits, err := leaktest.Find(path, [][]byte{[]byte(canary)})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hits {
		if !strings.HasPrefix(h.Where, "column ") && !strings.HasPrefix(h.Where, "dictionary of ") || strings.HasPrefix(h.Where, "column index") {
			t.Errorf("text outside the pages: %v", h)
		}
	}
	if len(hits) < 50 {
		t.Errorf("%d hits: the canary is not in every text column, so the test proves little", len(hits))
	}
}

// plant sets every string that is not an id or an enum.
func plant(v reflect.Value, canary string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if !slices.Contains(idColumns, columnName(v.Type().Field(i))) {
				plant(v.Field(i), canary)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			plant(v.Elem(), canary)
		}
	case reflect.Slice:
		for i := range v.Len() {
			plant(v.Index(i), canary)
		}
	case reflect.Map:
		if v.Type().Elem().Kind() == reflect.String {
			v.Set(reflect.ValueOf(map[string]string{canary: canary}))
		}
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			v.SetString(canary)
		}
	}
}

// TestTextColumnsHaveNoIndex guards dropTextIndexes: an index with empty
// bounds makes engines that prune by pages lose rows.
func TestTextColumnsHaveNoIndex(t *testing.T) {
	path := t.TempDir()
	w, err := Create(path, sealed(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range makeRecords(rand.New(rand.NewPCG(4, 1)), 200) {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for table, text := range map[string][][]string{tableRequests: textColumns[trace.Record](), tableBodies: textColumns[trace.Body]()} {
		file := filepath.Join(path, table, partName{host: defaultHost}.String())
		data, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = data.Close() }()
		info, err := data.Stat()
		if err != nil {
			t.Fatal(err)
		}
		// Read the page index too: it must be whole after the rewriting.
		f, err := parquet.OpenFile(data, info.Size())
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range chunks(f.Metadata()) {
			isText := slices.ContainsFunc(text, func(p []string) bool { return slices.Equal(p, c.MetaData.PathInSchema) })
			pages := f.OffsetIndexes()[i].PageLocations
			if len(pages) == 0 || pages[0].Offset < c.MetaData.DataPageOffset {
				t.Errorf("%s: offset index %v, data from %d", c.MetaData.PathInSchema, pages, c.MetaData.DataPageOffset)
			}
			if hasIndex := c.ColumnIndexLength > 0; hasIndex == isText {
				t.Errorf("%s: text %v, has a column index %v", c.MetaData.PathInSchema, isText, hasIndex)
			}
			if got := len(f.ColumnIndexes()[i].NullPages); !isText && got != len(pages) {
				t.Errorf("%s: column index of %d pages, want %d", c.MetaData.PathInSchema, got, len(pages))
			}
			if isText && (c.MetaData.Statistics.MinValue != nil || c.MetaData.Statistics.MaxValue != nil) {
				t.Errorf("%s: bounds in the footer", c.MetaData.PathInSchema)
			}
		}
	}
}

// TestEveryDoubleIsChecked sets each float64 that a row has to NaN and to
// infinities; none may be written (cases.md 14).
func TestEveryDoubleIsChecked(t *testing.T) {
	doubles := 0
	for _, leaf := range leafTypes() {
		if leaf.Node.Type().Kind() == parquet.Double {
			doubles++
		}
	}
	w, err := Create(t.TempDir(), sealed(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	tried := 0
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, column := range floatColumns(reflect.TypeFor[trace.Record]()) {
			r := new(trace.Record)
			setFloat(reflect.ValueOf(r).Elem(), column, bad)
			wantNotFinite(t, w.Write(r), column)
			tried++
		}
		for _, column := range floatColumns(reflect.TypeFor[trace.Features]()) {
			r := &trace.Record{Features: new(trace.Features)}
			setFloat(reflect.ValueOf(r.Features).Elem(), column, bad)
			wantNotFinite(t, w.Write(r), column)
			tried++
		}
		wantNotFinite(t, w.WriteSample(&trace.Sample{Value: &bad}), "value")
		tried++
	}
	if tried != 3*doubles {
		t.Errorf("tried %d values for %d DOUBLE columns", tried, doubles)
	}
	if err := w.Write(new(trace.Record)); err != nil {
		t.Errorf("a good row after refused ones: %v", err)
	}
}

func wantNotFinite(t *testing.T, err error, column string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), `"`+column+`"`) || !strings.Contains(err.Error(), ErrNotFinite.Error()) {
		t.Errorf("column %s: error %v, want one that names it", column, err)
	}
}

func floatColumns(t reflect.Type) (names []string) {
	for _, f := range columnFields(t) {
		if f.Type == reflect.TypeFor[float64]() || f.Type == reflect.TypeFor[*float64]() {
			names = append(names, columnName(f))
		}
	}
	return names
}

func setFloat(v reflect.Value, column string, value float64) {
	for _, f := range columnFields(v.Type()) {
		if columnName(f) != column {
			continue
		}
		if f.Type.Kind() == reflect.Pointer {
			v.FieldByIndex(f.Index).Set(reflect.ValueOf(&value))
		} else {
			v.FieldByIndex(f.Index).SetFloat(value)
		}
	}
}
