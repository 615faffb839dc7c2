package sanitizer

import "strings"

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isAlnum(c byte) bool { return isDigit(c) || isLetter(c) }

func isWordByte(c byte) bool { return isAlnum(c) || c == '-' || c == '_' }

// isToken reports a token of RFC 9110 §5.6.2.
func isToken(s string) bool { return s != "" && madeOf(s, "!#$%&'*+-.^_`|~") }

// madeOf reports that s has only letters, digits and the bytes of others.
func madeOf(s, others string) bool {
	for i := range len(s) {
		if !isAlnum(s[i]) && strings.IndexByte(others, s[i]) < 0 {
			return false
		}
	}
	return true
}

func digitsOnly(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// digitCount is the number of digits in s.
func digitCount(s string) (n int) {
	for i := range len(s) {
		if isDigit(s[i]) {
			n++
		}
	}
	return n
}
