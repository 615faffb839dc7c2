// Package jsonschema makes the published JSON Schemas from the structs that
// are marshalled, and checks documents against them. It is for tests only.
package jsonschema

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Published holds the schema file at path and the type of value together: it
// fails where they differ, and writes the file where the test binary has a
// flag -update that is set. id is the document's field "schema". sources are
// the folders in whose Go files the types are declared; comments become
// descriptions, and constants of a string type its values.
//
// Every document has the fields schema, version and warnings.
func Published(tb testing.TB, path, id string, value any, sources ...string) {
	tb.Helper()
	m := maker{Read(tb, sources...)}
	doc := m.schemaOf(reflect.TypeOf(value))
	for _, name := range []string{"schema", "version", "warnings"} {
		if !contains(doc["required"], name) {
			tb.Errorf("%T has no field %q that is always there", value, name)
		}
	}
	doc["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	doc["title"] = id
	doc["properties"].(map[string]any)["schema"] = map[string]any{"const": id}
	got, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		tb.Fatal(err)
	}
	PublishedFile(tb, path, string(append(got, '\n')))
}

// PublishedInput is [Published] for a file that people write: no field but
// those without omitempty has to be there, and no other may be.
func PublishedInput(tb testing.TB, path, id string, value any, sources ...string) {
	tb.Helper()
	m := maker{Read(tb, sources...)}
	doc := m.schemaOf(reflect.TypeOf(value))
	closeObjects(doc)
	doc["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	doc["title"] = id
	got, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		tb.Fatal(err)
	}
	PublishedFile(tb, path, string(append(got, '\n')))
}

// closeObjects allows no property beside those of the structs.
func closeObjects(schema map[string]any) {
	properties, ok := schema["properties"].(map[string]any)
	if ok {
		schema["additionalProperties"] = false
	}
	for _, s := range properties {
		closeObjects(s.(map[string]any))
	}
	if items, ok := schema["items"].(map[string]any); ok {
		closeObjects(items)
	}
}

// PublishedFile fails where the file at path is not the text that was made for
// it, and writes it where the test binary has a flag -update that is set.
func PublishedFile(tb testing.TB, path, text string) {
	tb.Helper()
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	published, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if diff := cmp.Diff(string(published), text); diff != "" {
		tb.Errorf("%s is not what the types are (-published +now); go test -run %s -update writes it anew:\n%s", path, tb.Name(), diff)
	}
}

// maker turns types into schemas.
type maker struct{ src *Source }

func (m *maker) schemaOf(typ reflect.Type) map[string]any {
	switch typ.Kind() {
	case reflect.Pointer:
		s := m.schemaOf(typ.Elem())
		s["type"] = []any{s["type"], "null"}
		return s
	case reflect.Slice:
		return map[string]any{"type": "array", "items": m.schemaOf(typ.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": m.schemaOf(typ.Elem())}
	case reflect.Struct:
		return m.structSchema(typ)
	case reflect.String:
		s := map[string]any{"type": "string"}
		if values := m.src.Values[typ.String()]; len(values) > 0 {
			s["enum"] = values
		}
		return s
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Interface:
		return map[string]any{} // anything
	case reflect.Float64:
		return map[string]any{"type": "number"}
	default:
		return map[string]any{"type": "integer"}
	}
}

func (m *maker) structSchema(typ reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for field := range typ.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		s := m.schemaOf(field.Type)
		if types := field.Tag.Get("schema"); types != "" { // what people may write for it
			s["type"] = strings.Split(types, ",")
		}
		if comment := m.src.Comments[typ.String()+"."+field.Name]; comment != "" {
			s["description"] = comment
		}
		properties[name] = s
		if options != "omitempty" && options != "omitzero" {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}
