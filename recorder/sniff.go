package recorder

import (
	"bytes"

	"golang.org/x/net/http2"
)

// sniffer decides between HTTP/1 and HTTP/2 by what a connection begins with:
// the preface of the client (RFC 9113, section 3.4), or SETTINGS of a server
// that did not wait for it. Bytes that may still become either are held.
type sniffer struct {
	// decided: the direction's bytes are taken as they come.
	decided [2]bool
	first   [2][]byte
	held    [2][]heldCall
	// scent looks for HTTP/2 in a connection whose beginning was not seen, as
	// long as nothing has proved it to be HTTP/1; nil = no more.
	scent *h2conn
	// followed is the number of bytes given to it.
	followed int
}

// maxFollowed bounds the search for HTTP/2 in what may be anything.
const maxFollowed = 1 << 20

// startKind is what the first bytes of a direction are.
type startKind uint8

const (
	startOpen startKind = iota // of either
	startH1                    // not of HTTP/2
	startH2
)

// judgeStart reads the first bytes of a direction.
func judgeStart(d Dir, b []byte) startKind {
	if d == ToServer {
		n := min(len(b), len(http2.ClientPreface))
		switch {
		case string(b[:n]) != http2.ClientPreface[:n]:
			return startH1
		case n == len(http2.ClientPreface):
			return startH2
		}
		return startOpen
	}
	if len(b) >= frameHeadLen {
		if h := parseFrameHead(b); h.Type == http2.FrameSettings && plausible(&h) > 0 && !h.Flags.Has(http2.FlagSettingsAck) {
			return startH2
		}
		return startH1
	}
	if mayBeFrame(b) == chainNo || len(b) > 3 && b[3] != byte(http2.FrameSettings) {
		return startH1
	}
	return startOpen
}

// sniff takes bytes of a direction that is not decided.
func (c *conn) sniff(d Dir, b []byte, t int64) {
	s := &c.sniffer
	s.first[d] = append(s.first[d], b[:min(len(b), len(http2.ClientPreface)-len(s.first[d]))]...)
	kind := judgeStart(d, s.first[d])
	if kind == startH2 && c.messages == [2]int{} {
		s.scent = nil
		c.h2 = newH2(c, [2]bool{
			ToServer: d == ToServer || c.info.SawSYN && !s.decided[ToServer] && !c.loosened(ToServer),
			ToClient: d == ToClient || c.info.SawSYN && !s.decided[ToClient] && !c.loosened(ToClient),
		})
		c.h2.active, c.h2.joined = true, false
		c.tail, c.unread = nil, 0
		c.messages[d]++
		c.unsniff(d.Other())
	}
	if kind == startOpen {
		s.held[d] = append(s.held[d], heldCall{b: bytes.Clone(b), t: t, n: int64(c.delivery)})
		return
	}
	c.unsniff(d)
	c.read(d, b, t)
}

// loosened reports whether a direction lost bytes before any message.
func (c *conn) loosened(d Dir) bool { return c.parser(d).loose }

// unsniff gives what is held of a direction to its reader.
func (c *conn) unsniff(d Dir) {
	s := &c.sniffer
	held := s.held[d]
	s.decided[d], s.held[d], s.first[d] = true, nil, nil
	now := c.delivery
	for i := range held {
		c.delivery = uint64(held[i].n)
		c.read(d, held[i].b, held[i].t)
	}
	c.delivery = now
}

// follow looks for HTTP/2 in bytes that HTTP/1 does not explain, and reports
// whether they are of it.
func (c *conn) follow(d Dir, b []byte, t int64) bool {
	s := &c.sniffer
	switch {
	case c.messages != [2]int{} || s.followed > maxFollowed:
		s.scent = nil
		return false
	case !s.scent.active:
		s.followed += len(b)
		s.scent.feed(d, b, t)
	}
	if !s.scent.active {
		return false
	}
	c.h2, s.scent = s.scent, nil
	c.blind, c.tail, c.unread = "", nil, 0
	return true
}

// upgradeH2 goes on in HTTP/2, where stream 1 is the request that asked for it.
func (c *conn) upgradeH2(e *exchange) {
	c.h2 = newH2(c, [2]bool{true, true})
	c.h2.active, c.h2.joined, c.h2.first, c.h2.last = true, false, 1, 1
	c.leave(e)
	c.answering = nil
	c.h2.add(1, e)
}
