package datasets

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"math/bits"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonReader takes the values of a JSON text one by one, without reflection:
// the formats have rows of a known shape, and reading them so is eight times
// as fast. What a format does not take it must skip.
//
// The first fault stays, and every call from then on takes nothing: a format
// reads on and asks for the fault at the end.
type jsonReader struct {
	text []byte
	at   int
	// fresh: an object or array was opened and nothing of it taken.
	fresh bool
	depth int
	// name is that of the member taken last, for the message.
	name   []byte
	fault  jsonFault
	found  byte   // the first of the value that is not as wanted
	wanted string // what is
	// slab is what lists of ids are cut from.
	slab []int64
}

// jsonFault is what is wrong with a text.
type jsonFault uint8

const (
	jsonSound  jsonFault = iota
	jsonShort            // it ends inside of a value
	jsonBroken           // it is no JSON at the reader's place
	jsonOther            // a value is of another kind than wanted
)

const (
	// maxDepth bounds how deep values may nest.
	maxDepth = 1000
	// slabIDs is the size of a slab, 32 KiB.
	slabIDs = 4096
)

// reset starts on a text.
func (j *jsonReader) reset(text []byte) {
	j.text, j.at, j.fresh, j.depth, j.name, j.fault = text, 0, false, 0, nil, jsonSound
}

// fail notes a fault, unless there was one.
func (j *jsonReader) fail(f jsonFault) {
	if j.fault == jsonSound {
		j.fault = f
	}
}

func (j *jsonReader) otherThan(wanted string) {
	if j.fault == jsonSound {
		j.fault, j.found, j.wanted = jsonOther, j.text[j.at], wanted
	}
}

// message says what is wrong, without the text itself.
func (j *jsonReader) message() string {
	switch j.fault {
	case jsonSound:
		return ""
	case jsonOther:
		kind := jsontext.Kind(j.found).String()
		switch c := j.found; {
		case c == '{':
			kind = "object"
		case c == '[':
			kind = "array"
		case c == '-' || c >= '0' && c <= '9':
			kind = "number"
		case c == 't' || c == 'f':
			kind = "boolean"
		case c == '"':
			kind = "string"
		}
		if len(j.name) == 0 {
			return fmt.Sprintf("a JSON %s, want %s", kind, j.wanted)
		}
		return fmt.Sprintf("%s: a JSON %s, want %s", clip(string(j.name)), kind, j.wanted)
	}
	return fmt.Sprintf("no JSON object of this format: column %d is no JSON", j.at+1)
}

// kind is the first byte of the next value or end; 0 = there was a fault.
func (j *jsonReader) kind() byte {
	if j.fault != jsonSound {
		return 0
	}
	for ; j.at < len(j.text); j.at++ {
		switch c := j.text[j.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	j.fail(jsonShort)
	return 0
}

// take is kind, and goes behind the byte where it is c.
func (j *jsonReader) take(c byte) bool {
	if j.kind() != c {
		return false
	}
	j.at++
	return true
}

// end notes what stands behind a value that ought to be the last.
func (j *jsonReader) end() {
	for ; j.fault == jsonSound && j.at < len(j.text); j.at++ {
		switch j.text[j.at] {
		case ' ', '\t', '\r', '\n':
		default:
			j.fail(jsonBroken)
			return
		}
	}
}

// open goes into an object ('{') or array ('['); false where it is null.
func (j *jsonReader) open(bracket byte) bool {
	if j.depth > maxDepth {
		j.fail(jsonBroken)
	}
	if !j.take(bracket) {
		if j.null() {
			return false
		}
		j.otherThan(map[byte]string{'{': "an object", '[': "an array"}[bracket])
		return false
	}
	j.depth++
	j.fresh = true
	return true
}

// more tells whether another element of the array stands there, and goes to
// it, or behind the array's end.
func (j *jsonReader) more() bool { return j.separated(']') }

// members goes through an object: to the value of each member, which must be
// taken. It ends at the first fault.
func (j *jsonReader) members() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if !j.open('{') {
			return
		}
		for {
			name, ok := j.member()
			if !ok || !yield(name) {
				return
			}
		}
	}
}

// member goes to the value of the next member of an object and returns its
// name, or behind the object's end.
func (j *jsonReader) member() (name []byte, ok bool) {
	if !j.separated('}') {
		return nil, false
	}
	if j.kind() != '"' {
		j.fail(jsonBroken)
		return nil, false
	}
	j.name = nil
	name = j.string()
	if !j.take(':') {
		j.fail(jsonBroken)
		return nil, false
	}
	j.name = name
	return name, true
}

func (j *jsonReader) separated(end byte) bool {
	c := j.kind()
	if c == end {
		j.at++
		j.depth--
		j.fresh = false
		return false
	}
	if !j.fresh {
		if c != ',' {
			j.fail(jsonBroken)
			return false
		}
		j.at++
	}
	j.fresh = false
	return j.fault == jsonSound
}

// null takes a null; false where something else stands there.
func (j *jsonReader) null() bool { return j.kind() == 'n' && j.word("null") }

// boolean takes true or false; ok is false where it is null.
func (j *jsonReader) boolean() (value, ok bool) {
	switch j.kind() {
	case 't':
		return true, j.word("true")
	case 'f':
		return false, j.word("false")
	}
	if !j.null() {
		j.otherThan("true or false")
	}
	return false, false
}

// word takes one of JSON's three.
func (j *jsonReader) word(word string) bool {
	rest := j.text[j.at:]
	n := min(len(rest), len(word))
	switch {
	case string(rest[:n]) != word[:n]:
		j.fail(jsonBroken)
	case n < len(word):
		j.fail(jsonShort)
	default:
		j.at += n
		return true
	}
	return false
}

// string takes a string, unescaped; nil where it is null. It is valid as long
// as the text.
func (j *jsonReader) string() []byte {
	if !j.take('"') {
		if !j.null() {
			j.otherThan("a string")
		}
		return nil
	}
	start := j.at
	j.quoted()
	if j.fault != jsonSound {
		return nil
	}
	inner := j.text[start : j.at-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	text, err := jsontext.AppendUnquote(nil, j.text[start-1:j.at])
	if err != nil && text == nil {
		j.fail(jsonBroken)
	}
	return text
}

// quoted goes behind the end of the string that it is in.
func (j *jsonReader) quoted() {
	for {
		n := bytes.IndexByte(j.text[j.at:], '"')
		if n < 0 {
			j.fail(jsonShort)
			return
		}
		j.at += n + 1
		slashes := 0
		for j.text[j.at-2-slashes] == '\\' { // the quote at its begin ends this
			slashes++
		}
		if slashes%2 == 0 {
			return
		}
	}
}

// number takes a number, as it is written; nil where it is null.
func (j *jsonReader) number() []byte { return j.numeral("a number") }

func (j *jsonReader) numeral(wanted string) []byte {
	if c := j.kind(); c != '-' && (c < '0' || c > '9') {
		if !j.null() {
			j.otherThan(wanted)
		}
		return nil
	}
	for n, c := range j.text[j.at:] {
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c|0x20 != 'e' {
			number := j.text[j.at : j.at+n]
			j.at += n
			return number
		}
	}
	j.fail(jsonShort) // it may go on
	return nil
}

// int takes a whole number.
func (j *jsonReader) int() (n optional) {
	const wanted = "a whole number"
	j.kind()
	at := j.at
	text := j.numeral(wanted)
	if text == nil {
		return n
	}
	magnitude, width := leadingInt(bytes.TrimPrefix(text, []byte{'-'}))
	if text[0] == '-' {
		magnitude = -magnitude
		width++
	}
	if width != len(text) || width > maxDigits {
		j.at = at
		j.otherThan(wanted)
	}
	return optional{magnitude, true}
}

// optional is a number that may be unknown.
type optional struct {
	n     int64
	known bool
}

// ids takes a list of whole numbers, 0 or more; nil where it is null. Lists are
// most of the bytes of the formats that have them.
func (j *jsonReader) ids() []int64 {
	if !j.take('[') {
		if !j.null() {
			j.otherThan("a list of ids")
		}
		return nil
	}
	end := bytes.IndexByte(j.text[j.at:], ']')
	if end < 0 {
		j.fail(jsonShort)
		return nil
	}
	inner := j.text[j.at : j.at+end]
	if most := bytes.Count(inner, []byte{','}) + 1; cap(j.slab)-len(j.slab) < most {
		j.slab = make([]int64, 0, max(slabIDs, most))
	}
	whole, ok := appendIDs(j.slab, inner)
	if !ok {
		j.at--
		j.otherThan("a list of ids")
		return nil
	}
	list := whole[len(j.slab):len(whole):len(whole)]
	j.slab = whole
	j.at += end + 1
	return list
}

// appendIDs reads the inside of a list; ok is false where it is none of whole
// numbers, 0 or more.
func appendIDs(dst []int64, text []byte) (ids []int64, ok bool) {
	blank := func(i int) int {
		for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
			i++
		}
		return i
	}
	i := blank(0)
	if i == len(text) {
		return dst, true
	}
	for {
		n, width := leadingInt(text[i:])
		if width == 0 || width > maxDigits {
			return dst, false
		}
		dst = append(dst, n)
		i = blank(i + width)
		if i == len(text) {
			return dst, true
		}
		if text[i] != ',' {
			return dst, false
		}
		i = blank(i + 1)
	}
}

// maxDigits bounds whole numbers: 10¹⁸ − 1 is in an int64.
const maxDigits = 18

// leadingInt reads the decimal digits that a text begins with, eight at a
// time; width is their number. n is right up to maxDigits of them.
func leadingInt(text []byte) (n int64, width int) {
	const each = 0x0101010101010101
	for len(text)-width >= 8 {
		digits := binary.LittleEndian.Uint64(text[width:]) ^ '0'*each
		// The high bit of each byte that is no digit, right up to the first.
		others := ((digits + (0x80-10)*each) | digits) & (0x80 * each)
		k := bits.TrailingZeros64(others) / 8
		// Pairs, then fours, then all eight: the first digit is the lowest byte.
		v := digits << (64 - 8*k)
		v = v*10 + v>>8
		v = ((v&0xff000000ff)*(100+1_000_000<<32) + (v>>16&0xff000000ff)*(1+10_000<<32)) >> 32
		n = n*powers[k] + int64(v)
		width += k
		if k < 8 {
			return n, width
		}
	}
	for ; width < len(text) && text[width]-'0' <= 9; width++ {
		n = n*10 + int64(text[width]-'0')
	}
	return n, width
}

var powers = [...]int64{1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000}

// skip goes behind a value. What is in it is checked for its form, but not in
// a list without strings and lists.
func (j *jsonReader) skip() {
	switch c := j.kind(); c {
	case 0:
	case '{':
		for range j.members() {
			j.skip()
		}
	case '[':
		if j.skipFlat() {
			return
		}
		for j.open('['); j.more(); {
			j.skip()
		}
	case '"':
		j.at++
		j.quoted()
	case 't', 'f':
		j.boolean()
	case 'n':
		j.null()
	default:
		if c != '-' && (c < '0' || c > '9') {
			j.fail(jsonBroken)
		}
		j.number()
	}
}

// skipFlat goes behind a list in which nothing is quoted or bracketed.
func (j *jsonReader) skipFlat() bool {
	n := bytes.IndexByte(j.text[j.at:], ']')
	if n < 0 {
		j.fail(jsonShort)
		return true
	}
	inner := j.text[j.at+1 : j.at+n]
	if bytes.IndexByte(inner, '"') >= 0 || bytes.IndexByte(inner, '[') >= 0 || bytes.IndexByte(inner, '{') >= 0 {
		return false
	}
	j.at += n + 1
	return true
}

// value takes a value as it is written.
func (j *jsonReader) value() []byte {
	j.kind()
	start := j.at
	j.skip()
	if j.fault != jsonSound {
		return nil
	}
	return j.text[start:j.at]
}
