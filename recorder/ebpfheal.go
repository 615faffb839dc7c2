package recorder

import (
	"slices"

	"github.com/lambdac/lambdac/bpf"
)

// healing finds the starts and ends of connections that could not be told when
// they happened. The kernel side keeps one that finds the control ring full in a
// map; where that is full too, a connection that has ended is missing from the
// kernel's table.
type healing struct {
	// lost is how many were told nowhere, as far as they are accounted for.
	lost uint64
	// missing are the connections that the kernel side did not have at the time
	// since.
	missing []*ebpfConn
	since   int64
}

// heal takes the starts and ends that found the control ring full.
func (s *ebpfSource) heal() error {
	spilled := false
	err := s.kernel.Spilled(func(c *bpf.Control) {
		spilled = true
		s.takeControl(c)
	})
	if err != nil || !spilled || len(s.healing.missing) > 0 {
		return err
	}
	counts, err := s.kernel.Counts()
	if err != nil || counts.EndsLost == s.healing.lost {
		return err
	}
	s.healing.lost = counts.EndsLost
	alive := make(map[uint64]bool)
	if err := s.kernel.Lengths(func(l bpf.Length) { alive[l.Cookie] = true }); err != nil {
		return err
	}
	s.healing.since = s.clock.now()
	for cookie, c := range s.conns {
		if !alive[cookie] {
			s.healing.missing = append(s.healing.missing, c)
		}
	}
	slices.SortFunc(s.healing.missing, func(a, b *ebpfConn) int { return int(a.info.ID) - int(b.info.ID) })
	return nil
}

// loseMissing closes the connections that the kernel side no longer had, unless
// their ends were told meanwhile. How they ended, and how long they were, is not
// known: what is open of them is cut.
func (s *ebpfSource) loseMissing(now int64) {
	if len(s.healing.missing) == 0 || now < s.healing.since+lateWait {
		return
	}
	for _, c := range s.healing.missing {
		if s.conns[c.cookie] != c {
			continue
		}
		delete(s.conns, c.cookie)
		for _, each := range c.all() {
			s.closeHoles(each)
			s.settleStream(each, now)
			s.leave(each, now)
			s.emit(Segment{Conn: each.info, Gone: true, Time: now})
		}
	}
	s.healing.missing = nil
}

// amend makes of a connection's end what was not told before it, since its
// event found the control ring full: addresses, the direction that ended first,
// that it was encrypted. Where only the end tells, it has the end's time.
func (s *ebpfSource) amend(c *ebpfConn, e *bpf.Control, t int64) {
	if e.Kind != bpf.Close {
		return
	}
	if c.socket == 0 && e.Socket != 0 {
		s.describe(c, e)
	}
	c.encrypted = c.encrypted || e.Flags&bpf.Encrypted != 0
	in := dirOf(e.Flags&bpf.Client != 0)
	fin := func(dir Dir, flag bpf.ConnFlags) {
		if e.Flags&flag != 0 && !c.dirs[dir].fin {
			s.finished(c, &bpf.Control{Kind: bpf.FIN, ToClient: dir == ToClient, Flags: e.Flags, Pos: e.Pos, SeqPos: e.SeqPos}, t)
		}
	}
	if e.Flags&bpf.PeerFirst != 0 {
		fin(in, bpf.FINIn)
	}
	fin(in.Other(), bpf.FINOut)
	fin(in, bpf.FINIn)
	if c.reset == nil && e.Flags&(bpf.RSTIn|bpf.RSTOut) != 0 {
		by := in
		if e.Flags&bpf.RSTIn == 0 {
			by = in.Other()
		}
		c.reset = &ebpfReset{by: by, at: t}
	}
}

// untold makes of the process's own FIN the other side's before it, whose event
// found the control ring full: who ends a connection first tells whose doing it
// is.
func (s *ebpfSource) untold(c *ebpfConn, e *bpf.Control, t int64) {
	in := dirOf(e.Flags&bpf.Client != 0)
	if dirOf(e.ToClient) == in || e.Flags&bpf.PeerFirst == 0 || c.dirs[in].fin {
		return
	}
	s.finished(c, &bpf.Control{Kind: bpf.FIN, ToClient: in == ToClient, Flags: e.Flags, Pos: e.Pos, SeqPos: e.SeqPos}, t)
}

// leave keeps a stream of a library whose connection is gone for what a call
// that is under way may still tell of it.
func (s *ebpfSource) leave(c *ebpfConn, t int64) {
	if c.tls != nil {
		c.tls.left = t
		s.past = append(s.past, c)
	}
}

// forgetPast forgets the streams that were left before a moment.
func (s *ebpfSource) forgetPast(before int64) {
	s.past = slices.DeleteFunc(s.past, func(c *ebpfConn) bool {
		if c.tls.left > before {
			return false
		}
		if s.streams[c.tls.key] == c {
			delete(s.streams, c.tls.key)
		}
		return true
	})
}
