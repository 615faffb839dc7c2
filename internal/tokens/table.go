package tokens

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
)

// table finds the id of a token by its bytes: open addressing without a
// pointer in it, so that the collector passes over the quarter of a million
// tokens. An id is also the rank: of two pairs the lower one is joined first.
type table struct {
	text  []byte   // of all tokens, in the order of their ids
	start []uint32 // start[id] is where it begins in text
	// short are the tokens of at most shortToken bytes, by all of these; slots
	// the others, the upper half of the hash and the id plus one; 0 = free.
	// A search begins at the hash & mask.
	short []shortSlot
	slots []uint64
	mask  uint64
	// maybe has a bit for the hash of each token: most pairs are none, which
	// costs less to see here.
	maybe [1 << maybeBits / 64]uint64
	// one and two are the ids of the tokens of one byte and of two, where
	// merging begins; none where there is no such token.
	one [1 << 8]uint32
	two [1 << 16]uint32
	// three are the ids of the characters that [threeBytes] sees: near each other
	// for a script, as the slots of hashes are not.
	three [1 << 16]uint32
}

// shortSlot is a token that fits into a word.
type shortSlot struct {
	key uint64 // of [shortKey]; 0 = free
	id  uint32
}

const (
	// shortToken is the longest token of which the key is all of it: half of
	// them, and nearly all that merging meets.
	shortToken = 7
	// none is no token.
	none = ^uint32(0)
	// maxToken is the longest token of the embedded vocabularies, bytes.
	maxToken = 128
	// maybeBits is the size of the table of hashes: one bit in ten is set.
	maybeBits = 21
)

var errVocabulary = errors.New("not a list of tokens by rank, from 0")

// newTable reads a vocabulary in tiktoken's form: a line for each token, its
// bytes in base64 and its rank, in the order of ranks.
func newTable(list []byte) (*table, error) {
	t := &table{start: []uint32{0}}
	for line := range bytes.Lines(list) {
		spelled, rank, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		if n, err := strconv.Atoi(string(rank)); err != nil || n != t.len() {
			return nil, errVocabulary
		}
		text, err := base64.StdEncoding.AppendDecode(t.text, spelled)
		if size := len(text) - len(t.text); err != nil || size == 0 || size > maxToken {
			return nil, errVocabulary
		}
		t.text = text
		t.start = append(t.start, uint32(len(text)))
	}
	t.index()
	return t, t.checkBytes()
}

// index makes what finds tokens.
func (t *table) index() {
	fill(t.one[:], none)
	fill(t.two[:], none)
	fill(t.three[:], none)
	// Half of them are free, so that a search ends soon.
	size := 1 << bits.Len(uint(t.len()))
	t.short, t.slots, t.mask = make([]shortSlot, size), make([]uint64, size), uint64(size-1)
	for id := range uint32(t.len()) {
		token := t.token(id)
		switch len(token) {
		case 1:
			t.one[token[0]] = id
		case 2:
			t.two[int(token[0])<<8|int(token[1])] = id
		case 3:
			t.three[threeBytes(token)] = id
		}
		h := hash(token)
		t.maybe[h%(1<<maybeBits)/64] |= 1 << (h % 64)
		if len(token) <= shortToken {
			at := h & t.mask
			for t.short[at].key != 0 {
				at = (at + 1) & t.mask
			}
			t.short[at] = shortSlot{shortKey(token), id}
			continue
		}
		at := h & t.mask
		for t.slots[at] != 0 {
			at = (at + 1) & t.mask
		}
		t.slots[at] = h>>32<<32 | uint64(id+1)
	}
}

// checkBytes makes sure that any text has tokens.
func (t *table) checkBytes() error {
	for b, id := range t.one {
		if id == none {
			return fmt.Errorf("byte %#x is no token", b)
		}
	}
	return nil
}

func fill(list []uint32, value uint32) {
	for i := range list {
		list[i] = value
	}
}

// len is the number of tokens.
func (t *table) len() int { return len(t.start) - 1 }

// token is the text of an id.
func (t *table) token(id uint32) []byte { return t.text[t.start[id]:t.start[id+1]] }

// find is the id of a text of at least one byte, none where it is no token.
func (t *table) find(text []byte) uint32 {
	switch {
	case len(text) == 2:
		return t.two[int(text[0])<<8|int(text[1])]
	case len(text) == 3:
		if r := threeBytes(text); r != 0 {
			return t.three[r]
		}
	case len(text) > maxToken:
		return none
	}
	h := hash(text)
	if t.maybe[h%(1<<maybeBits)/64]&(1<<(h%64)) == 0 {
		return none
	}
	if len(text) <= shortToken {
		key := shortKey(text)
		for at := h; ; at++ {
			switch slot := &t.short[at&t.mask]; slot.key {
			case key:
				return slot.id
			case 0:
				return none
			}
		}
	}
	for at := h; ; at++ {
		slot := t.slots[at&t.mask]
		if slot == 0 {
			return none
		}
		if slot>>32 == h>>32 && bytes.Equal(t.token(uint32(slot)-1), text) {
			return uint32(slot) - 1
		}
	}
}

// shortKey is a text of one to shortToken bytes, and its length above them.
func shortKey(text []byte) uint64 {
	n := len(text)
	key := uint64(n) << 56
	if n >= 4 {
		return key | uint64(binary.LittleEndian.Uint32(text)) | uint64(binary.LittleEndian.Uint32(text[n-4:]))<<(8*(n-4))
	}
	return key | uint64(text[0]) | uint64(text[n/2])<<(8*(n/2)) | uint64(text[n-1])<<(8*(n-1))
}

// hash takes eight bytes at a time, and mixes by multiplying as wyhash does.
func hash(text []byte) uint64 {
	if len(text) <= shortToken {
		return mix(shortKey(text))
	}
	h := uint64(len(text))
	for len(text) > 8 {
		h = mix(h ^ binary.LittleEndian.Uint64(text))
		text = text[8:]
	}
	var last [8]byte
	copy(last[:], text)
	return mix(h ^ binary.LittleEndian.Uint64(last[:]))
}

func mix(x uint64) uint64 {
	hi, lo := bits.Mul64(x^0x2d358dccaa6c78a5, 0x8bb84b93962eacc9)
	return hi ^ lo
}
