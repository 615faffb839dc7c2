package detect

// alphabet is a set of bytes, as bits of letters.
type alphabet uint16

const (
	digit    alphabet = 1 << iota
	hexLower          // a-f
	lower             // g-z
	hexUpper          // A-F
	upper             // G-Z
	dash              // -
	under             // _
	plus              // +
	slash             // /
	dot               // .
	equals            // =
	tilde             // ~
	blank             // space, tab, line ends
	colon             // :
	percent           // %
	high              // bytes of UTF-8 beyond ASCII

	hex     = digit | hexLower
	hexAny  = digit | hexLower | hexUpper
	uppers  = hexUpper | upper
	letters = hexLower | lower | uppers
	alnum   = digit | letters
	word    = alnum | dash | under // what must not stand before a key: trace of a longer word
	ident   = alnum | under
	b64     = alnum | plus | slash
	urlsafe = word
)

// sets says which sets each byte is in.
var sets = func() (t [256]alphabet) {
	for c := range 256 {
		t[c] = setOf(byte(c))
	}
	return t
}()

func setOf(c byte) alphabet {
	switch {
	case c >= '0' && c <= '9':
		return digit
	case c >= 'a' && c <= 'f':
		return hexLower
	case c >= 'g' && c <= 'z':
		return lower
	case c >= 'A' && c <= 'F':
		return hexUpper
	case c >= 'G' && c <= 'Z':
		return upper
	case c >= 0x80:
		return high
	}
	return markSet(c)
}

func markSet(c byte) alphabet {
	switch c {
	case '-':
		return dash
	case '_':
		return under
	case '+':
		return plus
	case '/':
		return slash
	case '.':
		return dot
	case '=':
		return equals
	case '~':
		return tilde
	case ':':
		return colon
	case '%':
		return percent
	case ' ', '\t', '\n', '\r':
		return blank
	}
	return 0
}

// in reports that c is in the set a.
func (a alphabet) in(c byte) bool { return sets[c]&a != 0 }

// run is the end of the longest run of bytes in a from at, at most limit
// bytes.
func (a alphabet) run(text []byte, at, limit int) int {
	end := min(len(text), at+limit)
	for at < end && sets[text[at]]&a != 0 {
		at++
	}
	return at
}

// back is the start of the longest run of bytes in a that ends at at, at most
// limit bytes.
func (a alphabet) back(text []byte, at, limit int) int {
	stop := max(0, at-limit)
	for at > stop && sets[text[at-1]]&a != 0 {
		at--
	}
	return at
}

// fold is c in lower case.
func fold(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
