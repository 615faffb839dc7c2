package recorder

import (
	"fmt"
	"slices"
)

const (
	// ackedWait is how long a hole stays open once the other side has
	// acknowledged bytes behind it: they did arrive there, so that a packet
	// with them can only be late in the capture.
	ackedWait = int64(1e9)
	// holeWait is how long a hole stays open without such word, when it may
	// still be sent again. Sources without acknowledgements, whose packets
	// are late by fractions of a second, wait as long: it costs memory only.
	holeWait = int64(10e9)
	// checkEvery is how often holes are looked at, in time of the capture.
	checkEvery = int64(50e6)

	// maxHeld bounds the bytes held back behind the hole of one direction,
	// maxPieces their number, maxHeldTotal the bytes of all.
	maxHeld      = 4 << 20
	maxPieces    = 4096
	maxHeldTotal = 64 << 20
	// pieceCost is what one held piece takes besides its bytes.
	pieceCost = 64
)

// reassembler puts segments in order by their position and hands the bytes to
// a streamHandler, each once: of bytes seen more often, the first copy counts.
//
// Pieces behind a hole are held back, with their own times, until the hole is
// filled, or is taken to be a loss: a second after the other side acknowledged
// what is behind it, ten seconds after it was found, when too much is held
// back, or at the connection's end. What follows a loss is delivered as ever.
//
// The order in which one connection's data, gap and fin calls come depends on
// neither how its bytes were cut into segments nor the order of these, as long
// as they come within those limits and no packet was cut by the capture.
type reassembler struct {
	handler streamHandler
	// opened are the connections not closed, in order of appearance.
	opened streamList
	// holed are those with a hole, oldest hole first.
	holed     []*connStreams
	held      int64
	now       int64
	nextCheck int64
	stats     reassemblyStats
}

// reassemblyStats counts what the reassembler saw.
type reassemblyStats struct {
	// DuplicateBytes were seen before; ConflictingBytes are those of them
	// that differ from the first copy, as far as it was still held.
	DuplicateBytes, ConflictingBytes int64
	// LateBytes came after their hole was given up, after their connection's
	// end, or before its first byte seen.
	LateBytes int64
	// Reordered is the number of segments that had to wait.
	Reordered int64
	// GivenUp is the number of holes given up because too much was held back.
	GivenUp int64
	// PeakHeld is the largest number of bytes held back at a time.
	PeakHeld int64
}

// warnings are what a user should know of the order of the bytes; repeated
// and reordered ones are everyday.
func (s *reassemblyStats) warnings() []string {
	var list []string
	if s.ConflictingBytes > 0 {
		list = append(list, fmt.Sprintf("%d bytes were seen twice with different values: the first copy was taken", s.ConflictingBytes))
	}
	if s.LateBytes > 0 {
		list = append(list, fmt.Sprintf("%d bytes came after they were given up as lost, or after their connection had ended: not used", s.LateBytes))
	}
	return list
}

// connStreams is what the reassembler knows of one connection.
type connStreams struct {
	info       *ConnInfo
	dirs       [2]stream
	holed      bool
	prev, next *connStreams
}

// streamsDone marks a connection that was closed: what comes of it is late.
var streamsDone = new(connStreams)

// stream is one direction.
type stream struct {
	// next is the position of the first byte not delivered.
	next int64
	// lostFrom and lostTo are the ends of the last hole given up.
	lostFrom, lostTo int64
	pieces           []piece
	held             int64
	// end is the position of the FIN, -1 before it is seen.
	end     int64
	endTime int64
	ended   bool
	// acked is how far the other side has received it, ackStep how much that
	// was at last.
	acked, ackStep int64
	// ackedAt is when acked came to be behind next.
	ackedAt int64
	// holeAt is when the hole at next was found; 0 = there is none.
	holeAt int64
}

func newReassembler(h streamHandler) *reassembler {
	r := &reassembler{handler: h}
	r.opened.init()
	return r
}

// add takes one segment.
func (r *reassembler) add(s *Segment) {
	r.tick(s.Time)
	cs := s.Conn.streams
	switch {
	case cs == streamsDone:
		r.stats.LateBytes += int64(s.Want)
		return
	case cs == nil && s.Gone:
		return
	case cs == nil:
		cs = r.open(s.Conn)
	}
	if s.Gone {
		r.close(cs, s.Time)
		return
	}
	r.noteAck(cs, s)
	r.addData(cs, s)
	if st := &cs.dirs[s.Dir]; s.FIN && st.end < 0 {
		st.end, st.endTime = s.Pos+int64(s.Want), s.Time
		r.clip(st)
	}
	r.progress(cs, s.Dir)
	r.limit(cs, s.Dir)
	if s.RST {
		r.giveUpAll(cs, s.Time)
		r.handler.rst(cs.info, s.Dir, s.Time)
		r.close(cs, s.Time)
		return
	}
	r.closeEnded(cs)
}

// tick tells the time, which lets holes be given up while nothing comes.
func (r *reassembler) tick(now int64) {
	r.now = max(r.now, now)
	if r.now < r.nextCheck || len(r.holed) == 0 {
		return
	}
	r.nextCheck = r.now + checkEvery
	// Backwards, since a connection whose last hole goes leaves the list.
	for i := len(r.holed) - 1; i >= 0; i-- {
		cs := r.holed[i]
		for d := range cs.dirs {
			for r.due(&cs.dirs[d]) {
				r.giveUp(cs, Dir(d), lostGap)
			}
		}
		r.closeEnded(cs)
	}
}

// flush closes all connections: the input has ended.
func (r *reassembler) flush() {
	for cs := r.opened.root.next; cs != &r.opened.root; cs = r.opened.root.next {
		r.close(cs, r.now)
	}
}

func (r *reassembler) open(c *ConnInfo) *connStreams {
	cs := &connStreams{info: c}
	cs.dirs[ToServer].end, cs.dirs[ToClient].end = -1, -1
	c.streams = cs
	r.opened.push(cs)
	r.handler.open(c)
	return cs
}

func (r *reassembler) close(cs *connStreams, t int64) {
	r.giveUpAll(cs, t)
	r.unhole(cs)
	r.opened.remove(cs)
	cs.info.streams = streamsDone
	r.handler.closed(cs.info, t)
}

// missingTail reports bytes that the other side acknowledged and that no
// packet brought. A FIN takes a number too: one that was not seen is the last
// step of 1, or the only number missing.
func (r *reassembler) missingTail(cs *connStreams, d Dir, t int64) {
	st := &cs.dirs[d]
	n := st.acked - st.next
	if n == 1 || st.ackStep == 1 {
		n--
	}
	if !st.ended && n > 0 {
		r.handler.gap(cs.info, d, st.next, n, lostGap, t)
		st.next += n
	}
}

// noteAck keeps how far the segment's sender has received the other direction.
func (r *reassembler) noteAck(cs *connStreams, s *Segment) {
	st := &cs.dirs[s.Dir.Other()]
	if s.Acked <= st.acked {
		return
	}
	if st.acked <= st.next {
		st.ackedAt = s.Time
	}
	st.ackStep = s.Acked - st.acked
	st.acked = s.Acked
}

// addData delivers what is next, and keeps what is not.
func (r *reassembler) addData(cs *connStreams, s *Segment) {
	st := &cs.dirs[s.Dir]
	pos, data, want := s.Pos, s.Data, int64(s.Want)
	old := min(max(st.next-pos, 0), want)
	if st.ended {
		old = want
	} else if st.end >= 0 {
		behind := min(max(pos+want-st.end, 0), want-old)
		r.stats.LateBytes += behind
		want -= behind
		data = data[:min(want, int64(len(data)))]
	}
	if old > 0 {
		r.countOld(st, pos, old)
		pos, want = pos+old, want-old
		data = data[min(old, int64(len(data))):]
	}
	if want == 0 {
		return
	}
	why := s.Cut
	if why == "" {
		why = lostSnaplen
	}
	n := int64(len(data))
	whole := piece{pos: pos, n: n, data: data, time: s.Time}
	rest := piece{pos: pos + n, n: want - n, why: why, time: s.Time}
	if pos == st.next && len(st.pieces) == 0 {
		r.deliver(cs, s.Dir, &whole)
		r.deliver(cs, s.Dir, &rest)
		return
	}
	if pos != st.next {
		r.stats.Reordered++
	}
	r.hold(st, whole)
	r.hold(st, rest)
}

// countOld counts bytes that come when their place is past.
func (r *reassembler) countOld(st *stream, pos, n int64) {
	end := pos + n
	late := max(min(end, 0)-pos, 0) + max(min(end, st.lostTo)-max(pos, st.lostFrom), 0)
	r.stats.LateBytes += late
	r.stats.DuplicateBytes += n - late
}

// deliver hands out a piece that is next.
func (r *reassembler) deliver(cs *connStreams, d Dir, p *piece) {
	if p.n == 0 {
		return
	}
	cs.dirs[d].next = p.end()
	if p.why != "" {
		r.handler.gap(cs.info, d, p.pos, p.n, p.why, p.time)
		return
	}
	r.handler.data(cs.info, d, p.pos, p.data, p.time)
}

// progress hands out what has become next, and the end.
func (r *reassembler) progress(cs *connStreams, d Dir) {
	st := &cs.dirs[d]
	n := 0
	for n < len(st.pieces) && st.pieces[n].pos == st.next {
		r.release(st, &st.pieces[n])
		r.deliver(cs, d, &st.pieces[n])
		n++
	}
	if n > 0 {
		st.pieces = slices.Delete(st.pieces, 0, n)
	}
	if !st.ended && st.end >= 0 && st.next >= st.end {
		st.ended = true
		r.handler.fin(cs.info, d, st.endTime)
	}
	r.noteHole(cs, st)
}

// noteHole keeps the list of connections that wait for a missing packet.
func (r *reassembler) noteHole(cs *connStreams, st *stream) {
	if len(st.pieces) == 0 && (st.ended || st.end < 0) {
		st.holeAt = 0
		if cs.holed && cs.dirs[ToServer].holeAt == 0 && cs.dirs[ToClient].holeAt == 0 {
			r.unhole(cs)
		}
		return
	}
	if st.holeAt == 0 {
		st.holeAt = max(r.now, 1)
	}
	if !cs.holed {
		cs.holed = true
		r.holed = append(r.holed, cs)
	}
}

func (r *reassembler) unhole(cs *connStreams) {
	if !cs.holed {
		return
	}
	cs.holed = false
	i := slices.Index(r.holed, cs)
	r.holed = slices.Delete(r.holed, i, i+1)
}

// due reports whether a direction has waited long enough for a missing packet.
func (r *reassembler) due(st *stream) bool {
	if st.holeAt == 0 {
		return false
	}
	if st.acked > st.next && r.now-max(st.holeAt, st.ackedAt) >= ackedWait {
		return true
	}
	return r.now-st.holeAt >= holeWait
}

// giveUp takes the first hole of a direction for a loss.
func (r *reassembler) giveUp(cs *connStreams, d Dir, why string) {
	st := &cs.dirs[d]
	to, t := st.end, st.endTime
	if len(st.pieces) > 0 {
		to, t = st.pieces[0].pos, st.pieces[0].time
	}
	st.lostFrom, st.lostTo = st.next, to
	r.deliver(cs, d, &piece{pos: st.next, n: to - st.next, why: why, time: t})
	// A hole further on has been there since what is behind it came.
	st.holeAt = 0
	r.progress(cs, d)
	if st.holeAt != 0 && len(st.pieces) > 0 {
		st.holeAt = max(min(st.pieces[0].time, r.now), 1)
	}
}

// giveUpAll delivers all that is held, and reports all that is missing: the
// connection has ended.
func (r *reassembler) giveUpAll(cs *connStreams, t int64) {
	for d := range cs.dirs {
		for cs.dirs[d].holeAt != 0 {
			r.giveUp(cs, Dir(d), lostGap)
		}
		r.missingTail(cs, Dir(d), t)
	}
}

// limit gives holes up while more is held back than may be.
func (r *reassembler) limit(cs *connStreams, d Dir) {
	st := &cs.dirs[d]
	for st.held > maxHeld || len(st.pieces) > maxPieces {
		r.stats.GivenUp++
		r.giveUp(cs, d, lostCap)
	}
	for r.held > maxHeldTotal {
		oldest := r.holed[0]
		for d := range oldest.dirs {
			if oldest.dirs[d].holeAt != 0 {
				r.stats.GivenUp++
				r.giveUp(oldest, Dir(d), lostCap)
			}
		}
		if oldest != cs {
			r.closeEnded(oldest)
		}
	}
}

func (r *reassembler) closeEnded(cs *connStreams) {
	if cs.dirs[ToServer].ended && cs.dirs[ToClient].ended {
		r.close(cs, r.now)
	}
}
