package recorder

import (
	"encoding/binary"
	"net/netip"
)

const (
	// maxConns bounds the open connections that are followed; beyond it the
	// one that was silent longest is forgotten, and counted. There is no idle
	// time-out: an answer may take minutes to begin.
	maxConns = 1 << 16
	// maxEnded bounds the ended connections that are remembered, so that
	// their late repetitions are not taken for new ones.
	maxEnded = 1 << 13
)

// connKey is a pair of ends in a canonical order.
type connKey struct {
	a, b         ipAddr
	aPort, bPort uint16
}

func keyOf(p *tcpPacket) (key connKey, srcIsA bool) {
	if lessEnd(p.src, p.srcPort, p.dst, p.dstPort) {
		return connKey{p.src, p.dst, p.srcPort, p.dstPort}, true
	}
	return connKey{p.dst, p.src, p.dstPort, p.srcPort}, false
}

func lessEnd(a ipAddr, aPort uint16, b ipAddr, bPort uint16) bool {
	switch {
	case a.hi != b.hi:
		return a.hi < b.hi
	case a.lo != b.lo:
		return a.lo < b.lo
	}
	return aPort < bPort
}

func (t *tracker) find(key connKey) *tcpConn {
	if t.last != nil && t.last.key == key {
		return t.last
	}
	c := t.conns[key]
	if c != nil {
		t.last = c
	}
	return c
}

// touch keeps the lists: the open one in order of last use, the ended one in
// order of end.
func (t *tracker) touch(c *tcpConn, ended bool, now int64) {
	switch {
	case c.ended:
	case ended:
		t.open.remove(c)
		c.ended = true
		t.ended.push(c)
		if t.ended.n > maxEnded {
			t.forget(t.ended.oldest(), now)
		}
	case t.open.newest() != c:
		t.open.remove(c)
		t.open.push(c)
	}
}

// add starts a connection.
func (t *tracker) add(key connKey, serverIsA bool, now int64) *tcpConn {
	if t.open.n >= maxConns {
		t.evicted++
		t.forget(t.open.oldest(), now)
	}
	t.ids++
	a, b := netip.AddrPortFrom(key.a.addr(), key.aPort), netip.AddrPortFrom(key.b.addr(), key.bPort)
	if serverIsA {
		a, b = b, a
	}
	c := &tcpConn{
		key: key, serverIsA: serverIsA,
		info: &ConnInfo{ID: uint64(t.ids), Client: a, Server: b, Start: now},
	}
	t.conns[key] = c
	t.open.push(c)
	t.last = c
	return c
}

// forget takes a connection out of the table and tells the reassembler.
func (t *tracker) forget(c *tcpConn, now int64) {
	if c == nil {
		return
	}
	if c.ended {
		t.ended.remove(c)
	} else {
		t.open.remove(c)
	}
	delete(t.conns, c.key)
	if t.last == c {
		t.last = nil
	}
	t.out = append(t.out, Segment{Conn: c.info, Time: now, Gone: true})
}

// addr makes a netip.Addr of the two halves.
func (a ipAddr) addr() netip.Addr {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], a.hi)
	binary.BigEndian.PutUint64(b[8:], a.lo)
	return netip.AddrFrom16(b).Unmap()
}

// connList is a ring of connections around a root, oldest first.
type connList struct {
	root tcpConn
	n    int
}

func (l *connList) init() { l.root.prev, l.root.next = &l.root, &l.root }

func (l *connList) push(c *tcpConn) {
	c.prev, c.next = l.root.prev, &l.root
	c.prev.next, l.root.prev = c, c
	l.n++
}

func (l *connList) remove(c *tcpConn) {
	c.prev.next, c.next.prev = c.next, c.prev
	c.prev, c.next = nil, nil
	l.n--
}

// oldest and newest are not called on an empty list's root: callers have
// checked n, or compare with a connection that is in the list.
func (l *connList) oldest() *tcpConn { return l.root.next }
func (l *connList) newest() *tcpConn { return l.root.prev }
