package detect

import (
	"bytes"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// readEscape reads what escapes begin, and letters beyond ASCII.
func readEscape(text []byte) (r rune, size int) {
	switch c := text[0]; {
	case c == '%':
		return readHex(text, 1, 2)
	case c == '&':
		return readEntity(text)
	case c == '\\':
		return readBackslash(text)
	case c == 0x1b:
		return readTerminal(text)
	default:
		r, size = utf8.DecodeRune(text)
		if plain := simple(r); plain != r {
			return plain, size
		}
		return 0, 0
	}
}

// readHex reads digits of base 16 after a sign of that many bytes.
func readHex(text []byte, sign, digits int) (r rune, size int) {
	if len(text) < sign+digits {
		return 0, 0
	}
	n, err := strconv.ParseUint(string(text[sign:sign+digits]), 16, 32)
	switch {
	case err != nil:
		return 0, 0
	case digits == 2 && n >= 0x80:
		return rawByte + rune(n), sign + digits
	}
	return rune(n), sign + digits
}

// readTerminal skips a control sequence: ESC [, parameters and a letter (ECMA-48,
// section 5.4).
func readTerminal(text []byte) (r rune, size int) {
	if len(text) < 3 || text[1] != '[' {
		return 0, 0
	}
	end := 2
	for end < len(text) && end < 24 && text[end] >= 0x20 && text[end] < 0x40 {
		end++
	}
	if end == len(text) || !letters.in(text[end]) {
		return 0, 0
	}
	return skipped, end + 1
}

// readQuotedPrintable reads =40, and what [readSoftBreak] does.
func readQuotedPrintable(text []byte) (r rune, size int) {
	if r, size = readSoftBreak(text); size > 0 {
		return r, size
	}
	return readHex(text, 1, 2)
}

// readSoftBreak skips a sign and the line end after it.
func readSoftBreak(text []byte) (r rune, size int) {
	switch {
	case bytes.HasPrefix(text, []byte("=\r\n")):
		return skipped, 3
	case bytes.HasPrefix(text, []byte("=\n")):
		return skipped, 2
	}
	return 0, 0
}

// isQuotedPrintable reports a text with a line that goes on, two escapes in a
// row, or one of a mark, such as the sign itself: "limit=40" is none.
func isQuotedPrintable(text []byte) bool {
	for i := 0; ; i++ {
		n := bytes.IndexByte(text[i:], '=')
		if n < 0 {
			return false
		}
		i += n
		switch rest := text[i+1:]; {
		case bytes.HasPrefix(rest, []byte("\n")), bytes.HasPrefix(rest, []byte("\r\n")),
			len(rest) > 1 && rest[0] >= '2' && rest[0] <= '7' && hexUpper.in(rest[1]),
			len(rest) > 4 && hexAny.run(rest, 0, 2) == 2 && rest[2] == '=' && hexAny.run(rest, 3, 2) == 5:
			return true
		}
	}
}

// readBackslash reads \u0040, \u{40}, \x40, \100, \e before a bracket, and the
// marks that Markdown and JSON escape, behind any number of backslashes: texts in
// texts double them.
func readBackslash(text []byte) (r rune, size int) {
	n := 1
	for n < len(text) && n < 8 && text[n] == '\\' {
		n++
	}
	if n == len(text) {
		return 0, 0
	}
	switch c := text[n]; c {
	case 'u', 'U', 'x':
		if end := bytes.IndexByte(text[n:min(len(text), n+10)], '}'); end > 2 && text[n+1] == '{' {
			r, size = readHex(text, n+2, end-2)
			return r, size + min(size, 1)
		}
		if c == 'x' {
			return readHex(text, n+1, 2)
		}
		return readHex(text, n+1, 4)
	case 'e':
		if n+1 < len(text) && text[n+1] == '[' {
			return 0x1b, n + 1
		}
	case '0', '1':
		return readOctal(text, n)
	case '/', '_', '-', '.', '@', '+', ':', '=', '~', '#', '*', '(', ')':
		return rune(c), n + 1
	}
	return 0, 0
}

// readOctal reads three digits of base 8 after a sign of that many bytes.
func readOctal(text []byte, sign int) (r rune, size int) {
	if len(text) < sign+3 {
		return 0, 0
	}
	n, err := strconv.ParseUint(string(text[sign:sign+3]), 8, 8)
	if err != nil || n == 0 || n >= 0x80 {
		return 0, 0
	}
	return rune(n), sign + 3
}

// entities are the named ones that stand for what values have in them.
var entities = map[string]rune{
	"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\'', "nbsp": ' ', "commat": '@', "period": '.',
	"colon": ':', "sol": '/', "hyphen": '-', "dash": '-', "lowbar": '_', "plus": '+', "equals": '=', "shy": skipped,
	"zwnj": skipped, "zwj": skipped, "ndash": '-',
}

// readEntity reads &#64;, &#x40; and the entities above.
func readEntity(text []byte) (r rune, size int) {
	end := bytes.IndexByte(text[:min(len(text), 12)], ';')
	if end < 2 {
		return 0, 0
	}
	name := string(text[1:end])
	if r, known := entities[name]; known {
		return r, end + 1
	}
	if name[0] != '#' {
		return 0, 0
	}
	base, number := 10, name[1:]
	if number != "" && number[0]|0x20 == 'x' {
		base, number = 16, number[1:]
	}
	n, err := strconv.ParseUint(number, base, 21)
	if err != nil || n > unicode.MaxRune {
		return 0, 0
	}
	return simple(rune(n)), end + 1
}
