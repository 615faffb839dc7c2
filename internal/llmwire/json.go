package llmwire

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// reader walks one JSON text in one pass. It is tolerant: invalid UTF-8 and
// lone surrogates become U+FFFD, a value of another type than asked for is
// skipped, a repeated name is met again. The first syntax error ends every
// loop and stays in err. Nesting is bounded by jsontext (10,000 levels).
//
// The text must not change while it is walked.
type reader struct {
	dec     jsontext.Decoder
	src     bytes.Buffer
	opts    [2]jsontext.Options
	scratch []byte
	base    int64 // bytes before the text
	err     error
}

// byteOrderMark may stand before a text: some servers and clients put it there,
// and most readers pass over it.
const byteOrderMark = "\xef\xbb\xbf"

// reset starts on a new text.
func (r *reader) reset(text []byte) {
	if r.opts[0] == nil {
		r.opts = [2]jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	}
	r.base = 0
	if bytes.HasPrefix(text, []byte(byteOrderMark)) {
		r.base = int64(len(byteOrderMark))
	}
	r.src = *bytes.NewBuffer(text[r.base:])
	r.dec.Reset(&r.src, r.opts[:]...)
	r.err = nil
}

// open enters the next value if it is of kind '{' or '['; any other is
// skipped.
func (r *reader) open(kind jsontext.Kind) bool {
	if r.err != nil {
		return false
	}
	if r.dec.PeekKind() != kind {
		r.skip()
		return false
	}
	return r.token()
}

// key returns the next name in the object; nil past the last one, when the
// object has been left. It is valid as long as the text.
func (r *reader) key() []byte {
	if r.err != nil {
		return nil
	}
	if r.dec.PeekKind() == '}' {
		r.token()
		return nil
	}
	raw, err := r.dec.ReadValue()
	if err != nil {
		r.fail(err)
		return nil
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	name, _ := jsontext.AppendUnquote([]byte{}, raw)
	return name
}

// members yields the names in the next value if it is an object; any other
// value is skipped. The loop's body takes the member's value, each time. A name
// is valid as long as the text.
func (r *reader) members() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if !r.open('{') {
			return
		}
		for key := r.key(); key != nil && yield(key); key = r.key() {
		}
	}
}

// names is members for an object that has been entered by open.
func (r *reader) names() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for key := r.key(); key != nil && yield(key); key = r.key() {
		}
	}
}

// more reports whether the array has another element; if not, the array has
// been left.
func (r *reader) more() bool {
	if r.err != nil {
		return false
	}
	if r.dec.PeekKind() == ']' {
		r.token()
		return false
	}
	return r.dec.PeekKind() != jsontext.KindInvalid || r.skip()
}

// text returns the next value if it is a string. It is valid until the next
// call.
func (r *reader) text() ([]byte, bool) {
	raw, ok := r.scalar('"')
	if !ok {
		return nil, false
	}
	return r.unquote(raw), true
}

// literal is where a string of n bytes that was just read stands in the text
// given to reset, if it has no escape.
func (r *reader) literal(n int) span {
	to := int(r.base+r.dec.InputOffset()) - 1
	return span{to - n, to}
}

// word returns the next value if it is a string or a number, as text: error
// codes come as either.
func (r *reader) word() ([]byte, bool) {
	if r.kind() == '0' {
		return r.scalar('0')
	}
	return r.text()
}

// flag returns the next value if it is true or false.
func (r *reader) flag() (value, ok bool) {
	k := r.kind()
	r.skip()
	return k == 't', r.err == nil && (k == 't' || k == 'f')
}

// integer returns the next value if it is a whole number that fits.
func (r *reader) integer() (int64, bool) {
	raw, ok := r.scalar('0')
	if !ok || len(raw) > maxNumber {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// maxNumber bounds the digits of a number that is read.
const maxNumber = 64

// number returns the next value if it is a finite number.
func (r *reader) number() (float64, bool) {
	raw, ok := r.scalar('0')
	if !ok || len(raw) > maxNumber {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return f, err == nil
}

// raw returns the next value as it stands. It is valid as long as the text.
func (r *reader) raw() []byte {
	if r.err != nil {
		return nil
	}
	v, err := r.dec.ReadValue()
	if err != nil {
		r.fail(err)
		return nil
	}
	return v
}

// skip passes over the next value and reports whether there was one.
func (r *reader) skip() bool {
	if r.err != nil {
		return false
	}
	if err := r.dec.SkipValue(); err != nil {
		return r.fail(err)
	}
	return true
}

// end checks that nothing follows the text, and returns the first error.
func (r *reader) end() error {
	if r.err == nil && len(bytes.TrimLeft(r.dec.UnreadBuffer(), " \t\r\n")) > 0 {
		r.err = &SyntaxError{Offset: r.base + r.dec.InputOffset()}
	}
	return r.err
}

func (r *reader) kind() jsontext.Kind {
	if r.err != nil {
		return jsontext.KindInvalid
	}
	return r.dec.PeekKind()
}

func (r *reader) scalar(kind jsontext.Kind) ([]byte, bool) {
	if r.kind() != kind {
		r.skip()
		return nil, false
	}
	raw := r.raw()
	return raw, raw != nil
}

func (r *reader) token() bool {
	if _, err := r.dec.ReadToken(); err != nil {
		return r.fail(err)
	}
	return true
}

func (r *reader) fail(err error) bool {
	if r.err != nil {
		return false
	}
	at := r.dec.InputOffset()
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at = syntax.ByteOffset
	}
	r.err = &SyntaxError{Offset: r.base + at}
	return false
}

// unquote returns the value of a JSON string: a part of raw where it has no
// escape, else the reader's own memory.
func (r *reader) unquote(raw []byte) []byte { return Unquote(&r.scratch, raw) }

// SyntaxError says where a body stops being JSON. It holds no byte of it.
type SyntaxError struct {
	// Offset in bytes from the start of the body.
	Offset int64
}

// Error names the offset.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("parse JSON: invalid at byte %d", e.Offset)
}
