package recorder

import (
	"cmp"
	"slices"

	"github.com/lambdac/lambdac/bpf"
)

const (
	// lateWait is how long a hole may still be filled by an event of another
	// CPU (up to 170 ms are known).
	lateWait = int64(1e9)
	// maxHoles bounds the holes of one direction that wait.
	maxHoles = 64
)

// ebpfConn is a connection, or a stream of a TLS library.
type ebpfConn struct {
	info *ConnInfo
	// cookie is the kernel's name; 0 for a stream that is bound to none.
	cookie uint64
	tgid   uint32
	// socket is what the kernel side's table has it by.
	socket uint64
	dirs   [2]ebpfDir
	// reset and closed are its end, until all before it is read.
	reset  *ebpfReset
	closed *bpf.Control
	// encrypted: its raw bytes are not wanted; streams has what is read of it.
	// ignored: no more bytes of it come, only its length.
	encrypted, holed, ended, ignored bool
	// encryptedAt is when it turned out to be, in boot time.
	encryptedAt int64
	// unix: it is of AF_UNIX. comm is the name of its first process.
	unix    bool
	comm    string
	streams []*ebpfConn
	// client: the process opened it.
	client bool
	// tls is set for a stream of a TLS library.
	tls *tlsStream
}

// ebpfReset is a reset by the sender of a direction.
type ebpfReset struct {
	by Dir
	at int64
}

// ebpfDir is one direction.
type ebpfDir struct {
	// next is the position behind the last byte seen.
	next  int64
	holes []ebpfHole
	// fin: it ended, at a time, behind finPos; finSent that the segment was
	// handed out.
	fin, finSent    bool
	finPos, finTime int64
}

// ebpfHole is a range of positions that no event has brought.
type ebpfHole struct{ from, to, found int64 }

// open starts a connection, or says of one that had data already what it is.
func (s *ebpfSource) open(e *bpf.Control) {
	c := s.conns[e.Cookie]
	if c == nil || c.socket != 0 { // a cookie is not used twice, nor told twice
		s.ids++
		c = &ebpfConn{info: &ConnInfo{ID: s.ids, cookie: e.Cookie}, cookie: e.Cookie}
		s.conns[e.Cookie] = c
	}
	s.describe(c, e)
}

// describe gives a connection what its first event, or its end, says of it.
func (s *ebpfSource) describe(c *ebpfConn, e *bpf.Control) {
	s.stats.Connections++
	c.tgid, c.socket, c.comm = e.TGID, e.Socket, e.Comm
	c.unix, c.client = e.Flags&bpf.Unix != 0, e.Flags&bpf.Client != 0
	c.info.Client, c.info.Server = e.Remote, e.Local
	if c.client {
		c.info.Client, c.info.Server = e.Local, e.Remote
	}
	c.info.Start, c.info.SawSYN = s.clock.unix(e.Start), e.Flags&bpf.Late == 0
	if e.Accepted != 0 && e.Flags&(bpf.Late|bpf.Client) == 0 {
		c.info.AcceptNs = new(e.Accepted - e.Start)
	}
}

// connOf finds the connection of data. What is not known is a connection whose
// start found the control ring full, or a new stream of a TLS library.
func (s *ebpfSource) connOf(d *bpf.Data) *ebpfConn {
	if d.Source != bpf.Plain {
		return s.streamOf(d)
	}
	c := s.conns[d.Cookie]
	if c == nil {
		s.sideErr = cmp.Or(s.sideErr, s.heal())
		c = s.conns[d.Cookie]
	}
	if c == nil {
		s.ids++
		c = &ebpfConn{cookie: d.Cookie, tgid: d.TGID, info: &ConnInfo{ID: s.ids, Start: s.clock.unix(d.Time), cookie: d.Cookie}}
		s.conns[d.Cookie] = c
	}
	return c
}

// takeData hands out a piece and what it tells of holes and ends.
func (s *ebpfSource) takeData(d *bpf.Data) {
	c := s.connOf(d)
	dir := dirOf(d.ToClient)
	if c.tls != nil {
		var wanted bool
		if dir, wanted = s.orient(c, d); !wanted {
			return
		}
	}
	s.stats.Packets++
	s.stats.Bytes += int64(d.Want)
	c.dirs[dir].note(d.Pos, d.Pos+int64(d.Want), d.Time)
	if !c.holed && len(c.dirs[dir].holes) > 0 {
		c.holed = true
		s.holed = append(s.holed, c)
	}
	why := d.Why
	if len(d.Bytes) < d.Want && why == "" {
		why = "ring_full"
	}
	t := s.clock.unix(d.Time)
	s.emit(Segment{Conn: c.info, Dir: dir, Pos: d.Pos, Data: d.Bytes, Want: d.Want, Cut: why, Time: t})
	if len(c.dirs[dir].holes) > maxHoles {
		s.closeHole(c, dir)
	}
	s.sendFIN(c, dir)
}

// note keeps which positions have been seen, and which were skipped.
func (d *ebpfDir) note(from, to, now int64) {
	if from > d.next {
		d.holes = append(d.holes, ebpfHole{d.next, from, now})
	} else if len(d.holes) > 0 && from < d.next {
		d.cover(from, to)
	}
	d.next = max(d.next, to)
}

// cover takes a range out of the holes.
func (d *ebpfDir) cover(from, to int64) {
	var left []ebpfHole
	for _, h := range d.holes {
		if a := (ebpfHole{h.from, min(h.to, from), h.found}); a.from < a.to {
			left = append(left, a)
		}
		if b := (ebpfHole{max(h.from, to), h.to, h.found}); b.from < b.to {
			left = append(left, b)
		}
	}
	d.holes = left
}

// fillHoles gives up the holes that nothing has filled for long.
func (s *ebpfSource) fillHoles(now int64) {
	if len(s.holed) == 0 {
		return
	}
	keep := s.holed[:0]
	for _, c := range s.holed {
		for dir := range c.dirs {
			for h := c.dirs[dir].holes; len(h) > 0 && s.clock.unix(h[0].found)+lateWait <= now; h = c.dirs[dir].holes {
				s.closeHole(c, Dir(dir))
			}
		}
		if c.holed = len(c.dirs[0].holes)+len(c.dirs[1].holes) > 0; c.holed {
			keep = append(keep, c)
		}
	}
	clear(s.holed[len(keep):])
	s.holed = keep
}

// closeHole says that the first hole of a direction is a loss. It has the time
// of what came behind it, which waits for it: with a later one all of that would
// be as late.
func (s *ebpfSource) closeHole(c *ebpfConn, dir Dir) {
	d := &c.dirs[dir]
	h := d.holes[0]
	d.holes = slices.Delete(d.holes, 0, 1)
	s.lose(c, dir, h.from, h.to, "ring_full", s.clock.unix(h.found))
}

func (s *ebpfSource) closeHoles(c *ebpfConn) {
	for dir := range c.dirs {
		for len(c.dirs[dir].holes) > 0 {
			s.closeHole(c, Dir(dir))
		}
	}
}

// lose hands out a range without bytes.
func (s *ebpfSource) lose(c *ebpfConn, dir Dir, from, to int64, why string, t int64) {
	if from < to {
		s.stats.Bytes += to - from
		s.emit(Segment{Conn: c.info, Dir: dir, Pos: from, Want: int(to - from), Cut: why, Time: t})
	}
}

// sendFIN hands out the end of a direction once all before it was seen.
func (s *ebpfSource) sendFIN(c *ebpfConn, dir Dir) {
	d := &c.dirs[dir]
	if !d.fin || d.finSent || d.next < d.finPos {
		return
	}
	d.finSent = true
	s.emit(Segment{Conn: c.info, Dir: dir, Pos: d.next, FIN: true, Time: d.finTime})
}

// ignore leaves the bytes of a connection alone from now on: its lengths are
// told at its end.
func (s *ebpfSource) ignore(info *ConnInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conns[info.cookie]
	if c == nil || c.info != info || c.ignored || s.detached {
		return
	}
	c.ignored = true
	s.sideErr = cmp.Or(s.sideErr, s.kernel.Ignore(c.cookie, true))
}
