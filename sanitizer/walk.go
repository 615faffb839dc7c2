package sanitizer

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/lambdac/lambdac/internal/llmwire"
)

// texts is what a mode makes of what people and models wrote. Texts and names
// are unescaped.
type texts interface {
	// text appends to dst, which ends inside a JSON string, what replaces one
	// text, escaped. same says that the text stays as it is and nothing was
	// appended. name is that of the member that holds it, nil in lists.
	text(dst, name, text []byte) (out []byte, same bool)
	// name appends what replaces a name that is not made of known words: of a
	// member in a text, of a tool, of a schema. It is the same wherever the
	// name stands.
	name(dst, name []byte) []byte
	// number appends a JSON number in the place of one in a text.
	number(dst, name, raw []byte) []byte
	// opens reports whether texts that are JSON stay JSON. Those of which the
	// policy says so do anyway.
	opens() bool
}

const (
	// maxDepth bounds the nesting of a body, and maxOpened that of JSON in
	// strings of JSON. Deeper ones are not read.
	maxDepth  = 512
	maxOpened = 4
)

// inherited is what the values around say of the ones inside.
type inherited uint8

const (
	withinBody inherited = iota // the policy's places decide, the length of the rest stays
	withinDrop                  // only lengths stay
	withinText                  // JSON that is a text: the mode decides where no place does
)

// walker rewrites one body after the policy. What it appends is valid JSON of
// equal shape: the same objects, lists and kinds of values.
type walker struct {
	s     *Sanitizer
	t     texts
	dec   *jsontext.Decoder
	depth int
	// opened counts the strings around that were opened, base is where the
	// innermost begins in the body.
	opened int
	base   int64
	plain  []byte // memory for a string without its escapes
}

// rewrite appends the body with each value as the policy and the mode want it.
// On an error, always a [*bodyError], nothing that was appended may be kept.
func (s *Sanitizer) rewrite(dst, body []byte, mediaType string, t texts) ([]byte, error) {
	if boundary, ok := multipartBoundary(mediaType); ok {
		return s.rewriteMultipart(dst, body, boundary, t)
	}
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	if len(trimmed) > 0 && trimmed[0] != '{' && trimmed[0] != '[' && !strings.Contains(strings.ToLower(mediaType), "json") {
		return nil, s.refuse(&bodyError{reason: refusedMedia})
	}
	w := walker{s: s, t: t, plain: s.plain}
	dst, err := w.document(dst, body, s.places.start, withinBody)
	if cap(w.plain) <= maxScratch {
		s.plain = w.plain[:cap(w.plain)]
		clear(s.plain)
	}
	if err != nil {
		return nil, s.refuse(err)
	}
	return dst, nil
}

// rewriteText is rewrite for a JSON text of the model's own, such as the
// arguments of a tool call.
func (s *Sanitizer) rewriteText(dst, text []byte, t texts) ([]byte, error) {
	w := walker{s: s, t: t, opened: 1}
	dst, err := w.document(dst, text, s.places.inner, withinText)
	if err != nil {
		return nil, s.refuse(err)
	}
	return dst, nil
}

// refuse counts a body that is not kept.
func (s *Sanitizer) refuse(err error) error {
	refused, ok := errors.AsType[*bodyError](err)
	if !ok {
		refused = &bodyError{reason: refusedSyntax}
	}
	s.refused.add(refused)
	s.tally.add(string(refused.reason), "body", 1)
	return refused
}

// document rewrites one JSON text, or several one after another: lines of
// NDJSON.
func (w *walker) document(dst, text []byte, p *bodyPlace, in inherited) ([]byte, error) {
	// AllowInvalidUTF8: emoji that were cut in two come as lone surrogates; they
	// become U+FFFD. Names that come twice are refused: two readers would
	// disagree on what was said.
	w.dec = jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowInvalidUTF8(true))
	for n := 0; ; n++ {
		if w.dec.PeekKind() == jsontext.KindInvalid && len(bytes.TrimLeft(w.dec.UnreadBuffer(), " \t\r\n")) == 0 && n > 0 {
			return dst, nil
		}
		if n > 0 {
			dst = append(dst, '\n')
		}
		var err error
		if dst, err = w.value(dst, p, nil, in); err != nil {
			return nil, err
		}
	}
}

// value rewrites the next value.
func (w *walker) value(dst []byte, p *bodyPlace, name []byte, in inherited) ([]byte, error) {
	treat := treatNone
	if p.rule != nil {
		treat = p.rule.treat
	}
	if in == withinDrop || treat == treatDrop {
		in, treat = withinDrop, treatDrop
	}
	switch w.dec.PeekKind() {
	case '{':
		return w.object(dst, p, w.inside(in, treat))
	case '[':
		return w.list(dst, p, name, w.inside(in, treat))
	case '"':
		return w.text(dst, p, name, in, treat)
	case '0':
		return w.number(dst, p, name, in, treat)
	case 't', 'f':
		return w.flag(dst, in, treat)
	case 'n':
		_, err := w.dec.ReadToken()
		return append(dst, "null"...), w.wrap(err)
	}
	_, err := w.dec.ReadToken()
	if err == nil {
		err = errors.New("no value")
	}
	return nil, w.wrap(err)
}

// inside is what a container says of its content.
func (w *walker) inside(in inherited, treat treatment) inherited {
	switch treat {
	case treatDrop:
		w.s.tally.add("body_value", "body", 1)
		return withinDrop
	case treatJSON:
		return withinText
	default:
		return in
	}
}

func (w *walker) enter() error {
	if w.depth++; w.depth > maxDepth {
		return &bodyError{reason: refusedDepth, offset: w.offset()}
	}
	_, err := w.dec.ReadToken()
	return w.wrap(err)
}

func (w *walker) leave() error {
	w.depth--
	_, err := w.dec.ReadToken()
	return w.wrap(err)
}

// maxCalled bounds a name that is looked at for each value under it, bytes.
const maxCalled = 64

func (w *walker) object(dst []byte, p *bodyPlace, in inherited) ([]byte, error) {
	if err := w.enter(); err != nil {
		return nil, err
	}
	dst = append(dst, '{')
	var called []byte // by the member "name": {"name": "DB_PASSWORD", "value": …}
	for first := true; w.dec.PeekKind() != '}'; first = false {
		raw, err := w.dec.ReadValue()
		if err != nil {
			return nil, w.wrap(err)
		}
		name := raw[1 : len(raw)-1]
		if bytes.IndexByte(name, '\\') >= 0 || !utf8.Valid(name) {
			name, _ = jsontext.AppendUnquote(nil, raw) // the error tells of invalid UTF-8 only
		}
		if !first {
			dst = append(dst, ',')
		}
		dst = append(w.quote(dst, w.name(name, in)), ':')
		place, from := w.s.places.member(p, name), len(dst)
		if called != nil && string(name) == "value" {
			name = called
		}
		isName := in == withinText && (string(name) == "name" || string(name) == "key")
		if dst, err = w.value(dst, place, name, in); err != nil {
			return nil, err
		}
		if isName && len(dst)-from <= maxCalled {
			called = bytes.Trim(dst[from:], `"`)
		}
	}
	return append(dst, '}'), w.leave()
}

func (w *walker) list(dst []byte, p *bodyPlace, name []byte, in inherited) ([]byte, error) {
	if err := w.enter(); err != nil {
		return nil, err
	}
	from := len(dst)
	dst = append(dst, '[')
	elem := w.s.places.element(p)
	for first := true; w.dec.PeekKind() != ']'; first = false {
		if !first {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = w.value(dst, elem, name, in); err != nil {
			return nil, err
		}
	}
	dst = append(dst, ']')
	if in == withinText && w.t.opens() {
		dst = append(dst[:from], w.unspelled(name, dst[from:])...)
	}
	return dst, w.leave()
}

// name is a member's name, or what replaces it.
func (w *walker) name(name []byte, in inherited) []byte {
	if w.s.plainMember(name) {
		return name
	}
	w.s.tally.add("body_name", "body", 1)
	if in == withinText {
		return w.t.name(nil, name)
	}
	return []byte("name-" + w.s.keys.name("name", string(name)))
}

// text rewrites a string.
func (w *walker) text(dst []byte, p *bodyPlace, name []byte, in inherited, treat treatment) ([]byte, error) {
	raw, err := w.dec.ReadValue()
	if err != nil {
		return nil, w.wrap(err)
	}
	at := w.offset() - int64(len(raw))
	value := llmwire.Unquote(&w.plain, raw)
	if treat == treatKeep {
		if out, ok := w.keep(dst, p, value); ok {
			return out, nil
		}
		treat = treatNone
	}
	if treat == treatNone && in == withinText {
		treat = treatText
	}
	switch treat {
	case treatPseudonym:
		w.s.tally.add("pseudonym", "body", 1)
		return w.quote(dst, []byte("id-"+w.s.keys.name("body", string(value)))), nil
	case treatJSON:
		return w.open(dst, name, raw, value, at, true), nil
	case treatText:
		return w.open(dst, name, raw, value, at, w.t.opens()), nil
	}
	return w.length(dst, value), nil
}

// length keeps the length of a string.
func (w *walker) length(dst, value []byte) []byte {
	if digits, ok := bytes.CutPrefix(value, []byte("len:")); ok && w.s.again && len(digits) <= maxDigits && digitsOnly(string(digits)) {
		return w.quote(dst, value)
	}
	w.s.tally.add("body_value", "body", 1)
	return append(strconv.AppendInt(append(dst, `"len:`...), int64(len(value)), 10), '"')
}

// keep keeps a string as far as its grammar goes; false where that is nowhere.
func (w *walker) keep(dst []byte, p *bodyPlace, value []byte) ([]byte, bool) {
	switch kept, ok := p.rule.read(string(value)); {
	case ok:
		return w.quote(dst, []byte(kept)), true
	case p.rule.grammar == GrammarName:
		w.s.tally.add("body_name", "body", 1)
		return w.quote(dst, w.t.name(nil, value)), true
	case p.rule.grammar == GrammarModel && len(value) > 0:
		return w.quote(dst, []byte(*w.s.model("body", string(value)))), true
	}
	w.s.tally.add("body_grammar", "body", 1)
	return dst, false
}

// open replaces a text; one that is JSON is walked and stays JSON, and of media
// the length stays.
func (w *walker) open(dst, name, raw, value []byte, at int64, wanted bool) []byte {
	if isMedia(value) {
		return w.length(dst, value)
	}
	if wanted && looksLikeJSON(value) {
		if w.opened >= maxOpened {
			return w.length(dst, value)
		}
		inner := walker{s: w.s, t: w.t, depth: w.depth, opened: w.opened + 1, base: at}
		if out, err := inner.document(nil, value, w.s.places.inner, withinText); err == nil {
			return w.quote(dst, out)
		}
	}
	out, same := w.t.text(append(dst, '"'), name, value)
	switch {
	case !same:
		return append(out, '"')
	case bytes.Contains(value, replacement):
		return w.quote(dst, value)
	}
	return append(dst, raw...) // as it came, which takes less time
}

// appendInside appends a part of a text to dst, which ends inside a JSON
// string, escaped.
func appendInside(dst, part []byte) []byte {
	at := len(dst) - 1
	last := dst[at]
	dst, _ = jsontext.AppendQuote(dst[:at], part) // invalid UTF-8 becomes U+FFFD
	dst[at] = last                                // where the part's own quote was put
	return dst[:len(dst)-1]
}

// replacement is U+FFFD: what came may have been no UTF-8.
var replacement = []byte("\uFFFD")

// looksLikeJSON reports an object or a list.
func looksLikeJSON(text []byte) bool {
	text = bytes.TrimSpace(text)
	if len(text) < 2 {
		return false
	}
	first, last := text[0], text[len(text)-1]
	return first == '{' && last == '}' || first == '[' && last == ']'
}

// number rewrites a number.
func (w *walker) number(dst []byte, p *bodyPlace, name []byte, in inherited, treat treatment) ([]byte, error) {
	raw, err := w.dec.ReadValue()
	if err != nil {
		return nil, w.wrap(err)
	}
	if treat == treatKeep {
		if kept, ok := p.rule.read(string(raw)); ok && jsontext.Value(kept).IsValid() {
			return append(dst, kept...), nil
		}
	}
	if (treat == treatNone || treat == treatJSON || treat == treatKeep) && in == withinText {
		return w.t.number(dst, name, raw), nil
	}
	w.s.tally.add("body_number", "body", 1)
	return append(dst, '0'), nil
}

// flag rewrites true and false: a switch of the API, or in a text, stays.
func (w *walker) flag(dst []byte, in inherited, treat treatment) ([]byte, error) {
	token, err := w.dec.ReadToken()
	if err != nil {
		return nil, w.wrap(err)
	}
	if treat != treatDrop && (treat != treatNone || in == withinText) && token.Bool() {
		return append(dst, "true"...), nil
	}
	return append(dst, "false"...), nil
}

// quote appends a JSON string.
func (w *walker) quote(dst, value []byte) []byte {
	dst, _ = jsontext.AppendQuote(dst, value) // invalid UTF-8 becomes U+FFFD
	return dst
}

func (w *walker) offset() int64 { return w.base + w.dec.InputOffset() }

// wrap makes a bodyError of one of the reader's.
func (w *walker) wrap(err error) error {
	if err == nil {
		return nil
	}
	if refused, ok := errors.AsType[*bodyError](err); ok {
		return refused
	}
	reason := refusedSyntax
	if errors.Is(err, jsontext.ErrDuplicateName) {
		reason = refusedDuplicate
	}
	at := w.offset()
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at = w.base + syntax.ByteOffset
	}
	return &bodyError{reason: reason, offset: at}
}

// plainMember reports whether a member's name may be kept, and remembers.
func (s *Sanitizer) plainMember(name []byte) bool {
	if plain, ok := s.members.get(string(name)); ok {
		return plain
	}
	plain := s.vocab.plainName(string(name))
	if len(name) <= 64 {
		s.members.put(string(name), plain)
	}
	return plain
}
