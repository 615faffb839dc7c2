package sanitizer

import (
	"crypto/sha256"

	"github.com/lambdac/lambdac/trace"
)

const (
	// blockBytes is the size of a prefix block: content text after JSON
	// unescaping.
	blockBytes = 64
	// maxBounds bounds the ends of texts of one request that are kept for
	// finding its parent.
	maxBounds = 256
)

// block is the chained hash of a block, cut to 128 bits.
type block [16]byte

// chainer turns the texts of a request into block ids:
//
//	h_0 = HMAC(key, model, adapter, cache salt)
//	h_i = SHA-256(h_{i-1} ‖ n_i ‖ bytes_i ‖ borders_i)
//
// Each hash is the key of the next, and none ever leaves the chainer, so this
// is as good a secret as an HMAC each (the cascade of Bellare, Canetti and
// Krawczyk, FOCS 1996) in two of its four compressions.
//
// bytes_i are n_i ≤ 64 bytes of the texts joined; borders_i are place and role
// of each message that starts in the block, so that equal text in other roles
// differs. The last block of a request may be short and has an id of its own.
// Ids count from 0 by first appearance; hashes never leave the chainer.
type chainer struct {
	h [sha256.Size]byte
	// in is the input of the next hash: h, n, and n bytes; borders follow at
	// the end of a block.
	in      []byte
	borders []byte
	numbers *numbering
	ids     []int64
	// bounds are the hashes at the ends of the last texts, roles their roles;
	// last is the hash of all of them.
	bounds []block
	roles  []trace.Role
	texts  int
	last   block
}

func newChainer() *chainer {
	return &chainer{
		in:      make([]byte, 0, 2*blockBytes),
		numbers: newNumbering(maxBlocks),
	}
}

// start begins a request whose chain starts at h0.
func (c *chainer) start(h0 *[sha256.Size]byte) {
	c.h = *h0
	c.ids = c.ids[:0]
	c.bounds, c.roles = c.bounds[:0], c.roles[:0]
	c.texts, c.last = 0, block{}
	c.rewind()
}

// rewind begins a block.
func (c *chainer) rewind() {
	c.in = append(append(c.in[:0], c.h[:]...), 0)
	c.borders = c.borders[:0]
}

// filled is the number of bytes in the open block.
func (c *chainer) filled() int { return len(c.in) - sha256.Size - 1 }

// add appends one text.
func (c *chainer) add(role trace.Role, text []byte) {
	c.borders = append(c.borders, byte(c.filled()), byte(role))
	for len(text) > 0 {
		n := min(blockBytes-c.filled(), len(text))
		c.in = append(c.in, text[:n]...)
		text = text[n:]
		if c.filled() == blockBytes {
			c.close()
		}
	}
	c.texts++
	c.last = c.peek()
	if len(c.bounds) == maxBounds { // forget the older half: parents are near the end
		c.bounds = append(c.bounds[:0], c.bounds[maxBounds/2:]...)
		c.roles = append(c.roles[:0], c.roles[maxBounds/2:]...)
	}
	c.bounds = append(c.bounds, c.last)
	c.roles = append(c.roles, role)
}

// close ends the open block and numbers it.
func (c *chainer) close() {
	c.hash()
	c.ids = append(c.ids, c.numbers.id(&c.h))
	c.rewind()
}

// finish ends the request and returns its ids, which are the caller's.
func (c *chainer) finish() []int64 {
	if c.filled() > 0 {
		c.close()
	}
	clear(c.in[:cap(c.in)]) // the last of the text
	return append([]int64{}, c.ids...)
}

// peek is the hash of all content up to here, the open block left open.
func (c *chainer) peek() block {
	h := c.h
	n := len(c.in)
	c.hash()
	b := block(c.h[:len(block{})])
	c.h, c.in = h, c.in[:n]
	return b
}

// hash sets h to that of the open block.
func (c *chainer) hash() {
	c.in[sha256.Size] = byte(c.filled())
	c.in = append(c.in, c.borders...)
	c.h = sha256.Sum256(c.in)
}
