package sanitizer

import (
	"bytes"
	"iter"
)

// members yields the names and raw JSON values of the object in body, as far
// as it can be read. It is a scan, not a parser: what is taken with it is only
// ever made into pseudonyms. A name with an escape in it is not unescaped.
func members(body []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		i := skipSpace(body, 0)
		if i >= len(body) || body[i] != '{' {
			return
		}
		for i++; ; i++ {
			if i = skipSpace(body, i); i >= len(body) || body[i] != '"' {
				return
			}
			end := stringEnd(body, i)
			name := body[i+1 : max(i+1, end-1)]
			if i = skipSpace(body, end); i >= len(body) || body[i] != ':' {
				return
			}
			start := skipSpace(body, i+1)
			i = valueEnd(body, start)
			if !yield(name, body[start:i]) {
				return
			}
			if i = skipSpace(body, i); i >= len(body) || body[i] != ',' {
				return
			}
		}
	}
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// stringEnd returns the place after the string that starts at i.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		i += n + 1
		escapes := 0
		for j := i - 2; j >= 0 && b[j] == '\\'; j-- {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
	return len(b)
}

// valueEnd returns the place after the value that starts at i.
func valueEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = stringEnd(b, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i
			}
			if depth == 0 {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return len(b)
}
