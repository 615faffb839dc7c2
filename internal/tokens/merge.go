package tokens

import (
	"math"
	"math/bits"
)

// merger does byte pair encoding of pieces: of all neighbours the pair of the
// lowest rank is joined, the leftmost first, until none is a token. It is
// memory that is used again; a part is named by its start.
type merger struct {
	t *table
	// pairs is a tournament: the pair that starts at i is leaf i, in the second
	// half, and each node above is the lesser of its two. A pair is its rank and,
	// below it, its start; noPair is none.
	pairs      []uint64
	next, prev []int32
	ids        []uint32
	// parts and ahead are the tokens of a window and of the next one, pair those
	// of two tokens joined.
	parts, ahead, pair []part
}

// part is one token of a piece.
type part struct {
	id   uint32
	size int32 // bytes
}

const (
	noPair = math.MaxUint64
	// window is how much of a long piece is merged at once, bytes: so little that
	// it stays in the fastest memory.
	window = 512
	// borderTries bounds the borders that are tried before the window doubles.
	borderTries = 8
)

// merge calls visit with the tokens of a piece.
//
// A piece longer than size is merged window by window, so that memory does not
// grow with it. Tokens are those of the whole piece: a list of tokens is what
// merging gives for the joined text if, and only if, that holds for each two
// neighbours. Within a window it does; between the last token that is taken
// from one and the first of the next it is looked at.
func (m *merger) merge(piece []byte, size int, visit func(id, size int)) {
	m.parts = m.encode(m.parts[:0], piece[:min(size, len(piece))])
	for len(piece) > size {
		n, bytes := m.border(piece, size)
		if n == 0 {
			size *= 2
			m.parts = m.encode(m.parts[:0], piece[:min(size, len(piece))])
			continue
		}
		tell(m.parts[:n], visit)
		piece = piece[bytes:]
		m.parts, m.ahead = m.ahead, m.parts
	}
	tell(m.parts, visit)
}

func tell(parts []part, visit func(id, size int)) {
	for _, p := range parts {
		visit(int(p.id), int(p.size))
	}
}

// border is how many tokens of the window at the start of a piece stay what
// they are, and their bytes, 0 where that is not seen; ahead are the tokens of
// the window behind them.
func (m *merger) border(piece []byte, size int) (n, bytes int) {
	for n < len(m.parts) && bytes+int(m.parts[n].size) <= size-maxToken {
		bytes += int(m.parts[n].size)
		n++
	}
	for range borderTries {
		if n == 0 {
			return 0, 0
		}
		m.ahead = m.encode(m.ahead[:0], piece[bytes:min(bytes+size, len(piece))])
		last, first := m.parts[n-1], m.ahead[0]
		m.pair = m.encode(m.pair[:0], piece[bytes-int(last.size):bytes+int(first.size)])
		if len(m.pair) == 2 && m.pair[0] == last && m.pair[1] == first {
			return n, bytes
		}
		n--
		bytes -= int(last.size)
	}
	return 0, 0
}

// encode appends the tokens of a text that is merged at once.
func (m *merger) encode(dst []part, text []byte) []part {
	m.begin(text)
	for m.pairs[1] != noPair {
		rank, at := uint32(m.pairs[1]>>32), int32(uint32(m.pairs[1]))
		m.join(text, rank, at)
	}
	for i := int32(0); int(i) < len(text); i = m.next[i] {
		dst = append(dst, part{m.ids[i], m.next[i] - i})
	}
	return dst
}

// begin makes each byte a part.
func (m *merger) begin(text []byte) {
	n := len(text)
	leaves := 1 << bits.Len(uint(n-1))
	if cap(m.pairs) < 2*leaves {
		m.pairs = make([]uint64, 2*leaves)
		m.next, m.prev, m.ids = make([]int32, leaves), make([]int32, leaves), make([]uint32, leaves)
	}
	m.pairs = m.pairs[:2*leaves]
	row := m.pairs[leaves:]
	for i, c := range text {
		m.next[i], m.prev[i], m.ids[i] = int32(i+1), int32(i-1), m.t.one[c]
		row[i] = noPair
		if i+1 < n {
			if rank := m.t.two[int(c)<<8|int(text[i+1])]; rank != none {
				row[i] = uint64(rank)<<32 | uint64(i)
			}
		}
	}
	for i := n; i < leaves; i++ {
		row[i] = noPair
	}
	for i := leaves - 1; i > 0; i-- {
		m.pairs[i] = min(m.pairs[2*i], m.pairs[2*i+1])
	}
}

// join makes one part, the token of a rank, of the one that starts at i and
// the one after it.
func (m *merger) join(text []byte, rank uint32, i int32) {
	gone := m.next[i]
	after := m.next[gone]
	m.ids[i], m.next[i] = rank, after
	m.set(gone, noPair)
	m.score(text, i, after)
	if int(after) < len(text) {
		m.prev[after] = i
	}
	if before := m.prev[i]; before >= 0 {
		m.score(text, before, i)
	}
}

// score looks up the pair of the parts that start at i and at mid.
func (m *merger) score(text []byte, i, mid int32) {
	if int(mid) < len(text) {
		if rank := m.t.find(text[i:m.next[mid]]); rank != none {
			m.set(i, uint64(rank)<<32|uint64(i))
			return
		}
	}
	m.set(i, noPair)
}

// set changes a leaf, and what is above it as far as that changes.
func (m *merger) set(i int32, pair uint64) {
	at := len(m.pairs)/2 + int(i)
	m.pairs[at] = pair
	for at /= 2; at > 0; at /= 2 {
		least := min(m.pairs[2*at], m.pairs[2*at+1])
		if m.pairs[at] == least {
			return
		}
		m.pairs[at] = least
	}
}
