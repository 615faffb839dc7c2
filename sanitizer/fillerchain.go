package sanitizer

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/lambdac/lambdac/trace"
)

// blockTokens is the size of a prefix block in tokens.
const blockTokens = 16

// firstByteBlock is where the ids of blocks of bytes begin in a filler trace,
// whose exchanges have either these or blocks of tokens.
const firstByteBlock = 1 << 40

// tokenChain turns the tokens of a prompt into block ids and into words:
//
//	h_0 = HMAC(key, model, adapter, cache salt)
//	h_i = HMAC(key, h_{i-1} ‖ n_i ‖ tokens_i ‖ borders_i)
//
// A block's words are read off its hash. tokens_i are n_i ≤ 16 tokens of the
// texts joined, the last block may be short and has an id of its own; borders_i
// are place and role of each text that starts in the block. Ids count from 0 by
// first appearance; hashes never leave the chain.
type tokenChain struct {
	mac     hash.Hash
	h       [hashSize]byte
	open    []byte // the tokens of the open block, four bytes each
	borders []byte
	in      []byte
	numbers *numbering
	ids     []int64
	// hashes are those of the request's blocks, total its tokens so far.
	hashes [][hashSize]byte
	total  int
}

func newTokenChain(keys *keyring) *tokenChain {
	return &tokenChain{
		mac:     hmac.New(sha256.New, keys.derive("blocks").key),
		numbers: newNumbering(maxBlocks),
	}
}

// start begins a request.
func (c *tokenChain) start(h0 *[hashSize]byte) {
	c.h, c.ids, c.total = *h0, c.ids[:0], 0
	c.open, c.borders, c.hashes = c.open[:0], c.borders[:0], c.hashes[:0]
}

// border begins a text.
func (c *tokenChain) border(role trace.Role) {
	c.borders = append(c.borders, byte(c.total%blockTokens), byte(role))
}

// add takes the next token.
func (c *tokenChain) add(id int) {
	c.open = binary.LittleEndian.AppendUint32(c.open, uint32(id))
	c.total++
	if len(c.open) == 4*blockTokens {
		c.close()
	}
}

// close ends the open block and numbers it.
func (c *tokenChain) close() {
	c.in = append(append(c.in[:0], c.h[:]...), byte(len(c.open)/4))
	c.in = append(append(c.in, c.open...), c.borders...)
	c.mac.Reset()
	c.mac.Write(c.in)
	c.mac.Sum(c.h[:0])
	c.hashes = append(c.hashes, c.h)
	c.ids = append(c.ids, c.numbers.id(&c.h))
	c.open, c.borders = c.open[:0], c.borders[:0]
}

// finish ends the request and returns its ids, which are the caller's.
func (c *tokenChain) finish() []int64 {
	if len(c.open) > 0 {
		c.close()
	}
	return append([]int64{}, c.ids...)
}

// append appends words of the finished request.
func (c *tokenChain) append(dst []byte, span wordSpan) []byte {
	for i := span.from; i < span.from+span.n; i++ {
		if i > span.from {
			dst = append(dst, ' ')
		}
		dst = appendWord(dst, &c.hashes[i/blockTokens], i%blockTokens)
	}
	return dst
}
