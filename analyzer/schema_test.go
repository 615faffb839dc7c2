package analyzer

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the published schemas")

// The published JSON Schemas are made from the structs and their comments, so
// that they cannot drift apart.
func TestPublishedSchemas(t *testing.T) {
	comments := fieldComments(t, "analysis.go", "summary.go")
	tests := []struct {
		file, id string
		value    any
	}{
		{"analysis.v1.json", AnalysisSchema, Analysis{}},
		{"summary.v1.json", SummarySchema, Summary{}},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			doc := schemaOf(reflect.TypeOf(test.value), comments)
			doc["$schema"] = "https://json-schema.org/draft/2020-12/schema"
			doc["title"] = test.id
			doc["properties"].(map[string]any)["schema"] = map[string]any{"const": test.id}
			got, err := json.MarshalIndent(doc, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			path := filepath.Join("..", "docs", "schema", test.file)
			if *update {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("the structs and %s differ; go test ./analyzer -run Schemas -update writes it anew:\n%s", path, diff)
			}
		})
	}
}

// schemaOf describes a type as it is marshalled.
func schemaOf(typ reflect.Type, comments map[string]string) map[string]any {
	switch typ.Kind() {
	case reflect.Pointer:
		s := schemaOf(typ.Elem(), comments)
		s["type"] = []any{s["type"], "null"}
		return s
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(typ.Elem(), comments)}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(typ.Elem(), comments)}
	case reflect.Struct:
		return structSchema(typ, comments)
	case reflect.String:
		s := map[string]any{"type": "string"}
		if typ == reflect.TypeFor[Verdict]() {
			s["enum"] = []Verdict{Found, NotFound, Insufficient}
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

func structSchema(typ reflect.Type, comments map[string]string) map[string]any {
	properties, required := map[string]any{}, []string{}
	for field := range typ.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		s := schemaOf(field.Type, comments)
		if comment := comments[typ.Name()+"."+field.Name]; comment != "" {
			s["description"] = comment
		}
		properties[name] = s
		if options != "omitempty" {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

// fieldComments reads the comments of struct fields: "Type.Field" → text.
func fieldComments(t *testing.T, files ...string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if body, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range body.Fields.List {
					for _, name := range field.Names {
						out[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
					}
				}
			}
			return true
		})
	}
	return out
}
