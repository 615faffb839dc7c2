package llmwire

import "bytes"

// withoutNaN returns a copy of a text in which each NaN, Infinity and -Infinity
// outside of strings is an empty string, which is skipped where a number is
// asked for. JSON has no such numbers; Python's json module writes them, for
// logarithms of probabilities that are 0 mostly, and reads them. some is false
// where there are none.
func withoutNaN(text []byte) (finite []byte, some bool) {
	if !bytes.Contains(text, []byte("NaN")) && !bytes.Contains(text, []byte("Infinity")) {
		return nil, false
	}
	finite = bytes.Clone(text)
	for i := 0; i < len(finite); i++ {
		if finite[i] == '"' {
			i = stringEnd(finite, i)
			continue
		}
		n := notFinite(finite[i:])
		if n == 0 {
			continue
		}
		some = true
		blank := finite[i : i+n]
		copy(blank, `""`)
		for j := range blank[2:] {
			blank[2+j] = ' '
		}
		i += n - 1
	}
	return finite, some
}

// stringEnd is the place of the quote that ends the string that begins at from,
// or the text's end.
func stringEnd(text []byte, from int) int {
	for i := from + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(text)
}

// notFinite is the length of the word at the front of text, 0 if it is none of
// the three.
func notFinite(text []byte) int {
	for _, word := range [...]string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(text, []byte(word)) {
			return len(word)
		}
	}
	return 0
}
