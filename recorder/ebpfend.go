package recorder

import (
	"cmp"
	"slices"

	"github.com/lambdac/lambdac/bpf"
)

// waitingEnd is an event that ends something: it happens when all data from
// before it is read. One of a connection that is read inside a library waits
// twice. What its streams had moved is in the kernel side's table alone, which
// may be ahead of the ring that was read before the table: their lengths are
// noted, and hold when the ring was read again.
type waitingEnd struct {
	bpf.Control
	// since is from when the data must be read, in boot time.
	since   int64
	lengths map[*ebpfConn]bpf.Length
}

// settleEnds makes those of the first ends that are from before a moment
// happen.
func (s *ebpfSource) settleEnds(until int64, first int) error {
	var err error
	var again []waitingEnd
	n := 0
	for n < first && s.ends[n].since <= until {
		if e := &s.ends[n]; s.noteLengths(e) {
			again = append(again, *e)
		} else {
			s.lengths = e.lengths
			err = cmp.Or(err, s.takeEnd(&e.Control))
			s.lengths = nil
		}
		n++
	}
	s.ends = append(slices.Delete(s.ends, 0, n), again...)
	return err
}

// noteLengths notes the lengths that an end needs; false where it needs none,
// or has them.
func (s *ebpfSource) noteLengths(e *waitingEnd) bool {
	if e.lengths != nil || s.tls == nil || e.Kind == bpf.Exit || e.Kind == bpf.Unbind {
		return false
	}
	c := s.conns[e.Cookie]
	if c == nil || len(c.streams) == 0 {
		return false
	}
	e.lengths = make(map[*ebpfConn]bpf.Length)
	for _, stream := range c.streams {
		if l, ok := s.tls.length(stream.tls.key); ok {
			e.lengths[stream] = l
		}
	}
	e.since = s.clock.boot(s.clock.now())
	return true
}

// takeEnd makes an end happen.
func (s *ebpfSource) takeEnd(e *bpf.Control) error {
	if e.Kind == bpf.Exit {
		return s.exited(e)
	}
	if e.Kind == bpf.Unbind {
		s.unbind(e)
		return nil
	}
	c := s.conns[e.Cookie]
	if c == nil || e.Time > s.probed && len(c.streams) > 0 { // what it said last was not seen
		return nil
	}
	t := s.clock.unix(e.Time)
	switch e.Kind {
	case bpf.FIN:
		s.untold(c, e, t)
		s.finished(c, e, t)
	case bpf.RST:
		s.broken(c, e, t)
	case bpf.Close:
		s.close(c, e)
	}
	return nil
}

func dirOf(toClient bool) Dir {
	if toClient {
		return ToClient
	}
	return ToServer
}

// finished: a direction ended. What the other side sent may not have been read
// yet: its end is handed out behind it, with the time it came.
func (s *ebpfSource) finished(c *ebpfConn, e *bpf.Control, t int64) {
	dir := dirOf(e.ToClient)
	d := &c.dirs[dir]
	if d.fin {
		return
	}
	d.fin, d.finTime, d.finPos = true, t, e.Pos[dir]
	mine := dir == ToClient != (e.Flags&bpf.Client != 0)
	if e.Flags&bpf.Counted != 0 {
		d.finPos = e.SeqPos[dir]
	}
	if c.encrypted {
		s.endStreams(c, dir, mine, t)
		return
	}
	// After the other side's FIN the close follows at once, and tells whether
	// what was sent meanwhile was still received.
	if mine && c.dirs[dir.Other()].fin {
		d.finPos = unknownEnd
	}
	s.sendFIN(c, dir)
}

// lostIgnored: the bytes were left alone, since the connection had turned out to
// be of no protocol that is read.
const lostIgnored = "ignored"

// lostLadder: not copied under pressure.
const lostLadder = "ladder"

// lostUnseen: TCP moved the bytes for the process, and no call that is seen.
const lostUnseen = "unseen"

// tailOf loses what a direction had up to a position, if it was not seen.
func (s *ebpfSource) tailOf(c *ebpfConn, dir Dir, to int64, why string, t int64) {
	d := &c.dirs[dir]
	if c.encrypted || to <= d.next {
		return
	}
	if why == lostUnseen {
		s.unseen += to - d.next
	}
	s.lose(c, dir, d.next, to, why, t)
	d.next = to
}

// tail loses what calls moved and no event has brought: the last bytes of it
// under pressure, those before since the ring was full.
func (s *ebpfSource) tail(c *ebpfConn, pos, skipped [2]int64, t int64) {
	why, whySkipped := "ring_full", lostLadder
	if c.ignored {
		why, whySkipped = lostIgnored, lostIgnored
	}
	for dir := range c.dirs {
		s.tailOf(c, Dir(dir), pos[dir]-skipped[dir], why, t)
		s.tailOf(c, Dir(dir), pos[dir], whySkipped, t)
	}
}

// settleTails loses all that is missing of a connection that has ended.
func (s *ebpfSource) settleTails(c *ebpfConn, e *bpf.Control, t int64) {
	s.closeHoles(c)
	s.tail(c, e.Pos, e.Skipped, t)
	if e.Flags&bpf.Counted != 0 {
		for dir := range c.dirs {
			s.tailOf(c, Dir(dir), e.SeqPos[dir], lostUnseen, t)
		}
	}
}

// broken: the sender of a direction broke the connection off. The close that
// follows makes it happen: calls may still tell of bytes from before.
func (s *ebpfSource) broken(c *ebpfConn, e *bpf.Control, t int64) {
	if c.reset == nil {
		c.reset = &ebpfReset{by: dirOf(e.ToClient), at: t}
	}
}

// close ends a connection: at once, or where a call may be under way, when it
// has told what it moved, or after a while.
func (s *ebpfSource) close(c *ebpfConn, e *bpf.Control) {
	first := c.closed == nil
	end := *e
	if !first {
		end.Time = c.closed.Time
	}
	c.closed = &end
	switch {
	case e.Flags&bpf.Closed == 0:
		s.gone(c, &end, s.clock.unix(end.Time))
	case first:
		s.closing = append(s.closing, c)
	}
}

// finishClosing ends the connections that were closed before a moment and
// still wait for a call to tell.
func (s *ebpfSource) finishClosing(before int64) error {
	var err error
	s.closing = slices.DeleteFunc(s.closing, func(c *ebpfConn) bool {
		t := s.clock.unix(c.closed.Time)
		if s.conns[c.cookie] != c {
			return true // its end was told
		}
		if t > before {
			return false
		}
		s.gone(c, c.closed, t)
		err = cmp.Or(err, s.kernel.Forget(c.closed.Socket, c.cookie))
		return true
	})
	return err
}

// gone: the socket is closed; nothing of the connection follows.
func (s *ebpfSource) gone(c *ebpfConn, e *bpf.Control, t int64) {
	delete(s.conns, c.cookie)
	s.amend(c, e, t)
	if c.ignored {
		s.sideErr = cmp.Or(s.sideErr, s.kernel.Ignore(c.cookie, false))
	}
	s.addBlind(c, e.Pos)
	s.settleTails(c, e, t)
	for _, each := range c.all() {
		s.closeHoles(each)
		s.settleStream(each, t)
		if c.reset != nil && !each.ended {
			each.ended = true
			by := c.reset.by
			s.emit(Segment{Conn: each.info, Dir: by, Pos: each.dirs[by].next, RST: true, Time: c.reset.at})
		}
		s.finish(each, e, t)
		s.leave(each, t)
	}
}

// all are the connection's segment streams: those read of it, where it is
// encrypted, else itself.
func (c *ebpfConn) all() []*ebpfConn {
	if c.encrypted {
		return c.streams
	}
	return []*ebpfConn{c}
}

// finish ends both directions: that of the process last, if neither was told
// before. What the other side sent and nobody read is not part of it.
func (s *ebpfSource) finish(c *ebpfConn, e *bpf.Control, t int64) {
	if c.ended {
		return
	}
	c.ended = true
	if e.Flags&bpf.Counted != 0 && e.Flags&bpf.Client == 0 && !c.info.Decrypted {
		s.emit(Segment{Conn: c.info, Dir: ToServer, Pos: c.dirs[ToServer].next, Acked: e.Acked, Time: t})
	}
	for dir := range c.dirs {
		d := &c.dirs[dir]
		if d.fin && !d.finSent {
			d.finPos = d.next
			s.sendFIN(c, Dir(dir))
		}
	}
	mine := ToClient
	if e.Flags&bpf.Client != 0 {
		mine = ToServer
	}
	if !c.dirs[mine].fin {
		s.emit(s.abrupt(c, e, mine, t))
	}
	s.emit(Segment{Conn: c.info, Gone: true, Time: t})
}

// abrupt is the end of a connection that was closed without this side's FIN:
// by a reset, since the process left bytes unread or asked for it; by the
// system, since the other side was gone; or it is no TCP connection.
func (s *ebpfSource) abrupt(c *ebpfConn, e *bpf.Control, mine Dir, t int64) Segment {
	seg := Segment{Conn: c.info, Dir: mine, Pos: c.dirs[mine].next, Time: t}
	switch {
	case e.Kind != bpf.Close || e.Flags&bpf.Unix != 0:
		seg.FIN = true
	case e.Vanished:
		seg.Dir, seg.Pos, seg.RST = mine.Other(), c.dirs[mine.Other()].next, true
	default:
		seg.RST = true
	}
	return seg
}

// exited: a process ended, and with it the AF_UNIX connections that it used
// last.
func (s *ebpfSource) exited(e *bpf.Control) error {
	s.forgetStreams(e)
	var err error
	for _, c := range s.conns {
		if c.tgid == e.TGID && c.unix {
			err = cmp.Or(err, s.kernel.Forget(c.socket, c.cookie))
			s.gone(c, &bpf.Control{Kind: bpf.Close, Flags: bpf.Unix, Time: e.Time, Pos: [2]int64{c.dirs[0].next, c.dirs[1].next}}, s.clock.unix(e.Time))
		}
	}
	return err
}
