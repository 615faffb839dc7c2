package sse

import "bytes"

// Array reads one JSON array whose elements come piece by piece: one event an
// element, complete with its last byte. A text that is no array is one event.
// It follows nesting and strings and nothing else: whether an element is JSON
// is for its reader to say. The zero value is ready to use. It is not safe for
// concurrent use.
type Array struct {
	// MaxEvent bounds the bytes kept of one element; 0 = 16 MiB.
	MaxEvent int

	state   arrayState
	element []byte
	over    int64 // bytes left out of it
	depth   int   // open brackets in it
	quoted  bool  // inside a string
	escaped bool  // behind a backslash
	pos     int64
	dropped int64
}

type arrayState uint8

const (
	arrayStart   arrayState = iota // before the text
	arrayBetween                   // between elements
	arrayValue                     // in an object, an array or a string
	arrayScalar                    // in a number or a word
	arraySearch                    // in the middle of a stream
	arrayBreak                     // likewise, at the start of a line
	arrayEnd                       // behind the text
)

// Resync makes a new reader begin in the middle of an array. Elements are
// found again where a line begins with the comma before one, as services put
// it: a string holds no raw line end, and inside an element lines are indented
// or begin otherwise.
func (a *Array) Resync() { a.state = arraySearch }

// Feed reads the next bytes of the stream and calls emit for every element
// that they complete.
func (a *Array) Feed(p []byte, emit func(Event)) {
	for len(p) > 0 {
		n := a.step(p, emit)
		a.pos += int64(n)
		p = p[n:]
	}
}

// Close hands out an element that the end of the stream cut off.
func (a *Array) Close(emit func(Event)) {
	if a.state == arrayValue || a.state == arrayScalar {
		a.emit(emit, a.pos, true)
	}
	a.state = arrayEnd
}

// Held is the number of bytes kept of an element that is not complete.
func (a *Array) Held() int { return len(a.element) }

// Forget gives up what is held of an element that is not complete, as if that
// were over MaxEvent.
func (a *Array) Forget() {
	a.over += int64(len(a.element))
	a.element = nil
}

// Dropped is the number of bytes left out because of MaxEvent.
func (a *Array) Dropped() int64 { return a.dropped }

// step reads some bytes, at least one, and returns their number.
func (a *Array) step(p []byte, emit func(Event)) int {
	c := p[0]
	switch a.state {
	case arrayValue:
		return a.value(p, emit)
	case arrayScalar:
		if c == ',' || c == ']' || isBlank(c) {
			a.emit(emit, a.pos, false)
			return 0 // it belongs to what is between
		}
		a.keep(p[:1])
	case arraySearch:
		if n := bytes.IndexByte(p, '\n'); n >= 0 {
			a.state = arrayBreak
			return n + 1
		}
		return len(p)
	case arrayBreak:
		a.state = arraySearch
		if c == ',' {
			a.state = arrayBetween
		}
		if c == '\n' {
			a.state = arrayBreak
		}
	case arrayStart, arrayBetween:
		a.between(c)
	case arrayEnd:
		return len(p)
	}
	return 1
}

// bom is the first byte of a byte order mark; no JSON text begins with it.
const bom = 0xEF

func (a *Array) between(c byte) {
	switch {
	case isBlank(c), c == ',':
	case c == '[' && a.state == arrayStart:
		a.state = arrayBetween
	case c == ']':
		a.state = arrayEnd
	case a.state == arrayStart && (c == bom || c == 0xBB || c == 0xBF):
	default:
		a.begin(c)
	}
}

func (a *Array) begin(c byte) {
	a.over, a.depth, a.quoted, a.escaped = 0, 0, false, false
	a.state = arrayScalar
	switch c {
	case '{', '[':
		a.state, a.depth = arrayValue, 1
	case '"':
		a.state, a.quoted = arrayValue, true
	}
	a.keep([]byte{c})
}

// value reads on in a value that has brackets or quotes.
func (a *Array) value(p []byte, emit func(Event)) int {
	for i := 0; i < len(p); i++ {
		c := p[i]
		switch {
		case a.escaped:
			a.escaped = false
			continue
		case a.quoted:
			i += plainText(p[i:])
			if i == len(p) {
				continue
			}
			c = p[i]
			a.escaped, a.quoted = c == '\\', c != '"'
			if c == '\\' {
				continue
			}
		case c == '"':
			a.quoted = true
			continue
		case c == '{', c == '[':
			a.depth++
			continue
		case c == '}', c == ']':
			a.depth--
		default:
			continue
		}
		if a.depth <= 0 {
			a.keep(p[:i+1])
			a.emit(emit, a.pos+int64(i)+1, false)
			return i + 1
		}
	}
	a.keep(p)
	return len(p)
}

// plainText is the number of bytes before the next quote or backslash.
func plainText(p []byte) int {
	for i, c := range p {
		if c == '"' || c == '\\' {
			return i
		}
	}
	return len(p)
}

func (a *Array) keep(p []byte) {
	limit := a.MaxEvent
	if limit <= 0 {
		limit = defaultMaxEvent
	}
	room := max(0, min(len(p), limit-len(a.element)))
	a.element = append(a.element, p[:room]...)
	a.over += int64(len(p) - room)
}

func (a *Array) emit(emit func(Event), end int64, partial bool) {
	a.state = arrayBetween
	a.dropped += a.over
	emit(Event{Data: a.element, Partial: partial, Cut: a.over, End: end})
	a.element = emptied(a.element)
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
