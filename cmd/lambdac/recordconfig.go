package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
	"github.com/spf13/pflag"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/trace"
)

// recordConfig is the file of record --config: YAML whose keys are named as the
// flags, with _ for -. A flag that is given goes before its key.
type recordConfig struct {
	// Iface is the network interface to capture from, or any.
	Iface string `json:"iface,omitempty"`
	// Port lists the server's ports, 1 to 65535.
	Port []int `json:"port,omitempty"`
	// TLSKeyLog is the path of a file of TLS secrets, as seen from the folder
	// in which the program runs.
	TLSKeyLog string `json:"tls_keylog,omitempty"`
	// BodyCap bounds what is read of one body, in bytes, above 0.
	BodyCap *int64 `json:"body_cap,omitempty"`
	// Mode says what to keep of texts.
	Mode trace.Mode `json:"mode,omitempty"`
	// Policy is a file of what is kept, as seen from the folder in which the
	// program runs, or the name of a policy.
	Policy string `json:"policy,omitempty"`
	// Vantage is where the packets were seen.
	Vantage trace.Vantage `json:"vantage,omitempty"`
	// APIRules say what requests to paths are. Those given by flag are tried
	// before them, and of them the first that fits is believed.
	APIRules []apiRule `json:"api_rules,omitempty"`
}

// apiRule is a rule in a file.
type apiRule struct {
	// Path is the whole path of a request without its query; * stands for any
	// one segment, or a part of it.
	Path string `json:"path"`
	// Kind is the API family, or other.
	Kind trace.APIKind `json:"kind"`
}

// maxConfig bounds a configuration file; those of people are a tenth.
const maxConfig = 64 << 10

// configError is a fault of a configuration file at its place, counted from 1.
type configError struct {
	file         string
	line, column int
	err          error
}

func (e *configError) Error() string {
	return fmt.Sprintf("read config %q: line %d, column %d: %v", e.file, e.line, e.column, e.err)
}

func (e *configError) Unwrap() error { return e.err }

// readConfig reads a file into the flags that were not given.
func (o *recordFlags) readConfig(name string, flags *pflag.FlagSet) error {
	var c recordConfig
	tree, err := readYAML(name, &c)
	if err != nil {
		return err
	}
	for _, row := range c.settings() {
		flag := flags.Lookup(row.flag)
		if flag.Changed {
			continue
		}
		for _, value := range row.values {
			if err := flags.Set(row.flag, value); err != nil {
				return misplaced(name, tree, "$."+row.key, err)
			}
		}
		if err := row.check(o); err != nil {
			return misplaced(name, tree, "$."+row.key, err)
		}
	}
	for i, rule := range c.APIRules {
		rule := llmwire.Rule(rule)
		if err := rule.Check(); err != nil {
			return misplaced(name, tree, fmt.Sprintf("$.api_rules[%d]", i), err)
		}
		o.fileRules = append(o.fileRules, rule)
	}
	return nil
}

// setting is a key of the file and the flag that it stands for.
type setting struct {
	key, flag string
	values    []string // none = the key is not there
	check     func(*recordFlags) error
}

func (c *recordConfig) settings() []setting {
	return []setting{
		{"iface", "iface", given(c.Iface), free},
		{"port", "port", each(c.Port), (*recordFlags).checkPorts},
		{"tls_keylog", "tls-keylog", given(c.TLSKeyLog), free},
		{"body_cap", "body-cap", counted(c.BodyCap), (*recordFlags).checkBodyCap},
		{"mode", "mode", given(string(c.Mode)), (*recordFlags).checkMode},
		{"policy", "policy", given(c.Policy), free},
		{"vantage", "vantage", given(string(c.Vantage)), (*recordFlags).checkVantage},
	}
}

func free(*recordFlags) error { return nil }

func given(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func counted(n *int64) []string {
	if n == nil {
		return nil
	}
	return []string{strconv.FormatInt(*n, 10)}
}

func each(list []int) (values []string) {
	for _, n := range list {
		values = append(values, strconv.Itoa(n))
	}
	return values
}

// readYAML decodes a file of one document strictly, and returns its tree, in
// which places are looked up.
func readYAML(name string, dst any) (*ast.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read config: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read config: %w", err)
	case len(text) > maxConfig:
		return nil, &configError{name, 1, 1, fmt.Errorf("larger than %d bytes", maxConfig)}
	}
	tree, err := decodeYAML(text, dst)
	if err != nil {
		return nil, placed(name, err)
	}
	for i, doc := range tree.Docs {
		if i > 0 && doc.Body != nil {
			at := start(doc.Body).Position
			return nil, &configError{name, at.Line, at.Column, errors.New("a second document: want one")}
		}
	}
	return tree, nil
}

// decodeYAML is the library's work. It panics on some texts that are no YAML:
// a tag without a value is enough.
func decodeYAML(text []byte, dst any) (tree *ast.File, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("this is no YAML that can be read")
		}
	}()
	if tree, err = parser.ParseBytes(text, 0); err != nil {
		return nil, err
	}
	if err = yaml.UnmarshalWithOptions(text, dst, yaml.Strict()); errors.Is(err, io.EOF) {
		err = nil // nothing in it
	}
	return tree, err
}

// placed is an error of the YAML library with the place it knows.
func placed(name string, err error) error {
	var broken yaml.Error
	if errors.As(err, &broken) && broken.GetToken() != nil {
		at := broken.GetToken().Position
		return &configError{name, at.Line, at.Column, errors.New(broken.GetMessage())}
	}
	return &configError{name, 1, 1, err}
}

// misplaced is an error in the value at a path of the tree.
func misplaced(name string, tree *ast.File, path string, err error) error {
	if told := (*exitError)(nil); errors.As(err, &told) {
		err = told.err
	}
	p, bad := yaml.PathString(path)
	if bad != nil {
		return fmt.Errorf("read config %q: %s: %w", name, path, err)
	}
	node, bad := p.FilterFile(tree)
	if bad != nil {
		return fmt.Errorf("read config %q: %s: %w", name, path, err)
	}
	at := start(node).Position
	return &configError{name, at.Line, at.Column, err}
}

// start is where a value begins; the library's token of a mapping is the colon
// behind its first key.
func start(node ast.Node) *token.Token {
	if m, ok := node.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken()
	}
	return node.GetToken()
}
