package detect

import (
	"bytes"
	"hash/crc32"
)

// maxKey bounds the tail of a key; session tokens of clouds have about 1,000
// bytes. Its first telling bytes say whether it is one.
const (
	maxKey  = 2048
	telling = 64
)

// key judges the key format whose prefix ends at end.
func (j *job) key(f *keyFormat, end int) {
	start := end - len(f.prefix)
	inside := f.rule == "azure_secret" // its mark stands inside
	if string(j.text[start:end]) != f.prefix || start < j.keyEnd || !inside && j.joined(start) {
		return
	}
	tail := j.text[end:j.run(f.tail, end, telling)]
	for len(tail) > 0 && (dot | slash | colon).in(tail[len(tail)-1]) { // of the sentence
		tail = tail[:len(tail)-1]
	}
	if !f.isTail(tail) {
		return
	}
	stop := max(end+len(tail), j.run(f.tail, end, maxKey))
	for (dot | slash | colon).in(j.text[stop-1]) {
		stop--
	}
	if inside {
		start = word.back(j.text, start, 8)
	}
	j.keyEnd = stop
	j.add(f.rule, Secret, start, stop)
	if f.rule == "aws_key_id" {
		j.awsSecret(max(0, start-awsReach), start)
		j.awsSecret(stop, min(len(j.text), stop+awsReach))
	}
}

// isTail reports that a tail can be a key's: long enough, no placeholder and,
// where words begin with the prefix too, no word.
func (f *keyFormat) isTail(tail []byte) bool {
	if len(tail) == wholeTail(f.rule) {
		if _, distinct := kindsOf(tail); distinct >= 8 {
			return true
		}
	}
	return len(tail) >= f.min && (!f.common || scrambled(tail)) && (varied(tail) || checked(tail))
}

// wholeTail is the length of the tail of keys that always have the same; such
// a tail need not look random, since one in thirty has no digit.
func wholeTail(rule string) int {
	switch rule {
	case "aws_key_id":
		return 16
	case "huggingface_token":
		return 34
	case "npm_token", "github_token":
		return 36
	}
	return 0
}

// awsReach is how far from a key id its secret is looked for.
const awsReach = 128

// awsSecret finds words of forty letters of base64 in [from, to), which
// beside a key id are its secret however they look.
func (j *job) awsSecret(from, to int) {
	const length = 40
	for at := from; at < to; at++ {
		if end := j.run(b64, at, to-at); end-at == length && varied(j.text[at:end]) {
			j.add("aws_secret", Secret, at, end)
			at = end
		} else {
			at = max(at, end)
		}
	}
}

// joined reports that the byte before at continues a word, so that what
// begins at at is the inside of something longer. The letter of an escape
// ("\n") and the digits of a percent escape ("%3D") continue nothing, nor do
// hyphens and underscores with no word before them: "_emphasis_", "-removed".
func (j *job) joined(at int) bool {
	if at == 0 || !word.in(j.text[at-1]) || j.escaped(at) {
		return false
	}
	from := (dash | under).back(j.text, at, maxMarks)
	return from > 0 && alnum.in(j.text[from-1]) && !j.escaped(from)
}

// goesOn reports that the word at [.., end) goes on, and so is the beginning of
// something longer: hyphens and underscores count where a word follows them.
func (j *job) goesOn(end int) bool {
	return alnum.in(j.byteAt((dash | under).run(j.text, end, maxMarks)))
}

// lettersAfter is goesOn for numbers, which hyphens do not lengthen.
func (j *job) lettersAfter(end int) bool {
	c := j.byteAt(end)
	return letters.in(c) || c == '_' && j.goesOn(end)
}

// maxMarks bounds the hyphens and underscores around a word.
const maxMarks = 8

// escaped reports that an escape of JSON, of a URL or of a terminal ends at at.
func (j *job) escaped(at int) bool {
	t := j.text
	switch {
	case at >= 3 && t[at-1] == 'm' && j.coloured(at):
		return true
	case at >= 2 && t[at-2] == '\\':
		c := t[at-1]
		return c == 'n' || c == 't' || c == 'r' || c == 'b' || c == 'f'
	case at >= 3 && t[at-3] == '%':
		return hexAny.in(t[at-2]) && hexAny.in(t[at-1])
	case at >= 6 && t[at-6] == '\\' && t[at-5] == 'u':
		return hexAny.run(t, at-4, 4) == at
	}
	return false
}

// coloured reports that a terminal's code for colours ends at at: "\x1b[1;31m",
// the escape as it is or as programs write it.
func (j *job) coloured(at int) bool {
	const longest = 16
	from := at - 1
	for from > 0 && at-from < longest && (digit.in(j.text[from-1]) || j.text[from-1] == ';') {
		from--
	}
	if j.byteAt(from-1) != '[' {
		return false
	}
	before := j.text[max(0, from-4) : from-1]
	for _, sign := range [...]string{"\x1b", "1b", "1B", "033", `\e`, "^["} {
		if bytes.HasSuffix(before, []byte(sign)) {
			return true
		}
	}
	return false
}

// pastEscape returns where the last escape in [start, end] ends, start if
// there is none: the letters of "\n" or "\u00e4" are none of the word.
func (j *job) pastEscape(start, end int) int {
	for at := end; at > start; at-- {
		if j.escaped(at) {
			return at
		}
	}
	return start
}

// varied reports that a tail is no placeholder: eight different bytes or
// more, and a digit or letters of both cases.
func varied(tail []byte) bool {
	var seen [256]bool
	var kinds alphabet
	distinct := 0
	for _, c := range tail {
		kinds |= sets[c]
		if !seen[c] {
			seen[c] = true
			distinct++
		}
	}
	return distinct >= 8 && (kinds&digit != 0 || kinds&uppers != 0 && kinds&(letters&^uppers) != 0)
}

// scrambled reports that digits stand among the letters, as they do not in
// words and names with a number at the end.
func scrambled(tail []byte) bool {
	digits, turns := 0, 0
	for i, c := range tail {
		if digit.in(c) {
			digits++
		}
		if i > 0 && digit.in(c) != digit.in(tail[i-1]) && alnum.in(c) && alnum.in(tail[i-1]) {
			turns++
		}
	}
	return digits > 0 && turns >= 2 || len(tail) >= longTail && caseTurns(tail)*4 > len(tail)
}

// longTail is the length from which letters whose case turns at random are as
// telling as digits among them.
const longTail = 20

func caseTurns(tail []byte) (n int) {
	for i := 1; i < len(tail); i++ {
		if letters.in(tail[i]) && letters.in(tail[i-1]) && uppers.in(tail[i]) != uppers.in(tail[i-1]) {
			n++
		}
	}
	return n
}

// checked reports that the last six of a tail's bytes are the CRC-32 of the
// rest in base 62, as GitHub and npm write it: then it is a key even if it
// looks like a placeholder.
func checked(tail []byte) bool {
	if len(tail) != 36 {
		return false
	}
	sum := uint64(0)
	for _, c := range tail[30:] {
		v, ok := base62(c)
		if !ok {
			return false
		}
		sum = sum*62 + v
	}
	return sum == uint64(crc32.ChecksumIEEE(tail[:30]))
}

// base62 is the value of a digit in the order 0-9, A-Z, a-z.
func base62(c byte) (uint64, bool) {
	switch {
	case digit.in(c):
		return uint64(c - '0'), true
	case uppers.in(c):
		return uint64(c-'A') + 10, true
	case letters.in(c):
		return uint64(c-'a') + 36, true
	}
	return 0, false
}
