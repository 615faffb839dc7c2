package sanitizer

import (
	"crypto/sha256"
	"encoding/binary"
)

// maxBlocks bounds the numbering table: 34 MB of distinct text. The table
// takes 16 MiB when full.
const maxBlocks = 1 << 19

// numbering gives block hashes their ids, which count by first appearance. It
// forgets as [recent] does, and finds a hash by one access to memory, in a
// table that is larger than what the processor keeps near, where a map takes
// five. It holds no pointer.
type numbering struct {
	young, old generation
	half       int // of what may be held
	next       int64
	// forgotten counts the hashes that were dropped.
	forgotten int64
}

func newNumbering(limit int) *numbering {
	return &numbering{young: newGeneration(), old: newGeneration(), half: limit / 2}
}

// id is the number of a hash. The hash is cut to 64 bits: that a block among a
// billion gets the number of one of the half million in the table has a chance
// of 3e-5.
func (n *numbering) id(h *[sha256.Size]byte) int64 {
	key := max(1, binary.BigEndian.Uint64(h[:8])) // 0 is a free place
	place := n.young.find(key)
	if place.key == key {
		return place.id
	}
	if n.young.used == n.half {
		n.turn()
		place = n.young.find(key)
	}
	id := n.next
	if before := n.old.find(key); before.key == key && before.id != taken {
		id, before.id = before.id, taken
		n.old.moved++
	} else {
		n.next++
	}
	*place = numbered{key, id}
	n.young.grown()
	return id
}

// turn forgets the old generation but what was moved, and begins a young one.
func (n *numbering) turn() {
	n.forgotten += int64(n.old.used - n.old.moved)
	clear(n.old.places)
	n.young, n.old = generation{places: n.old.places}, n.young
}

// generation is a table of open addressing, at most half of it used.
type generation struct {
	places      []numbered
	used, moved int
}

type numbered struct {
	key uint64 // 0 = free
	id  int64
}

// taken is the id of what is in the young generation now.
const taken = -1

func newGeneration() generation { return generation{places: make([]numbered, 64)} }

// find is the place of a key, or that where it belongs.
func (g *generation) find(key uint64) *numbered {
	mask := uint64(len(g.places) - 1)
	for at := key & mask; ; at = (at + 1) & mask {
		if p := &g.places[at]; p.key == key || p.key == 0 {
			return p
		}
	}
}

// grown counts one more, and makes room for the next.
func (g *generation) grown() {
	if g.used++; 2*g.used <= len(g.places) {
		return
	}
	before := g.places
	g.places = make([]numbered, 2*len(before))
	for _, p := range before {
		if p.key != 0 {
			*g.find(p.key) = p
		}
	}
}
