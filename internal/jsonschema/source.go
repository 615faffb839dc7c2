package jsonschema

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Source is what Go files say of the types in them.
type Source struct {
	// Comments are those of fields, under "package.Type.Field".
	Comments map[string]string
	// Values are those of a string type's constants, under "package.Type".
	Values map[string][]string
}

// Read takes in the Go files of folders, tests left out.
func Read(tb testing.TB, dirs ...string) *Source {
	tb.Helper()
	s := &Source{Comments: make(map[string]string), Values: make(map[string][]string)}
	for _, dir := range dirs {
		s.read(tb, dir)
	}
	return s
}

func (s *Source) read(tb testing.TB, dir string) {
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
				s.readFields(name, spec)
			case *ast.ValueSpec:
				s.readValues(name, spec)
			}
			return true
		})
	}
}

func (s *Source) readFields(in string, spec *ast.TypeSpec) {
	body, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range body.Fields.List {
		for _, name := range field.Names {
			s.Comments[in+spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
		}
	}
}

func (s *Source) readValues(in string, spec *ast.ValueSpec) {
	typ, ok := spec.Type.(*ast.Ident)
	if !ok {
		return
	}
	for _, value := range spec.Values {
		if lit, ok := value.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				s.Values[in+typ.Name] = append(s.Values[in+typ.Name], text)
			}
		}
	}
}
