package tracedir

import (
	"reflect"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/lambdac/lambdac/trace"
)

// The tables are the folders of a trace directory.
const (
	tableRequests  = "requests"
	tableFeatures  = "features"
	tableBodies    = "bodies"
	tableCapture   = "capture"
	tableTelemetry = "telemetry"
)

// tableNames lists every table. Parts of one moment are closed in this order:
// a request that is on disk has its features and bodies there too, and a
// capture row never speaks of exchanges that are not.
var tableNames = []string{tableBodies, tableFeatures, tableRequests, tableCapture, tableTelemetry}

// idColumns are strings of our own making without text in them: their bounds
// may stand in a footer.
var idColumns = []string{"request_id", "session_id", "parent_request_id", "retry_of"}

// textColumns returns the paths of the columns of T that can hold text, which
// get no statistics. It is decided by the Go type, and closed by default: a
// byte array is text unless it is an enum of package trace or a known id.
func textColumns[T any]() [][]string {
	schema := parquet.SchemaOf(new(T))
	enums := enumColumns(reflect.TypeFor[T]())
	var paths [][]string
	for _, path := range schema.Columns() {
		leaf, _ := schema.Lookup(path...)
		if k := leaf.Node.Type().Kind(); k != parquet.ByteArray && k != parquet.FixedLenByteArray {
			continue
		}
		if len(path) == 1 && (enums[path[0]] || slices.Contains(idColumns, path[0])) {
			continue
		}
		paths = append(paths, path)
	}
	return paths
}

// enumColumns are the top-level columns whose type is a string type of
// package trace.
func enumColumns(t reflect.Type) map[string]bool {
	home := reflect.TypeFor[trace.Outcome]().PkgPath()
	enums := make(map[string]bool)
	for _, f := range columnFields(t) {
		ft := f.Type
		if ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		}
		if ft.Kind() == reflect.String && ft.PkgPath() == home {
			enums[columnName(f)] = true
		}
	}
	return enums
}

// columnFields are the fields of t that are columns, those of embedded
// structs among them.
func columnFields(t reflect.Type) []reflect.StructField {
	var fields []reflect.StructField
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous || !f.IsExported() || columnName(f) == "-" {
			continue
		}
		fields = append(fields, f)
	}
	return fields
}

// columnName is the name of the column that a field is stored in.
func columnName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("parquet"), ",")
	if name == "" {
		return f.Name
	}
	return name
}

// metadata are the key-value pairs of a part's footer.
func metadata(table string, m *trace.Manifest) map[string]string {
	kv := map[string]string{
		"table":          table,
		"schema_version": itoa(m.SchemaVersion),
		"trace_id":       m.TraceID,
		"origin":         string(m.Origin),
		"time_base":      string(m.TimeBase),
		"semconv":        m.Semconv,
		"version":        m.Version,
	}
	if m.Seal != nil {
		kv["sanitizer_mode"] = string(m.Seal.Mode)
		kv["sanitizer_version"] = m.Seal.Version
		kv["policy_hash"] = m.Seal.PolicyHash
	}
	if m.Source != nil {
		kv["source_format"] = m.Source.Format
		kv["source_sha256"] = m.Source.SHA256
		kv["source_license"] = m.Source.License
	}
	return kv
}
