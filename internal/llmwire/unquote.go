package llmwire

import (
	"bytes"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Unquote returns the value of a valid JSON string: a part of raw where it
// stands there as it is, else memory of scratch, valid until the next call.
// Invalid UTF-8 and lone surrogates become U+FFFD.
func Unquote(scratch *[]byte, raw []byte) []byte {
	inner := raw[1 : len(raw)-1]
	at := bytes.IndexByte(inner, '\\')
	valid := utf8.Valid(inner)
	if at < 0 && valid {
		return inner
	}
	dst := slices.Grow((*scratch)[:0], len(inner))
	for rest := inner; valid; at = bytes.IndexByte(rest, '\\') {
		if at < 0 {
			*scratch = append(dst, rest...)
			return *scratch
		}
		dst = append(dst, rest[:at]...)
		if c := escaped[rest[at+1]]; c != 0 {
			dst, rest = append(dst, c), rest[at+2:]
			continue
		}
		r := rune(hexadecimal(rest[at+2:]))
		if utf16.IsSurrogate(r) { // half of a pair
			break
		}
		dst, rest = utf8.AppendRune(dst, r), rest[at+6:]
	}
	// Seldom, and slower. The error only says that there was invalid UTF-8.
	*scratch, _ = jsontext.AppendUnquote(dst[:0], raw)
	return *scratch
}

// escaped are the escapes of two bytes, by the second.
var escaped = [1 << 8]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// hexadecimal is the value of the first four bytes, digits of base 16.
func hexadecimal(digits []byte) (n uint16) {
	for _, c := range digits[:4] {
		n <<= 4
		if c >= 'A' {
			n += 9 // of both cases, the lower four bits count from 1
		}
		n += uint16(c & 0xf)
	}
	return n
}
