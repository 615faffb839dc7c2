package deptest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestSkips: a test is skipped by internal/testenv and in no other way, so
// that every skip names what is missing and CI can forbid it.
func TestSkips(t *testing.T) {
	const root = "../.."
	files := token.NewFileSet()
	seen := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testenv" || len(d.Name()) > 2 && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		seen++
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && skips(call) {
				t.Errorf("%s: skip through internal/testenv", files.Position(call.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil || seen < 50 {
		t.Fatalf("read %d test files: %v", seen, err)
	}
}

// skips reports whether a call is that of a skipping method of testing.TB or
// of testing.Short.
func skips(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	on, ok := method.X.(*ast.Ident)
	if !ok {
		return false
	}
	switch method.Sel.Name {
	case "Skip", "Skipf", "SkipNow":
		return on.Name == "t" || on.Name == "b" || on.Name == "f" || on.Name == "tb"
	case "Short":
		return on.Name == "testing"
	}
	return false
}
