package sanitizer

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"github.com/lambdac/lambdac/internal/tokens"
)

const (
	hashSize = sha256.Size
	// hashWords is the number of words that one hash gives.
	hashWords = hashSize / 2
)

// shortWords are the words, two or three letters each, and their lengths above
// these.
var shortWords = func() (list []uint32) {
	for _, word := range tokens.Short() {
		var letters [4]byte
		letters[3] = byte(copy(letters[:3], word))
		list = append(list, binary.LittleEndian.Uint32(letters[:]))
	}
	return list
}()

// appendWord appends word i, 0 to 15, of a hash.
func appendWord(dst []byte, h *[hashSize]byte, i int) []byte {
	word := shortWords[int(binary.BigEndian.Uint16(h[2*i:]))%len(shortWords)]
	return binary.LittleEndian.AppendUint32(dst, word)[:len(dst)+int(word>>24)]
}

// wordStream is an endless list of words that follows from a keyed hash.
type wordStream struct {
	keys *keyring
	h    [hashSize]byte
	used int
}

// append appends n words joined by a byte.
func (w *wordStream) append(dst []byte, n int, joint byte) []byte {
	for range n {
		if w.used > 0 {
			dst = append(dst, joint)
			if w.used%hashWords == 0 {
				w.h = w.keys.digest("next", w.h[:])
			}
		}
		dst = appendWord(dst, &w.h, w.used%hashWords)
		w.used++
	}
	return dst
}

// digit is the next digit; it spends a word.
func (w *wordStream) digit() byte {
	if w.used > 0 && w.used%hashWords == 0 {
		w.h = w.keys.digest("next", w.h[:])
	}
	d := binary.BigEndian.Uint16(w.h[w.used%hashWords*2:]) % 10
	w.used++
	return '0' + byte(d)
}

// appendDigits appends a JSON number like raw: other digits, as many, but for
// the exponent. A number of one digit stays below ten.
func appendDigits(dst, raw []byte, words *wordStream) []byte {
	lead := true
	for i, c := range raw {
		switch {
		case c|0x20 == 'e':
			return append(dst, raw[i:]...)
		case !isDigit(c):
			lead = lead && c != '.'
			dst = append(dst, c)
		default:
			d := words.digit()
			if lead && d == '0' && i+1 < len(raw) && isDigit(raw[i+1]) {
				d = '1'
			}
			dst, lead = append(dst, d), false
		}
	}
	return dst
}

// cutter finds where the pieces of a text end in what replaces it, token by
// token.
type cutter struct {
	ends  []int32 // lengths of the pieces
	cuts  []int32
	piece int
	left  int // bytes of the text from the last whole token to the end of the piece
	start int // of the piece in what replaces the text
	begun bool
}

// before is called before a token of size bytes is replaced; at is the length
// of what has been written. Pieces that end before the token does end here.
func (c *cutter) before(at, size int) {
	if !c.begun {
		c.begun = true
		c.next()
	}
	for c.piece < len(c.ends) && c.left < size {
		c.cuts = append(c.cuts, int32(at-c.start))
		c.start = at
		c.piece++
		c.next()
	}
	c.left -= size
}

// room is how many bytes of the text are left of the piece at hand, at least
// one: pieces that are over end here.
func (c *cutter) room(at int) int {
	c.before(at, 1)
	c.left++
	if c.piece == len(c.ends) {
		return math.MaxInt
	}
	return c.left
}

// next adds the length of the piece that begins.
func (c *cutter) next() {
	if c.piece < len(c.ends) {
		c.left += int(c.ends[c.piece])
	}
}

// finish ends the last piece; nil where there were none. The lengths add up.
func (c *cutter) finish(at int) []int32 {
	for len(c.cuts) < len(c.ends) {
		c.cuts = append(c.cuts, int32(at-c.start))
		c.start = at
	}
	return c.cuts
}
