package recorder

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/lambdac/lambdac/bpf"
)

// tlsSide is what puts probes on TLS libraries, and knows of them.
type tlsSide interface {
	// saw takes events of files and processes.
	saw(*bpf.Control)
	// length is that of a stream, read and written; false where it has ended.
	length(streamKey) (l bpf.Length, ok bool)
	// covers is when a process had all its probes, Unix ns.
	covers(tgid uint32) int64
	// why says for which reason a process's TLS is not read.
	why(tgid uint32) string
	warnings() []string
	// detach takes the probes away, close all the rest.
	detach() error
	close() error
}

// ebpfSide is which sides of connections are asked for.
type ebpfSide struct{ server, client bool }

// streamKey names a stream of a TLS library.
type streamKey struct {
	tgid       uint32
	generation uint32
	ssl        uint64
}

// tlsStream is what a connection that was read inside a TLS library has of its
// own.
type tlsStream struct {
	key streamKey
	// swapped: what the process reads goes to the client, since it is one.
	swapped bool
	// settled: it is known which of both it is.
	settled bool
	// unwanted: it is of a side that is not asked for.
	unwanted bool
	// left is when its connection was gone.
	left int64
}

// dir is the direction of what was read (0) or written (1).
func (t *tlsStream) dir(written int) Dir {
	if t.swapped {
		return Dir(1 - written)
	}
	return Dir(written)
}

// lengths are positions, read and written, by direction.
func (t *tlsStream) lengths(pos [2]int64) [2]int64 {
	if t.swapped {
		pos[0], pos[1] = pos[1], pos[0]
	}
	return pos
}

// newStream begins a stream that is bound to no connection yet.
func (s *ebpfSource) newStream(key streamKey, start int64) *ebpfConn {
	s.ids++
	s.stats.Connections++
	c := &ebpfConn{
		tgid: key.tgid, tls: &tlsStream{key: key},
		info: &ConnInfo{ID: s.ids, Start: start, SawSYN: true, Decrypted: true},
	}
	s.streams[key] = c
	return c
}

// streamOf finds the stream of a TLS library. Its addresses are those of the
// connection that it is bound to; one that is bound to none has no addresses.
func (s *ebpfSource) streamOf(d *bpf.Data) *ebpfConn {
	key := streamKey{tgid: d.TGID, generation: d.Generation, ssl: d.SSL}
	c := s.streams[key]
	if c == nil {
		c = s.newStream(key, s.clock.unix(d.Time))
		c.info.SawSYN = d.Pos == 0
	}
	if raw := s.conns[d.Cookie]; raw != nil && c.cookie == 0 {
		s.bindTo(c, raw)
	}
	return c
}

// bind gives a stream the connection that the kernel side found to be its own.
func (s *ebpfSource) bind(e *bpf.Control) {
	key := streamKey{tgid: e.TGID, generation: e.Generation, ssl: e.SSL}
	c, raw := s.streams[key], s.conns[e.Cookie]
	switch {
	case raw == nil:
		return
	case c == nil:
		c = s.newStream(key, 0)
	}
	if c.cookie == 0 {
		s.bindTo(c, raw)
	}
}

// bindTo gives a stream the identity of its connection.
func (s *ebpfSource) bindTo(c, raw *ebpfConn) {
	c.cookie = raw.cookie
	c.info.Client, c.info.Server = raw.info.Client, raw.info.Server
	c.info.Start = raw.info.Start
	// Of a connection that is older than the probes, something may be missing
	// that nobody counted.
	c.info.SawSYN = c.info.SawSYN && raw.info.SawSYN && (s.tls == nil || raw.info.Start >= s.tls.covers(c.tgid))
	c.tls.swapped, c.tls.settled = raw.client, true
	raw.encrypted = true
	raw.streams = append(raw.streams, c)
}

// orient finds the direction of data of a stream, and reports whether it is
// wanted. Of a stream that is bound to no connection, the first bytes tell
// whether the process is the client: it writes a request, or reads an answer.
func (s *ebpfSource) orient(c *ebpfConn, d *bpf.Data) (Dir, bool) {
	written := 0
	if d.ToClient { // of a stream of a library: written
		written = 1
	}
	t := c.tls
	if !t.settled {
		asks, known := looksAsked(d.Bytes)
		t.settled, t.swapped = true, known && asks == (written == 1)
		t.unwanted = t.swapped && !s.side.client || !t.swapped && !s.side.server
	}
	if t.unwanted {
		s.unboundLeft += int64(d.Want)
	}
	return t.dir(written), !t.unwanted
}

// looksAsked reports whether bytes begin a request, or an answer, as far as
// they tell.
func looksAsked(b []byte) (request, known bool) {
	method, _, spaced := bytes.Cut(b[:min(len(b), 16)], []byte(" "))
	switch {
	case bytes.HasPrefix(b, []byte("HTTP/1.")):
		return false, true
	case !spaced || len(method) < 3:
		return false, false
	}
	for _, ch := range method {
		if ch < 'A' || ch > 'Z' {
			return false, false
		}
	}
	return true, true
}

// endStreams ends a direction of the streams that are read of a connection.
// What the other side sent may still be in the library, or even on its way
// there: that direction ends with the connection.
func (s *ebpfSource) endStreams(c *ebpfConn, dir Dir, mine bool, t int64) {
	for _, stream := range c.streams {
		d := &stream.dirs[dir]
		if d.fin {
			continue
		}
		d.fin, d.finTime, d.finPos = true, t, unknownEnd
		if mine {
			s.settleStream(stream, t)
			d.finPos = d.next
			s.sendFIN(stream, dir)
		}
	}
}

// unknownEnd is where a direction ends of which only the connection's end will
// tell.
const unknownEnd = int64(1) << 62

// settleStream loses what a stream moved and no event has brought.
func (s *ebpfSource) settleStream(c *ebpfConn, t int64) {
	if s.tls == nil || c.tls == nil || c.tls.unwanted || c.tls.left != 0 {
		return
	}
	l, ok := s.lengths[c]
	if s.lengths == nil {
		l, ok = s.tls.length(c.tls.key)
	}
	if ok {
		s.tail(c, c.tls.lengths(l.Pos), c.tls.lengths(l.Skipped), t)
	}
}

// unbind ends a stream of a TLS library. One that is bound ends with its
// connection, which tells more of how.
func (s *ebpfSource) unbind(e *bpf.Control) {
	key := streamKey{tgid: e.TGID, generation: e.Generation, ssl: e.SSL}
	c := s.streams[key]
	if c == nil {
		return
	}
	delete(s.streams, key)
	if c.tls.unwanted || c.tls.left != 0 {
		return
	}
	t := s.clock.unix(e.Time)
	s.closeHoles(c)
	s.tail(c, c.tls.lengths(e.Pos), c.tls.lengths(e.Skipped), t)
	if c.cookie == 0 || s.conns[c.cookie] == nil {
		s.finish(c, e, t)
	}
}

// forgetStreams ends what streams a process left that are bound to no
// connection.
func (s *ebpfSource) forgetStreams(e *bpf.Control) {
	for key, c := range s.streams {
		if key.tgid == e.TGID && (c.cookie == 0 || s.conns[c.cookie] == nil) {
			delete(s.streams, key)
			s.finish(c, e, s.clock.unix(e.Time))
		}
	}
}

// read reports whether something of an encrypted connection was read.
func (c *ebpfConn) read() bool {
	return slices.ContainsFunc(c.streams, func(s *ebpfConn) bool { return s.dirs[ToServer].next+s.dirs[ToClient].next > 0 })
}

// addBlind counts the bytes of a connection that was not read. One whose
// handshake was under way when the probes were taken away, or began later, was
// not there to be read.
func (s *ebpfSource) addBlind(c *ebpfConn, pos [2]int64) {
	if c.encryptedAt > s.probed || c.encryptedAt > s.probed-lateWait && pos[0]+pos[1] <= handshakeBytes {
		return
	}
	s.blind.add(c, pos, s.whyBlind(c))
}

// whyBlind is why an encrypted connection was not read.
func (s *ebpfSource) whyBlind(c *ebpfConn) string {
	switch {
	case !c.encrypted:
		return ""
	case s.tls == nil:
		return "not asked for (--tls)"
	}
	return s.tls.why(c.tgid)
}

// tlsWarnings are what a user should know of the TLS that was read.
func (s *ebpfSource) tlsWarnings(c *bpf.Counts) []string {
	var list []string
	if s.tls != nil {
		list = slices.Clone(s.tls.warnings())
	}
	var unbound int64
	for _, n := range c.Unbound {
		unbound += int64(n.Bytes)
	}
	if unbound > 0 {
		list = append(list, fmt.Sprintf("%d bytes of TLS could be bound to no connection: they have no addresses", unbound))
	}
	if s.unboundLeft > 0 {
		list = append(list, fmt.Sprintf("%d of these bytes are of the side that was not asked for", s.unboundLeft))
	}
	return list
}
