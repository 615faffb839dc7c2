package recorder

import "bytes"

// maxWindow is how far a sequence number may be from the last: TCP's largest
// window (RFC 7323).
const maxWindow = 1 << 30

// tracker turns packets into segments: it knows the connections, who is the
// client in each, and where in its direction each byte belongs.
//
// The client is the sender of the SYN. Where the capture has no SYN, the first
// packet with data decides, by its content (a request line, or "HTTP/1."),
// else by the ports: that which the caller asked for, else the lower one is the
// server's. A choice by port is taken back when content shows it wrong: the
// connection then starts anew, turned round.
//
// Connections are told apart by addresses and ports only, not by VLAN or
// tunnel: one packet seen on several interfaces must count once.
type tracker struct {
	ports map[uint16]bool
	conns map[connKey]*tcpConn
	last  *tcpConn
	open  connList
	ended connList
	// out holds the segments of the last packet; at most a few.
	out  []Segment
	sent int

	ids, segments, filtered, keepAlives, outOfWindow, evicted int64
}

// tcpConn is one connection. It is in the list open or in ended.
type tcpConn struct {
	key  connKey
	info *ConnInfo
	// serverIsA: the key's first end is the server.
	serverIsA bool
	// sure: who is the client is known, not guessed from ports.
	sure       bool
	ended      bool
	dirs       [2]tcpDir
	prev, next *tcpConn
}

// tcpDir is one direction.
type tcpDir struct {
	// known: the sequence number seq stands at position pos.
	known bool
	seq   uint32
	pos   int64
	// isn is the sequence number of the SYN, where synSeen.
	isn     uint32
	synSeen bool
	fin     bool
	// acked is how far the other side has received this one.
	acked int64
	// stray is the sequence number that follows a segment out of window.
	stray      uint32
	strayKnown bool
}

// at is the position of a sequence number, by its distance from the last.
func (d *tcpDir) at(seq uint32) int64 {
	return d.pos + int64(int32(seq-d.seq))
}

// start sets the sequence number of position 0.
func (d *tcpDir) start(seq uint32) {
	d.known, d.seq, d.pos = true, seq, 0
}

func newTracker(ports []int) *tracker {
	t := &tracker{conns: make(map[connKey]*tcpConn)}
	t.open.init()
	t.ended.init()
	for _, port := range ports {
		if t.ports == nil {
			t.ports = make(map[uint16]bool)
		}
		t.ports[uint16(port)] = true
	}
	return t
}

// next hands out the segments of the packet taken last.
func (t *tracker) next() (Segment, bool) {
	if t.sent == len(t.out) {
		t.out, t.sent = t.out[:0], 0
		return Segment{}, false
	}
	t.sent++
	return t.out[t.sent-1], true
}

func (t *tracker) addTo(s *SourceStats) {
	s.Segments, s.Filtered = t.segments, t.filtered
	s.KeepAlives, s.OutOfWindow = t.keepAlives, t.outOfWindow
	s.Connections, s.Evicted = t.ids, t.evicted
}

// take adds one packet; its segments are handed out by next.
func (t *tracker) take(p *tcpPacket) {
	if t.ports != nil && !t.ports[p.srcPort] && !t.ports[p.dstPort] {
		t.filtered++
		return
	}
	t.segments++
	key, srcIsA := keyOf(p)
	c := t.find(key)
	if p.has(flagSYN) {
		c = t.takeSYN(c, key, srcIsA, p)
	} else {
		c = t.settle(c, key, srcIsA, p)
	}
	if c != nil {
		t.emit(c, c.dirOf(srcIsA), p)
	}
}

func (c *tcpConn) dirOf(srcIsA bool) Dir {
	if srcIsA == c.serverIsA {
		return ToClient
	}
	return ToServer
}

// takeSYN returns the connection of a SYN or SYN/ACK, a new one where the
// numbers do not fit the one known (ports used again).
func (t *tracker) takeSYN(c *tcpConn, key connKey, srcIsA bool, p *tcpPacket) *tcpConn {
	serverIsA, clientISN := !srcIsA, p.seq
	if p.has(flagACK) {
		serverIsA, clientISN = srcIsA, p.ack-1
	}
	if c == nil || c.serverIsA != serverIsA || !c.fitsSYN(clientISN, p.has(flagACK)) {
		t.forget(c, p.time)
		c = t.add(key, serverIsA, p.time)
		c.sure, c.info.SawSYN = true, true
		c.dirs[ToServer].isn, c.dirs[ToServer].synSeen = clientISN, true
		c.dirs[ToServer].start(clientISN + 1)
	}
	if d := &c.dirs[ToClient]; p.has(flagACK) && !d.synSeen {
		d.isn, d.synSeen = p.seq, true
		if !d.known {
			d.start(p.seq + 1)
		}
	}
	return c
}

// fitsSYN reports whether a SYN (or, acked, the SYN/ACK that answers it) is of
// this connection. The answer may acknowledge data of the SYN too (RFC 7413).
func (c *tcpConn) fitsSYN(clientISN uint32, acked bool) bool {
	const maxData = 1 << 16
	d := &c.dirs[ToServer]
	if !d.synSeen {
		return false
	}
	return d.isn == clientISN || acked && clientISN-d.isn < maxData
}

// settle returns the connection of a packet without SYN, or nil where the
// packet tells nothing: a bare ACK of a connection not known, or a keep-alive
// probe.
func (t *tracker) settle(c *tcpConn, key connKey, srcIsA bool, p *tcpPacket) *tcpConn {
	if c == nil {
		return t.joinLate(key, srcIsA, p)
	}
	if t.turnedRound(c, srcIsA, p) {
		t.forget(c, p.time)
		return t.joinLate(key, srcIsA, p)
	}
	d := &c.dirs[c.dirOf(srcIsA)]
	if !d.known {
		return t.settleFirst(c, d, p)
	}
	if pos := d.at(p.seq); pos-d.pos > maxWindow || d.pos-pos > maxWindow {
		return t.settleStray(c, d, key, srcIsA, p)
	}
	d.strayKnown = false
	if isKeepAlive(d, p) {
		t.keepAlives++
		p.payload, p.want = nil, 0
	}
	t.noteHandshake(c, srcIsA, p)
	return c
}

// settleFirst starts a direction whose SYN was not seen.
func (t *tracker) settleFirst(c *tcpConn, d *tcpDir, p *tcpPacket) *tcpConn {
	switch {
	case p.want == 1 && maybeProbe(p):
		t.keepAlives++
		p.payload, p.want = nil, 0
	case p.want > 0 || p.has(flagFIN):
		d.start(p.seq)
	}
	return c
}

// settleStray deals with a sequence number that cannot be of this connection.
// One such segment may be damaged, two that follow each other are those of a
// new connection whose SYN was not seen.
func (t *tracker) settleStray(c *tcpConn, d *tcpDir, key connKey, srcIsA bool, p *tcpPacket) *tcpConn {
	if p.want > 0 && d.strayKnown && d.stray == p.seq {
		t.forget(c, p.time)
		return t.joinLate(key, srcIsA, p)
	}
	t.outOfWindow++
	d.stray, d.strayKnown = p.seq+uint32(p.want), p.want > 0
	return nil
}

// maybeProbe recognises a keep-alive probe where nothing of the direction is
// known yet: at most one byte, not pushed. Real data of one byte is pushed.
func maybeProbe(p *tcpPacket) bool {
	return p.want <= 1 && p.flags&(flagFIN|flagRST|flagPSH) == 0
}

// isKeepAlive recognises a keep-alive probe (RFC 9293, 3.8.4): no byte, or a
// garbage byte, at a place that the other side has already acknowledged.
func isKeepAlive(d *tcpDir, p *tcpPacket) bool {
	if p.want > 1 || p.flags&(flagFIN|flagRST) != 0 {
		return false
	}
	return d.acked > 0 && d.at(p.seq) == d.acked-1
}

// noteHandshake sees the client's ACK of the server's SYN. That ACK also tells
// where the server's bytes begin, when the server's SYN was not captured.
func (t *tracker) noteHandshake(c *tcpConn, srcIsA bool, p *tcpPacket) {
	if !c.info.SawSYN || c.info.ConnectNs != nil || c.dirOf(srcIsA) != ToServer || !p.has(flagACK) {
		return
	}
	client, server := &c.dirs[ToServer], &c.dirs[ToClient]
	if p.seq != client.isn+1 {
		return
	}
	if !server.known {
		server.start(p.ack)
		return
	}
	if server.synSeen && p.ack == server.isn+1 {
		c.info.ConnectNs = new(p.time - c.info.Start)
	}
}

// joinLate starts a connection in its middle.
func (t *tracker) joinLate(key connKey, srcIsA bool, p *tcpPacket) *tcpConn {
	if p.want == 0 || maybeProbe(p) {
		return nil
	}
	fromClient, sure := t.guessClient(p)
	c := t.add(key, srcIsA != fromClient, p.time)
	c.sure = sure
	c.dirs[c.dirOf(srcIsA)].start(p.seq)
	return c
}

// guessClient says whether the sender is the client, and whether that is sure.
func (t *tracker) guessClient(p *tcpPacket) (fromClient, sure bool) {
	if isClient, ok := contentSide(p.payload); ok {
		return isClient, true
	}
	if t.ports != nil && t.ports[p.srcPort] != t.ports[p.dstPort] {
		return t.ports[p.dstPort], true
	}
	return p.srcPort > p.dstPort, false
}

// turnedRound reports whether content shows that client and server of a
// connection, guessed from their ports, are the other way round.
func (t *tracker) turnedRound(c *tcpConn, srcIsA bool, p *tcpPacket) bool {
	if c.sure || len(p.payload) == 0 {
		return false
	}
	isClient, ok := contentSide(p.payload)
	if !ok {
		return false
	}
	if isClient == (c.dirOf(srcIsA) == ToServer) {
		c.sure = true
		return false
	}
	return true
}

// contentSide tells the side by the first bytes of a segment.
func contentSide(b []byte) (isClient, ok bool) {
	if bytes.HasPrefix(b, []byte("HTTP/1.")) {
		return false, true
	}
	for _, method := range [...]string{
		"GET ", "POST ", "PUT ", "HEAD ", "DELETE ", "PATCH ", "OPTIONS ", "CONNECT ", "TRACE ", "PRI * HTTP/2",
	} {
		if len(b) >= len(method) && string(b[:len(method)]) == method {
			return true, true
		}
	}
	return false, false
}

// emit makes the segment of a packet whose connection is settled.
func (t *tracker) emit(c *tcpConn, dir Dir, p *tcpPacket) {
	d, other := &c.dirs[dir], &c.dirs[dir.Other()]
	s := Segment{
		Conn: c.info, Dir: dir, Data: p.payload, Want: p.want, Time: p.time,
		SYN: p.has(flagSYN), FIN: p.has(flagFIN), RST: p.has(flagRST),
	}
	seq := p.seq
	if s.SYN {
		seq++ // the SYN itself takes a number
	}
	if d.known {
		s.Pos = d.at(seq)
		if s.Pos > d.pos {
			d.seq, d.pos = seq, s.Pos
		}
	}
	if p.has(flagACK) && other.known {
		if acked := other.at(p.ack); acked > other.acked && acked-other.pos <= maxWindow {
			other.acked = acked
		}
		s.Acked = other.acked
	}
	d.fin = d.fin || s.FIN
	t.touch(c, s.RST || d.fin && other.fin, p.time)
	t.out = append(t.out, s)
}
