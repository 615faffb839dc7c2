package sanitizer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxPolicy bounds a policy file, bytes: the default one has 30 kB.
const maxPolicy = 1 << 20

// ParsePolicy reads the YAML form of a policy; file is its name in errors. A
// policy that extends another adds to its lists; what it gives to a name that
// is there replaces that. Errors are [*PolicyError] with line and column.
func ParsePolicy(file string, text []byte) (Policy, error) {
	if len(text) > maxPolicy {
		return Policy{}, &PolicyError{File: file, Problem: fmt.Sprintf("%d bytes are too many", len(text)), Try: "a policy has at most 1 MiB"}
	}
	var p Policy
	tree, err := decodeYAML(text, &p)
	if err != nil {
		return Policy{}, yamlError(file, err)
	}
	if len(tree.Docs) != 1 || tree.Docs[0].Body == nil || tree.Docs[0].Body.Type() == ast.NullType {
		return Policy{}, &PolicyError{File: file, Problem: "does not hold one document", Try: "write one; lambdac sanitize --print-policy shows how"}
	}
	p, err = p.resolve()
	if err == nil {
		err = p.check()
	}
	if wrong, ok := errors.AsType[*PolicyError](err); ok {
		wrong.File = file
		wrong.Line, wrong.Column = position(tree.Docs[0].Body, wrong.at)
	}
	return p, err
}

// decodeYAML is the library's work. It panics on some texts that are no YAML:
// a tag without a value is enough.
func decodeYAML(text []byte, p *Policy) (tree *ast.File, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("no YAML that can be read")
		}
	}()
	if tree, err = parser.ParseBytes(text, 0); err != nil {
		return nil, err
	}
	if err = yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(p); errors.Is(err, io.EOF) {
		err = nil // nothing in it
	}
	return tree, err
}

// resolve joins the policy of a file with the one that it extends.
func (p Policy) resolve() (Policy, error) {
	if p.Schema == "" {
		return p, wrong([]any{"schema"}, "write schema: "+PolicySchema, "the policy does not say its schema")
	}
	if p.Name == "" {
		return p, wrong([]any{"name"}, "write name: and a word for people", "the policy has no name")
	}
	if p.Extends == "" {
		return p, nil
	}
	base, ok := BuiltinPolicy(p.Extends)
	if !ok {
		return p, wrong([]any{"extends"}, "use one of "+strings.Join(BuiltinPolicies(), ", "), "no policy is called %q", p.Extends)
	}
	return base.with(p), nil
}

// with is the policy with another's rules added.
func (p Policy) with(more Policy) Policy {
	p.Schema, p.Name = more.Schema, more.Name
	add(&p.DropHeaders, more.DropHeaders)
	add(&p.LinkHeaders, more.LinkHeaders)
	add(&p.DropQuery, more.DropQuery)
	add(&p.PathWords, more.PathWords)
	add(&p.PathParents, more.PathParents)
	add(&p.Body.Drop, more.Body.Drop)
	add(&p.Body.Pseudonym, more.Body.Pseudonym)
	add(&p.Body.JSON, more.Body.JSON)
	add(&p.Body.Text, more.Body.Text)
	add(&p.Detect.Off, more.Detect.Off)
	add(&p.Detect.Terms, more.Detect.Terms)
	add(&p.Models, more.Models)
	add(&p.Words, more.Words)
	add(&p.NameParts, more.NameParts)
	add(&p.ModelParts, more.ModelParts)
	add(&p.WordParts, more.WordParts)
	p.Headers = joined(p.Headers, more.Headers)
	p.Query = joined(p.Query, more.Query)
	p.Body.Keep = joined(p.Body.Keep, more.Body.Keep)
	// The policy's own sources come first.
	p.Tenant = slices.Concat(more.Tenant, p.Tenant)
	p.Session = slices.Concat(more.Session, p.Session)
	return p
}

// add puts the items first, so that their numbers are those of the file.
func add(list *[]string, more []string) { *list = slices.Concat(more, *list) }

func joined(base, more map[string]Grammar) map[string]Grammar {
	all := maps.Clone(base)
	if all == nil {
		all = make(map[string]Grammar)
	}
	maps.Copy(all, more)
	return all
}

// yamlError gives an error of the YAML library a place and a remedy.
func yamlError(file string, err error) error {
	e := &PolicyError{File: file, Problem: "is no policy", Try: "lambdac sanitize --print-policy shows the form"}
	from, ok := errors.AsType[yaml.Error](err)
	if !ok {
		return e
	}
	e.Problem = strings.ReplaceAll(from.GetMessage(), "\n", " ")
	if tk := from.GetToken(); tk != nil && tk.Position != nil {
		e.Line, e.Column = tk.Position.Line, tk.Position.Column
	}
	if _, unknown := errors.AsType[*yaml.UnknownFieldError](err); unknown {
		e.Try = "use " + strings.Join(policyKeys(), ", ")
	}
	return e
}

// policyKeys are the names of the rules.
func policyKeys() []string {
	return []string{
		"schema", "name", "extends", "drop_headers", "link_headers", "headers", "drop_query", "query", "path_words",
		"path_parents", "body {drop, pseudonym, keep, json, text}", "detect {off, terms}", "tenant", "session", "models", "words",
		"name_parts", "model_parts", "word_parts",
	}
}

// position is line and column of the key or item at a path in the document;
// of as much of it as is there; 0 where nothing is.
func position(node ast.Node, at []any) (line, column int) {
	for _, part := range at {
		var tk *token.Token
		if node, tk = child(node, part); tk == nil {
			break
		}
		line, column = tk.Position.Line, tk.Position.Column
	}
	return line, column
}

// child is the value under a key or index, and the token where it begins.
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
			return n.Values[i], n.Values[i].GetToken()
		}
	}
	return nil, nil
}
