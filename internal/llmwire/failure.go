package llmwire

// failure is what an error object says, less its message.
type failure struct {
	seen bool
	kind []byte // error.type
	code []byte
}

// maxWord bounds a type or a code: what is longer is prose, which may repeat
// the request, and is dropped.
const maxWord = 128

func (e failure) emptied() failure { return failure{kind: e.kind[:0], code: e.code[:0]} }

// read takes the next value as an error: an object, a text, a code. Null, false,
// an empty text, 0 and an empty list are none: services that always have the
// member send them beside an answer, and clients pass over them.
func (e *failure) read(r *reader) {
	switch r.kind() {
	case 'n', 'f':
		r.skip()
	case '{':
		e.seen = true
		e.object(r)
	case '"':
		text, _ := r.text()
		e.seen = e.seen || len(text) > 0
	case '0':
		n, ok := r.number()
		e.seen = e.seen || n != 0 || !ok
	case '[':
		e.seen = r.length() > 0 || e.seen
	default:
		e.seen = true
		r.skip()
	}
}

func (e *failure) object(r *reader) {
	for key := range r.members() {
		if !e.member(r, key) {
			r.skip()
		}
	}
}

// member reads a type or code and reports whether key was one.
func (e *failure) member(r *reader, key []byte) bool {
	switch string(key) {
	case "type", "error_type":
		e.kind = takeWord(r, e.kind)
	case "code":
		e.code = takeWord(r, e.code)
	default:
		return false
	}
	return true
}

func takeWord(r *reader, dst []byte) []byte {
	word, _ := r.word()
	if len(word) == 0 || len(word) > maxWord {
		return dst
	}
	return append(dst[:0], word...)
}
