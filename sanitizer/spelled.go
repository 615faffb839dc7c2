package sanitizer

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// minSpelled is the length of the shortest list that is read as one text.
const minSpelled = 9

// unspelled looks at a list in a text that may spell one: bytes as numbers, or
// letters one by one. list is JSON, already rewritten value by value; where the
// mode would not keep the whole, each of its elements loses its value.
func (w *walker) unspelled(name, list []byte) []byte {
	text, n := spelled(list)
	if n < minSpelled {
		return list
	}
	if _, same := w.t.text([]byte{'"'}, name, text); same {
		return list
	}
	out := append(make([]byte, 0, len(list)), '[')
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		if list[1] == '"' {
			out = append(out, `"x"`...)
		} else {
			out = append(out, '0')
		}
	}
	return append(out, ']')
}

// spelled is what a list of bytes or of single letters spells, and its length; 0
// where it is none.
func spelled(list []byte) (text []byte, n int) {
	d := jsontext.NewDecoder(bytes.NewBuffer(list))
	if _, err := d.ReadToken(); err != nil {
		return nil, 0
	}
	kind := d.PeekKind()
	if kind != '"' && kind != '0' {
		return nil, 0
	}
	for ; d.PeekKind() == kind; n++ {
		raw, err := d.ReadValue()
		switch {
		case err != nil:
			return nil, 0
		case kind == '"':
			from := len(text)
			text, _ = jsontext.AppendUnquote(text, raw) // was written here: valid
			if utf8.RuneCount(text[from:]) != 1 {
				return nil, 0
			}
		default:
			b, err := strconv.ParseUint(string(raw), 10, 8)
			if err != nil {
				return nil, 0
			}
			text = append(text, byte(b))
		}
	}
	if d.PeekKind() != ']' {
		return nil, 0
	}
	return text, n
}
