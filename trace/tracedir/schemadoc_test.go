package tracedir

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/lambdac/lambdac/internal/jsonschema"
	"github.com/lambdac/lambdac/trace"
)

// docTables are the tables in the order of docs/schema.md.
var docTables = []struct {
	name string
	row  any
	what string
}{
	{tableRequests, trace.Record{}, "One row per exchange of a recording, per scheduled request of a replay."},
	{tableFeatures, trace.Features{}, "Numbers taken from texts that are not kept."},
	{tableBodies, trace.Body{}, "Sanitized texts, only in modes that keep them."},
	{tableCapture, trace.CaptureWindow{}, "One row per second and source: what was seen, and what was lost."},
	{tableTelemetry, trace.Sample{}, "One row per reading of a gauge or counter."},
}

// TestSchemaDocument holds docs/schema.md, which is made from the struct tags
// and their comments.
func TestSchemaDocument(t *testing.T) {
	src := jsonschema.Read(t, "..")
	cell := strings.NewReplacer("|", "\\|", "nil", "NULL")
	var b strings.Builder
	fmt.Fprintf(&b, "# Parquet schema, version %d\n\nMade from the types of package trace by its test; a `?` marks a column that can be NULL, which means unknown. Every time `t_*_us` counts from the start, which is when the exchange was due. OTel names are those of the GenAI conventions v0.1.0 and of the stable ones.\n", trace.SchemaVersion)
	for _, table := range docTables {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| column | type | unit | OTel name | meaning |\n|---|---|---|---|---|\n", table.name, table.what)
		typ := reflect.TypeOf(table.row)
		schema := parquet.SchemaOf(table.row)
		names := docNames(typ)
		for field := range docFields(typ) {
			node := nodeOf(t, schema, columnName(field.StructField))
			name := columnName(field.StructField)
			if node.Optional() {
				name += "?"
			}
			meaning := src.Comments[field.owner+"."+field.Name]
			if meaning == "" {
				t.Errorf("column %s of %s has no meaning: comment its field", name, table.name)
			}
			otel := strings.Join(slices.Compact(otelName.FindAllString(meaning, -1)), ", ")
			if values := src.Values[strings.TrimPrefix(field.Type.String(), "*")]; len(values) > 0 {
				meaning = strings.TrimSpace(meaning + " Values: " + strings.Join(values, ", ") + ".")
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", name, docType(node), docUnit(columnName(field.StructField)), otel, cell.Replace(names(meaning)))
		}
	}
	b.WriteString("\n## Numbers\n" + docNumbers[trace.Role]("messages.role") + docNumbers[trace.ChunkKind]("chunks.kind"))
	fmt.Fprintf(&b, "\n`chunks.flags`: sum of %d shares its packet, write or read with the chunk before, %d time interpolated, %d after lost bytes.\n",
		trace.FlagCoalesced, trace.FlagTimeEstimated, trace.FlagAfterGap)
	jsonschema.PublishedFile(t, "../../docs/schema.md", b.String())
}

// otelName is a name of OpenTelemetry's conventions in a comment.
var otelName = regexp.MustCompile(`\b(gen_ai|http|url|server|error|openai)\.[a-z][a-z_.]*[a-z]\b`)

// docUnit is the unit that stands in a column's name.
func docUnit(column string) string {
	for _, unit := range []struct{ ending, name string }{
		{"_us", "µs"},
		{"_ns", "ns"},
		{"_ms", "ms"},
		{"_ts", "µs"},
		{"bytes", "bytes"},
		{"_tokens", "tokens"},
		{"bytes_seen", "bytes"},
		{"bytes_lost", "bytes"},
		{"lost_bytes_req", "bytes"},
		{"lost_bytes_resp", "bytes"},
	} {
		if strings.HasSuffix(column, unit.ending) {
			return unit.name
		}
	}
	return ""
}

// docField is a column's field and the type that declares it.
type docField struct {
	reflect.StructField
	owner string
}

// docFields visits the columns in order, through embedded groups.
func docFields(typ reflect.Type) func(func(docField) bool) {
	return func(yield func(docField) bool) {
		for f := range typ.Fields() {
			switch {
			case f.Anonymous:
				for inner := range docFields(f.Type) {
					if !yield(inner) {
						return
					}
				}
			case columnName(f) != "-":
				if !yield(docField{f, typ.String()}) {
					return
				}
			}
		}
	}
}

// docNames returns a function that puts column names for field names.
func docNames(typ reflect.Type) func(string) string {
	columns, names := make(map[string]string), []string{}
	for f := range docFields(typ) {
		columns[f.Name] = "`" + columnName(f.StructField) + "`"
		names = append(names, f.Name)
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	word := regexp.MustCompile(`\b(` + strings.Join(names, "|") + `)\b`)
	return func(text string) string {
		return word.ReplaceAllStringFunc(text, func(name string) string {
			if len(name) == 1 { // "N" is a word of its own in formulas
				return name
			}
			return columns[name]
		})
	}
}

func nodeOf(t *testing.T, schema *parquet.Schema, column string) parquet.Node {
	t.Helper()
	for _, f := range schema.Fields() {
		if f.Name() == column {
			return f
		}
	}
	t.Fatalf("no column %q", column)
	return nil
}

// docType names a column's type as SQL engines show it.
func docType(node parquet.Node) string {
	if node.Leaf() {
		return leafType(node)
	}
	logical := node.Type().LogicalType()
	fields := node.Fields()
	switch {
	case logical != nil && strings.HasPrefix(logical.String(), "LIST"):
		return "LIST<" + docType(fields[0].Fields()[0]) + ">"
	case logical != nil && strings.HasPrefix(logical.String(), "MAP"):
		pair := fields[0].Fields()
		return "MAP<" + docType(pair[0]) + ", " + docType(pair[1]) + ">"
	}
	var parts []string
	for _, f := range fields {
		name := f.Name()
		if f.Optional() {
			name += "?"
		}
		parts = append(parts, name+" "+docType(f))
	}
	return "STRUCT<" + strings.Join(parts, ", ") + ">"
}

func leafType(node parquet.Node) string {
	logical := node.Type().LogicalType()
	if logical == nil {
		return node.Type().String()
	}
	return strings.NewReplacer(
		"INT(8,true)", "INT8", "INT(32,true)", "INT32", "INT(64,true)", "INT64",
		"TIMESTAMP(isAdjustedToUTC=true,unit=MICROS)", "TIMESTAMP(MICROS,UTC)",
	).Replace(logical.String())
}

// docNumbers lists what the numbers of an enum mean: up to the first name that
// was there before, which is that of numbers without a name.
func docNumbers[T interface {
	~int8
	fmt.Stringer
}](column string,
) string {
	var names []string
	for k := T(0); !slices.Contains(names, k.String()); k++ {
		names = append(names, k.String())
	}
	for k := range names {
		names[k] = fmt.Sprintf("%d %s", k, names[k])
	}
	return fmt.Sprintf("\n`%s`: %s.\n", column, strings.Join(names, ", "))
}
