package leaktest

import (
	"bytes"
	"encoding/binary"
)

// index finds many needles in one pass, by their first eight bytes; a corpus
// has tens of thousands.
type index struct {
	needles [][]byte
	short   []int // of less than eight bytes
	byHead  map[uint64][]int
	// maybe has a bit for each head, by its hash: most places are ruled out
	// without the map.
	maybe [1 << 13]uint64
}

const headBytes = 8

func newIndex(needles [][]byte) *index {
	x := &index{needles: needles, byHead: make(map[uint64][]int)}
	for i, needle := range needles {
		if len(needle) < headBytes {
			x.short = append(x.short, i)
			continue
		}
		head := binary.LittleEndian.Uint64(needle)
		x.byHead[head] = append(x.byHead[head], i)
		word, bit := slot(head)
		x.maybe[word] |= bit
	}
	return x
}

// slot is where a head is noted; the multiplier is that of Fibonacci hashing.
func slot(head uint64) (word int, bit uint64) {
	h := head * 0x9e3779b97f4a7c15
	return int(h >> 51), 1 << (h >> 45 & 63)
}

// find calls hit for each needle in data, once or more.
func (x *index) find(data []byte, hit func(needle int)) {
	for _, i := range x.short {
		if bytes.Contains(data, x.needles[i]) {
			hit(i)
		}
	}
	for at := 0; at+headBytes <= len(data); at++ {
		head := binary.LittleEndian.Uint64(data[at:])
		word, bit := slot(head)
		if x.maybe[word]&bit == 0 {
			continue
		}
		for _, i := range x.byHead[head] {
			if bytes.HasPrefix(data[at:], x.needles[i]) {
				hit(i)
			}
		}
	}
}
