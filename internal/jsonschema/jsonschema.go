// Package jsonschema makes the published JSON Schemas from the structs that
// are marshalled, and checks documents against them. It is for tests only.
package jsonschema

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
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
	m := maker{comments: make(map[string]string), values: make(map[string][]string)}
	for _, dir := range sources {
		m.read(tb, dir)
	}
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
	got = append(got, '\n')
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		tb.Errorf("%s is not what %T is (-published +now); go test -run %s -update writes it anew:\n%s", path, value, tb.Name(), diff)
	}
}

// maker holds what source files say of types: comments of fields under
// "package.Type.Field", values of constants under "package.Type".
type maker struct {
	comments map[string]string
	values   map[string][]string
}

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
		if values := m.values[typ.String()]; len(values) > 0 {
			s["enum"] = values
		}
		return s
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
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
		if comment := m.comments[typ.String()+"."+field.Name]; comment != "" {
			s["description"] = comment
		}
		properties[name] = s
		if options != "omitempty" {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

// read takes in the Go files of a folder, tests left out.
func (m *maker) read(tb testing.TB, dir string) {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no Go files in %q (%v)", dir, err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			tb.Fatal(err)
		}
		name := parsed.Name.Name + "."
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch spec := n.(type) {
			case *ast.TypeSpec:
				m.readFields(name, spec)
			case *ast.ValueSpec:
				m.readValues(name, spec)
			}
			return true
		})
	}
}

func (m *maker) readFields(in string, spec *ast.TypeSpec) {
	body, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range body.Fields.List {
		for _, name := range field.Names {
			m.comments[in+spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
		}
	}
}

func (m *maker) readValues(in string, spec *ast.ValueSpec) {
	typ, ok := spec.Type.(*ast.Ident)
	if !ok {
		return
	}
	for _, value := range spec.Values {
		if lit, ok := value.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				m.values[in+typ.Name] = append(m.values[in+typ.Name], text)
			}
		}
	}
}
