// Package yamlfile reads the YAML files that people write for this program:
// one document, bounded in size, unknown keys refused, no anchors, and every
// fault at its line and column.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Error is a fault of a file at its place, which counts from 1.
type Error struct {
	File         string
	Line, Column int
	Err          error
}

func (e *Error) Error() string {
	return fmt.Sprintf("read %q: line %d, column %d: %v", e.File, e.Line, e.Column, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// File is a file that was read, in which places can be looked up.
type File struct {
	name string
	tree *ast.File
}

// Read decodes the file at a path, of at most maxBytes bytes, into dst, a
// pointer to a struct. Nothing in the file leaves dst as it is. Errors are
// [*Error], or those of opening and reading the file.
func Read(path string, maxBytes int64, dst any) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read file: %w", err)
	case int64(len(text)) > maxBytes:
		return nil, &Error{path, 1, 1, fmt.Errorf("larger than %d bytes", maxBytes)}
	}
	return Decode(path, text, dst)
}

// Decode is [Read] of a text; name stands for it in errors.
func Decode(name string, text []byte, dst any) (*File, error) {
	tree, err := parse(text)
	if err != nil {
		return nil, placed(name, err)
	}
	f := &File{name, tree}
	for i, doc := range tree.Docs {
		if i > 0 && doc.Body != nil {
			return nil, f.at(start(doc.Body), errors.New("a second document: want one"))
		}
	}
	var refused refusal
	for _, doc := range tree.Docs {
		if doc.Body != nil {
			ast.Walk(&refused, doc.Body)
		}
	}
	if refused.node != nil {
		return nil, f.at(refused.node.GetToken(), errors.New("anchors and aliases are not read: write the value out"))
	}
	if err := decode(text, dst); err != nil {
		return nil, placed(name, err)
	}
	return f, nil
}

// refusal finds what lets a small file stand for a huge one.
type refusal struct{ node ast.Node }

func (r *refusal) Visit(node ast.Node) ast.Visitor {
	switch node.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		if r.node == nil {
			r.node = node
		}
	}
	return r
}

// errUnreadable stands for a panic of the library, which some texts that are
// no YAML cause: a tag without a value is enough.
var errUnreadable = errors.New("this is no YAML that can be read")

func parse(text []byte) (tree *ast.File, err error) {
	defer func() {
		if recover() != nil {
			err = errUnreadable
		}
	}()
	return parser.ParseBytes(text, 0)
}

func decode(text []byte, dst any) (err error) {
	defer func() {
		if recover() != nil {
			err = errUnreadable
		}
	}()
	err = yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(dst)
	if errors.Is(err, io.EOF) {
		err = nil // nothing in it
	}
	return err
}

// placed is an error of the library with the place it knows.
func placed(name string, err error) error {
	if broken, ok := errors.AsType[yaml.Error](err); ok && broken.GetToken() != nil {
		at := broken.GetToken().Position
		return &Error{name, at.Line, at.Column, errors.New(oneLine(broken.GetMessage()))}
	}
	return &Error{name, 1, 1, errors.New(oneLine(err.Error()))}
}

// oneLine is a message of the library without its drawing of the place.
func oneLine(message string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	return first
}

// At is an error in the value at a path, such as "$.load.levels[2]"; where that
// is not there, in the nearest thing around it.
func (f *File) At(path string, err error) error {
	for ; path != "$" && path != ""; path = path[:max(strings.LastIndexAny(path, ".["), 0)] {
		p, bad := yaml.PathString(path)
		if bad != nil {
			continue
		}
		if node, bad := p.FilterFile(f.tree); bad == nil && node != nil {
			return f.at(start(node), err)
		}
	}
	return &Error{f.name, 1, 1, err}
}

// AtKey is an error in the key or list item at a path of names and indexes; where
// that is not there, in the nearest thing around it. Names may have any letters.
func (f *File) AtKey(path []any, err error) error {
	var place *token.Token
	for _, doc := range f.tree.Docs {
		node := doc.Body
		for _, part := range path {
			var begins *token.Token
			if node, begins = child(node, part); begins == nil {
				break
			}
			place = begins
		}
	}
	return f.at(place, err)
}

// child is the value under a name or index, and the token where its key or it
// begins.
func child(node ast.Node, part any) (ast.Node, *token.Token) {
	switch n := node.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			if v.Key.GetToken().Value == part {
				return v.Value, v.Key.GetToken()
			}
		}
	case *ast.MappingValueNode:
		if n.Key.GetToken().Value == part {
			return n.Value, n.Key.GetToken()
		}
	case *ast.SequenceNode:
		if i, ok := part.(int); ok && i < len(n.Values) {
			return n.Values[i], start(n.Values[i])
		}
	}
	return nil, nil
}

func (f *File) at(t *token.Token, err error) error {
	if t == nil || t.Position == nil {
		return &Error{f.name, 1, 1, err}
	}
	return &Error{f.name, t.Position.Line, t.Position.Column, err}
}

// start is where a value begins; the library's token of a mapping is the colon
// behind its first key.
func start(node ast.Node) *token.Token {
	if m, ok := node.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken()
	}
	return node.GetToken()
}
