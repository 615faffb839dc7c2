package tokens

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// The two functions below are the patterns by which the vocabularies split a
// text into pieces before merging, with the choices of a backtracking regular
// expression: the first alternative that matches wins, each part of it as long
// as can be (openai/tiktoken, tiktoken_ext/openai_public.py).

// class is what the patterns ask of a character; a mark is one of them.
type class uint8

const (
	isUpper  class = 1 << iota // Lu, Lt
	isLower                    // Ll
	isCommon                   // Lm, Lo: letters of neither case
	isMark                     // M
	isNumber                   // N
	isSpace                    // White_Space
	isBreak                    // CR, LF; a space too

	isLetter = isUpper | isLower | isCommon
	// upper and lower are the two sets of o200k_base.
	upper = isUpper | isCommon | isMark
	lower = isLower | isCommon | isMark
)

// classOf is the class and length of the character at the start of text, which
// is not empty. A byte that is no UTF-8 has no class.
func classOf(text []byte) (class, int) {
	if c := text[0]; c < utf8.RuneSelf {
		return classes[c], 1
	}
	if r := threeBytes(text); r != 0 {
		return classes[r], 3
	}
	r, n := utf8.DecodeRune(text)
	switch {
	case r == utf8.RuneError && n == 1:
		return 0, 1
	case int(r) < len(classes):
		return classes[r], n
	}
	return runeClass(r), n
}

// threeBytes is the character of three bytes at the start of text, 0 where there
// is another or none. It sees those from U+1000 to U+CFFF, Chinese, Japanese and
// Korean among them, of which no three bytes are invalid UTF-8 but by their marks.
func threeBytes(text []byte) (r uint16) {
	if len(text) < 3 || text[0] < 0xe1 || text[0] > 0xec || text[1]>>6 != 2 || text[2]>>6 != 2 {
		return 0
	}
	return uint16(text[0])<<12 | uint16(text[1]&0x3f)<<6 | uint16(text[2]&0x3f)
}

// classes are those of the basic plane, once classify was called.
var classes [1 << 16]class

var classify = sync.OnceFunc(func() {
	for r := range classes {
		classes[r] = runeClass(rune(r))
	}
})

func runeClass(r rune) class {
	switch {
	case r == '\r' || r == '\n':
		return isSpace | isBreak
	case unicode.IsLetter(r):
		return letterClass(r)
	case unicode.IsMark(r):
		return isMark
	case unicode.IsNumber(r):
		return isNumber
	case unicode.IsSpace(r):
		return isSpace
	}
	return 0
}

func letterClass(r rune) class {
	switch {
	case unicode.IsLower(r):
		// Go's lower case has letters of other categories in it.
		if unicode.Is(unicode.Ll, r) {
			return isLower
		}
		return isCommon
	case unicode.Is(unicode.Lu, r), unicode.Is(unicode.Lt, r):
		return isUpper
	}
	return isCommon
}

// run is the length of the characters at the start of text that are of a set.
func run(text []byte, set class) (n int) {
	for n < len(text) {
		c, size := classOf(text[n:])
		if c&set == 0 {
			break
		}
		n += size
	}
	return n
}

// splitCL100K is the length of the first piece under cl100k_base.
func splitCL100K(text []byte) int {
	if n := contraction(text); n > 0 {
		return n
	}
	c, first := classOf(text)
	if c&isLetter != 0 {
		return first + run(text[first:], isLetter)
	}
	if c&(isNumber|isBreak) == 0 { // one other character may stand before letters
		if n := run(text[first:], isLetter); n > 0 {
			return first + n
		}
	}
	if c&isNumber != 0 {
		return numbers(text)
	}
	if n := symbols(text, isBreakByte); n > 0 {
		return n
	}
	return spaces(text)
}

// splitO200K is the length of the first piece under o200k_base.
func splitO200K(text []byte) int {
	c, first := classOf(text)
	mayLead := c&(isLetter|isNumber|isBreak) == 0
	for _, word := range [...]func([]byte) int{lowerWord, upperWord} {
		n := 0
		if mayLead {
			if n = word(text[first:]); n > 0 {
				n += first
			}
		}
		if n == 0 {
			n = word(text)
		}
		if n > 0 {
			return n + contraction(text[n:])
		}
	}
	if c&isNumber != 0 {
		return numbers(text)
	}
	if n := symbols(text, isBreakOrSlash); n > 0 {
		return n
	}
	return spaces(text)
}

// lowerWord is upper* lower+. Some characters are of both sets: where no lower
// one follows, the last of those ends the word.
func lowerWord(text []byte) int {
	both, n := 0, 0
	for n < len(text) {
		c, size := classOf(text[n:])
		if c&upper == 0 {
			break
		}
		n += size
		if c&lower != 0 {
			both = n
		}
	}
	if m := run(text[n:], lower); m > 0 {
		return n + m
	}
	return both
}

// upperWord is upper+ lower*.
func upperWord(text []byte) int {
	n := run(text, upper)
	if n == 0 {
		return 0
	}
	return n + run(text[n:], lower)
}

// contraction is the length of 's 't 're 've 'm 'll 'd in any case.
func contraction(text []byte) int {
	if len(text) < 2 || text[0] != '\'' {
		return 0
	}
	if len(text) >= 3 {
		switch string([]byte{text[1] | 0x20, text[2] | 0x20}) {
		case "re", "ve", "ll":
			return 3
		}
	}
	switch text[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return 2
	}
	if r, n := utf8.DecodeRune(text[1:]); r == 'ſ' { // folds to s
		return 1 + n
	}
	return 0
}

// numbers is the length of one to three numerals.
func numbers(text []byte) (n int) {
	for range 3 {
		if n == len(text) {
			break
		}
		c, size := classOf(text[n:])
		if c&isNumber == 0 {
			break
		}
		n += size
	}
	return n
}

// symbols is a blank or none, a run of what is neither letter, number nor
// space, and what may end it.
func symbols(text []byte, tail func(byte) bool) int {
	n := 0
	if text[0] == ' ' {
		n = 1
	}
	start := n
	for n < len(text) {
		c, size := classOf(text[n:])
		if c&(isLetter|isNumber|isSpace) != 0 {
			break
		}
		n += size
	}
	if n == start {
		return 0
	}
	for n < len(text) && tail(text[n]) {
		n++
	}
	return n
}

func isBreakByte(c byte) bool { return c == '\r' || c == '\n' }

func isBreakOrSlash(c byte) bool { return isBreakByte(c) || c == '/' }

// spaces is the length of the piece at a run of spaces: up to its last line
// break; else all of it at the end of the text; else all but the last, which
// belongs to what follows; else one.
func spaces(text []byte) int {
	n, last, breaks := 0, 0, 0
	for n < len(text) {
		c, size := classOf(text[n:])
		if c&isSpace == 0 {
			break
		}
		last = n
		n += size
		if c&isBreak != 0 {
			breaks = n
		}
	}
	switch {
	case breaks > 0:
		return breaks
	case n == len(text) || last == 0:
		return n
	}
	return last
}
