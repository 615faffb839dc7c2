package tokens

import "math"

const (
	// maxToken is the longest token of the embedded vocabularies, bytes.
	maxToken = 128
	// smallPiece is the longest piece for which looking at every pair for each
	// merge is faster than a heap.
	smallPiece = 64
	noRank     = math.MaxInt
	noTwo      = math.MaxInt32 // noRank in the table of two bytes
)

// rank is that of a pair joined, noRank where it is no token.
func (v *Vocabulary) rank(pair []byte) int {
	switch {
	case len(pair) == 2:
		if r := v.twos[int(pair[0])<<8|int(pair[1])]; r != noTwo {
			return int(r)
		}
	case len(pair) <= maxToken:
		if h := hash(pair); v.maybe[h/64]&(1<<(h%64)) == 0 {
			return noRank
		}
		if r, ok := v.ranks[string(pair)]; ok {
			return r
		}
	}
	return noRank
}

// maybeBits is the size of the table of hashes: one bit in ten is set.
const maybeBits = 21

// hash is that of Fowler, Noll and Vo (FNV-1a), the upper bits of it.
func hash[T string | []byte](token T) uint32 {
	h := uint32(2166136261)
	for i := range len(token) {
		h = (h ^ uint32(token[i])) * 16777619
	}
	return h >> (32 - maybeBits)
}

// merge is byte pair encoding of one piece: of all neighbours the pair of the
// lowest rank is joined, the leftmost first, until none is a token.
func (v *Vocabulary) merge(piece []byte, visit func(id, size int)) {
	if len(piece) > smallPiece {
		v.mergeLong(piece, visit)
		return
	}
	// starts[i] is where part i starts, pairs[i] the rank of parts i and i+1.
	var starts, pairs [smallPiece + 2]int
	n := len(piece)
	for i := range n + 1 {
		starts[i], pairs[i] = i, noRank
		if i+2 <= n {
			pairs[i] = v.rank(piece[i : i+2])
		}
	}
	pair := func(i int) int {
		if i+2 > n {
			return noRank
		}
		return v.rank(piece[starts[i]:starts[i+2]])
	}
	for {
		best := 0
		for i := 1; i < n; i++ {
			if pairs[i] < pairs[best] {
				best = i
			}
		}
		if pairs[best] == noRank {
			break
		}
		copy(starts[best+1:n], starts[best+2:n+1])
		copy(pairs[best+1:n], pairs[best+2:n+1])
		n--
		pairs[best] = pair(best)
		if best > 0 {
			pairs[best-1] = pair(best - 1)
		}
	}
	for i := range n {
		part := piece[starts[i]:starts[i+1]]
		visit(v.ranks[string(part)], len(part))
	}
}

// mergeLong does the same with a heap of pairs, in n log n.
func (v *Vocabulary) mergeLong(piece []byte, visit func(id, size int)) {
	n := len(piece)
	m := merger{piece: piece, v: v, next: make([]int32, n+1), prev: make([]int32, n+1), rank: make([]int, n+1)}
	for i := range n + 1 {
		m.next[i], m.prev[i] = int32(i+1), int32(i-1)
	}
	for i := range n {
		m.score(int32(i))
	}
	for len(m.pairs) > 0 {
		p := m.pairs.pop()
		if m.rank[p.at] != p.rank {
			continue // it was joined or changed since
		}
		m.join(p.at)
	}
	for i := 0; i < n; i = int(m.next[i]) {
		part := piece[i:m.next[i]]
		visit(v.ranks[string(part)], len(part))
	}
}

// merger is the list of parts of one long piece; a part is named by its start.
type merger struct {
	piece      []byte
	v          *Vocabulary
	next, prev []int32
	rank       []int // of the part and the one after it
	pairs      pairHeap
}

// score notes the rank of the pair that starts at i.
func (m *merger) score(i int32) {
	m.rank[i] = noRank
	mid := m.next[i]
	if int(mid) >= len(m.piece) {
		return
	}
	if r := m.v.rank(m.piece[i:m.next[mid]]); r != noRank {
		m.rank[i] = r
		m.pairs.push(pair{r, i})
	}
}

// join makes one part of i and the one after it.
func (m *merger) join(i int32) {
	gone := m.next[i]
	m.rank[gone] = noRank
	m.next[i] = m.next[gone]
	m.prev[m.next[i]] = i
	m.score(i)
	if before := m.prev[i]; before >= 0 {
		m.score(before)
	}
}

type pair struct {
	rank int
	at   int32
}

func (p pair) before(q pair) bool { return p.rank < q.rank || p.rank == q.rank && p.at < q.at }

// pairHeap is a binary heap. That of the standard library makes garbage of
// each pair, which costs three times as much.
type pairHeap []pair

func (h *pairHeap) push(p pair) {
	*h = append(*h, p)
	list := *h
	for i := len(list) - 1; i > 0; {
		up := (i - 1) / 2
		if !list[i].before(list[up]) {
			break
		}
		list[i], list[up] = list[up], list[i]
		i = up
	}
}

func (h *pairHeap) pop() pair {
	list := *h
	first, last := list[0], len(list)-1
	list[0] = list[last]
	list = list[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down >= len(list) {
			break
		}
		if down+1 < len(list) && list[down+1].before(list[down]) {
			down++
		}
		if !list[down].before(list[i]) {
			break
		}
		list[i], list[down] = list[down], list[i]
		i = down
	}
	*h = list
	return first
}
