package fault

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// node is a JSON value that can be changed. What is not changed is written as
// it was read, but for blanks between tokens.
type node struct {
	kind    jsontext.Kind // '{', '[', '"', '0', 't', 'f', 'n'
	raw     []byte        // of a string, number or literal
	members []member
	items   []*node
}

type member struct {
	raw   []byte // of the name
	name  string
	value *node
}

// parseJSON reads one JSON text. Names that come twice and invalid UTF-8 pass,
// since services send them and clients read them.
func parseJSON(text []byte) (*node, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	n, err := readNode(d)
	if err != nil {
		return nil, fmt.Errorf("read json: %w", err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read json: more behind the value")
	}
	return n, nil
}

// readNode reads the next value. The decoder bounds the depth.
func readNode(d *jsontext.Decoder) (*node, error) {
	n := &node{kind: d.PeekKind()}
	switch n.kind {
	case '{':
		return n, n.readObject(d)
	case '[':
		return n, n.readArray(d)
	}
	raw, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	n.raw = bytes.Clone(raw)
	return n, nil
}

func (n *node) readObject(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		raw, err := d.ReadValue()
		if err != nil {
			return err
		}
		m := member{raw: bytes.Clone(raw), name: unquote(raw)}
		if m.value, err = readNode(d); err != nil {
			return err
		}
		n.members = append(n.members, m)
	}
	_, err := d.ReadToken()
	return err
}

func (n *node) readArray(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != ']' {
		item, err := readNode(d)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	_, err := d.ReadToken()
	return err
}

func unquote(raw []byte) string {
	text, _ := jsontext.AppendUnquote(nil, raw) // its error is invalid UTF-8, replaced
	return string(text)
}

// append writes the value.
func (n *node) append(dst []byte) []byte {
	switch n.kind {
	case '{':
		dst = append(dst, '{')
		for i, m := range n.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = m.value.append(append(append(dst, m.raw...), ':'))
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		for i, item := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.append(dst)
		}
		return append(dst, ']')
	}
	return append(dst, n.raw...)
}

// text is a string's value.
func (n *node) text() (string, bool) {
	if n.kind != '"' {
		return "", false
	}
	return unquote(n.raw), true
}

func (n *node) setText(text string) {
	n.kind = '"'
	n.raw, _ = jsontext.AppendQuote(nil, text) // invalid UTF-8 is replaced
}

// number is a number's value.
func (n *node) number() (float64, bool) {
	if n.kind != '0' {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(n.raw), 64)
	return v, err == nil && !math.IsInf(v, 0)
}

// setNumber writes a number with as many digits as a float32 needs, which is
// what vectors and scores are. One that has no float32 is left as it is.
func (n *node) setNumber(v float64) {
	if math.Abs(v) <= math.MaxFloat32 {
		n.kind, n.raw = '0', jsontext.AppendFloat(nil, v, 32)
	}
}

// leaves visits every value in order.
func (n *node) leaves(visit func(*node)) {
	switch n.kind {
	case '{':
		for _, m := range n.members {
			m.value.leaves(visit)
		}
	case '[':
		for _, item := range n.items {
			item.leaves(visit)
		}
	default:
		visit(n)
	}
}
