package recorder

import (
	"bytes"
	"slices"
)

// piece is a part of a stream that waits for what is before it. The pieces of
// a stream are in order and do not overlap.
type piece struct {
	pos, n int64
	// data are the n bytes, or nil where why says how they were lost.
	data []byte
	why  string
	time int64
}

func (p *piece) end() int64 { return p.pos + p.n }

// cutFront takes the first n bytes off and returns them as a piece.
func (p *piece) cutFront(n int64) piece {
	front := *p
	front.n = n
	p.pos, p.n = p.pos+n, p.n-n
	if p.data != nil {
		front.data, p.data = p.data[:n], p.data[n:]
	}
	return front
}

// find is the index of the first piece that ends behind pos.
func (st *stream) find(pos int64) int {
	i, _ := slices.BinarySearchFunc(st.pieces, pos, func(q piece, pos int64) int {
		if q.end() <= pos {
			return -1
		}
		return 1
	})
	return i
}

// hold keeps the parts of a piece that no other piece has. Bytes take the
// place of lost ones: a packet that one interface cut may be whole on another.
func (r *reassembler) hold(st *stream, p piece) {
	if p.n == 0 {
		return
	}
	var lost []piece
	if p.why == "" {
		i := st.find(p.pos)
		for i < len(st.pieces) && st.pieces[i].pos < p.end() {
			if st.pieces[i].why == "" {
				i++
				continue
			}
			r.release(st, &st.pieces[i])
			lost = append(lost, st.pieces[i])
			st.pieces = slices.Delete(st.pieces, i, i+1)
		}
	}
	r.fill(st, p)
	for _, q := range lost {
		r.fill(st, q)
	}
}

// fill inserts the parts of a piece that lie between those held.
func (r *reassembler) fill(st *stream, p piece) {
	i := st.find(p.pos)
	for p.n > 0 {
		if i == len(st.pieces) || st.pieces[i].pos >= p.end() {
			r.insert(st, i, p)
			return
		}
		q := st.pieces[i]
		if q.pos > p.pos {
			r.insert(st, i, p.cutFront(q.pos-p.pos))
			i++
		}
		same := p.cutFront(min(q.end(), p.end()) - p.pos)
		r.countOverlap(&q, &same)
		i++
	}
}

// insert puts a copy of a piece in place i.
func (r *reassembler) insert(st *stream, i int, p piece) {
	p.data = bytes.Clone(p.data)
	st.pieces = slices.Insert(st.pieces, i, p)
	st.held += int64(len(p.data)) + pieceCost
	r.held += int64(len(p.data)) + pieceCost
	r.stats.PeakHeld = max(r.stats.PeakHeld, r.held)
}

// release takes a piece out of the accounts.
func (r *reassembler) release(st *stream, p *piece) {
	st.held -= int64(len(p.data)) + pieceCost
	r.held -= int64(len(p.data)) + pieceCost
}

// clip drops what is held behind the end: nothing comes after a FIN.
func (r *reassembler) clip(st *stream) {
	for n := len(st.pieces); n > 0; n-- {
		last := &st.pieces[n-1]
		if last.end() <= st.end {
			return
		}
		r.release(st, last)
		keep := max(st.end-last.pos, 0)
		r.stats.LateBytes += last.n - keep
		p := last.cutFront(keep)
		st.pieces = st.pieces[:n-1]
		if keep > 0 {
			r.insert(st, n-1, p)
		}
	}
}

// countOverlap counts the second copy of bytes that the held piece q has.
func (r *reassembler) countOverlap(q, second *piece) {
	if second.why != "" {
		return
	}
	r.stats.DuplicateBytes += second.n
	at := second.pos - q.pos
	for i, b := range q.data[at : at+second.n] {
		if b != second.data[i] {
			r.stats.ConflictingBytes++
		}
	}
}

// streamList is a ring of connections around a root, oldest first.
type streamList struct{ root connStreams }

func (l *streamList) init() { l.root.prev, l.root.next = &l.root, &l.root }

func (l *streamList) push(c *connStreams) {
	c.prev, c.next = l.root.prev, &l.root
	c.prev.next, l.root.prev = c, c
}

func (l *streamList) remove(c *connStreams) {
	c.prev.next, c.next.prev = c.next, c.prev
}
