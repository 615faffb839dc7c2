package llmwire

import (
	"bytes"
	"unicode/utf8"

	"github.com/lambdac/lambdac/trace"
)

// alike remembers the event before, where all that it held was one text. Most
// events of a stream are that one again but for the text, and then JSON need
// not be read anew: what differs is inside one string, so that all else means
// what it meant. Reading an event so takes about a tenth of the time.
type alike struct {
	known      bool
	name, data []byte
	literal    span // of the text in data, without its quotes
}

// maxAlike bounds the events remembered, bytes.
const maxAlike = 4 << 10

// remember takes an event and the frame that was read from it.
func (l *alike) remember(f *frame, r *reader, name, data []byte) {
	at := f.literal
	if f.whole || f.repeats || f.literalOf != r || len(data) > maxAlike || len(f.pieces) != 1 || len(f.finishes) > 0 || at.from < 1 {
		return
	}
	p := &f.pieces[0]
	if p.kind == trace.ChunkToolArgs || p.text != (span{0, len(f.buf)}) || p.size() != at.len() ||
		data[at.from-1] != '"' || !bytes.Equal(data[at.from:at.to], f.buf) || !plain(f.buf) {
		return
	}
	l.known, l.literal = true, at
	l.name, l.data = append(l.name[:0], name...), append(l.data[:0], data...)
}

// text returns the text of an event that differs from the remembered one in
// nothing else; nil = it may, or its text is empty or holds an escape.
func (l *alike) text(name, data []byte) []byte {
	before, after := l.data[:l.literal.from], l.data[l.literal.to:]
	to := len(data) - len(after)
	if to <= len(before) || !bytes.HasPrefix(data, before) || !bytes.HasSuffix(data, after) || !bytes.Equal(name, l.name) {
		return nil
	}
	if text := data[len(before):to]; plain(text) {
		return text
	}
	return nil
}

// plain reports whether a JSON string says b by b itself.
func plain(b []byte) bool {
	ascii := true
	for _, c := range b {
		if c < ' ' || c == '"' || c == '\\' {
			return false
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	return ascii || utf8.Valid(b)
}
