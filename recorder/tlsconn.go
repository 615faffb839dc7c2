package recorder

import (
	"crypto/tls"
	"fmt"
)

// Reasons for which the bytes of a TLS connection, or its rest, are not read.
const (
	tlsNoKeyLog    = "no key log was given"
	tlsNoSecret    = "the key log has no secret of it"
	tlsJoined      = "it began before the capture"
	tlsUnfinished  = "its handshake did not end"
	tlsCutInHello  = "bytes of its handshake were lost"
	tlsHole        = "bytes were lost and with them the place of the next record"
	tlsOld         = "its version is older than TLS 1.2"
	tlsMalformed   = "a record or handshake message is not as TLS has it"
	tlsBadRecord   = "a record's authentication failed"
	tlsCompressed  = "it is compressed"
	tlsRenegotiate = "it negotiated anew"
	tlsShed        = "there was no room for its handshake"
)

// faultTLS is the fault of exchanges that were under way when a direction
// could not be read any more.
const faultTLS = "tls"

// tlsPhase says which secret protects the next record of a direction.
type tlsPhase uint8

const (
	tlsPlain tlsPhase = iota
	tlsEarly
	tlsHandshake
	tlsData
)

// tlsAnswer is what is known of early data.
type tlsAnswer uint8

const (
	earlyNone tlsAnswer = iota
	earlyOffered
	earlyAccepted
	earlyRejected
)

// tlsConn takes the two directions of a TLS connection and hands what its
// records hold to conn. Each byte of it has the time of the packet that
// completed its record.
type tlsConn struct {
	c    *conn
	dirs [2]tlsDir

	// Of the hellos; suite is set when both were seen.
	sawClient    bool
	client       clientHello
	ticket       []byte
	serverRandom [32]byte
	session      []byte // what the server calls the session
	suite        *tlsSuite
	retry        bool // the server asked for another ClientHello
	early        tlsAnswer
	master       secret
	// pending are the ciphers of TLS 1.2, until each side changes to them.
	pending [2]*tlsCipher

	tlsQueue
	// doneAt is when the handshake ended; 0 = not yet.
	doneAt int64
	// begun: a record was seen. read: one was decrypted. noted: the reason why something was not
	// is counted.
	begun, read, noted bool
	// item is the one being processed; now is where new ones are made.
	item *tlsItem
	now  tlsItem
}

// tlsDir is one direction.
type tlsDir struct {
	frames tlsFraming
	phase  tlsPhase
	cipher *tlsCipher
	key    secret // TLS 1.3: the one in use
	// trial: records that cannot be opened are early data that is passed over.
	trial bool
	// near is the number of wire bytes lost since the last record, where it is
	// not known how many records they were.
	near    int64
	nearWhy string

	messages tlsMessages
	// unread counts bytes that were taken before any content came out.
	unread          int64
	useful, stopped bool
	// missing: a secret is.
	missing bool
}

func newTLSConn(c *conn) *tlsConn {
	t := &tlsConn{c: c}
	for d := range t.dirs {
		t.dirs[d].frames = tlsFraming{free: &c.rec.tls.free, take: func(what itemKind, record []byte, n int64, why string) {
			t.found(Dir(d), tlsItem{what: what, record: record, n: n, why: why})
		}}
	}
	return t
}

// found takes what the framing of a direction has found.
func (t *tlsConn) found(d Dir, it tlsItem) {
	t.now = it
	t.now.dir, t.now.at, t.now.delivery = d, t.c.clock[d], t.c.delivery
	t.take(&t.now)
}

// feed takes bytes of the connection.
func (t *tlsConn) feed(d Dir, b []byte) { t.blind(t.dirs[d].frames.feed(b)) }

// gap says that n bytes of the connection are lost.
func (t *tlsConn) gap(d Dir, n int64, why string) { t.blind(t.dirs[d].frames.gap(n, why)) }

// fin says that the direction ended.
func (t *tlsConn) fin(d Dir) {
	t.dirs[d].frames.finish()
	t.found(d, tlsItem{what: itemFIN})
}

// end says that the connection ended: what waits will not be read.
func (t *tlsConn) end() {
	for d := range t.dirs {
		t.dirs[d].frames.finish()
		t.found(Dir(d), tlsItem{what: itemEnd})
	}
	if len(t.queue) > 0 {
		t.c.rec.tls.lookAgain()
		t.changed = true
		t.drain()
	}
	switch {
	case len(t.queue) > 0:
		t.giveUp()
	case !t.read:
		t.stopBoth(tlsUnfinished)
	}
	for d := range t.dirs {
		f := &t.dirs[d].frames
		t.blind(int64(len(f.buf)))
		f.free.put(f.buf)
		f.buf, f.broken = nil, true
	}
}

func (t *tlsConn) blind(n int64) {
	if n == 0 {
		return
	}
	reason := t.c.blind
	if reason == "" {
		reason = "tls"
	}
	t.c.rec.acct.blind(reason, n)
}

// process takes one item; false: it must wait.
func (t *tlsConn) process(it *tlsItem) bool {
	t.item = it
	s := &t.dirs[it.dir]
	switch {
	case it.what == itemFIN || it.what == itemEnd:
		t.endHole(s)
		if it.what == itemFIN {
			t.c.plainFIN(it.dir)
		}
		return true
	case s.stopped:
		t.blind(int64(len(it.record)))
		return true
	}
	switch it.what {
	case itemRecord:
		t.begin()
		return t.record(s, it)
	case itemBroken:
		if !t.begun {
			t.c.turnBlind("unknown_protocol")
			t.noted = true
		}
		t.blind(int64(len(it.record)))
		t.stop(it.dir, it.why)
		return true
	}
	return t.lose(s, it)
}

// begin counts the connection at its first record.
func (t *tlsConn) begin() {
	if !t.begun {
		t.begun = true
		t.c.rec.tls.conns++
	}
}

// lose accounts for records that are lost; false: it must wait.
func (t *tlsConn) lose(s *tlsDir, it *tlsItem) bool {
	switch {
	case s.phase != tlsData:
		t.stop(it.dir, tlsCutInHello)
	case s.cipher == nil && !t.nextCipher(s, it.dir):
		return s.stopped
	case it.what == itemHole || s.near > 0:
		s.near += it.n
		s.nearWhy = it.why
	default:
		s.cipher.seq++
		t.lost(s, it.n-int64(s.cipher.overhead()), it.why)
	}
	return true
}

// endHole: a hole reaches to the direction's end.
func (t *tlsConn) endHole(s *tlsDir) {
	if s.near > 0 && !s.stopped {
		lost := max(s.near-int64(s.cipher.overhead()), 1)
		s.near = 0
		t.lost(s, lost, s.nearWhy)
	}
}

// lost tells the protocol that n bytes of it are lost. Records are taken to
// have held data without padding, which nobody can know.
func (t *tlsConn) lost(s *tlsDir, n int64, why string) {
	s.useful = true
	if n > 0 {
		t.c.plainGap(t.item.dir, n, why, t.item.at)
	}
}

// record takes one whole record; false: it must wait.
func (t *tlsConn) record(s *tlsDir, it *tlsItem) bool {
	kind := it.record[0]
	switch {
	case s.phase == tlsPlain:
		return t.plainRecord(s, it, kind)
	case t.v13() && kind == recordChangeCipher:
		s.pass(it.record) // for middleboxes: RFC 8446, appendix D.4
		return true
	case t.v13() && kind == recordAlert:
		s.pass(it.record) // by a side that has no keys yet
		return true
	case t.v13() && kind != recordData:
		s.pass(it.record)
		t.stop(it.dir, tlsMalformed)
		return true
	}
	if s.cipher == nil && !t.nextCipher(s, it.dir) {
		return s.stopped && t.process(it)
	}
	t.open(s, it)
	return true
}

// pass counts a record that holds nothing of the protocol.
func (s *tlsDir) pass(record []byte) {
	if !s.useful {
		s.unread += int64(len(record))
	}
}

func (t *tlsConn) v13() bool { return t.suite != nil && t.suite.v13 }

// plainRecord takes a record of a direction that is not encrypted yet.
func (t *tlsConn) plainRecord(s *tlsDir, it *tlsItem, kind byte) bool {
	switch {
	case it.dir == ToClient && !t.sawClient && t.c.info.SawSYN:
		return false // the two were captured in the wrong order
	case kind == recordHandshake:
		s.pass(it.record)
		t.handshake(s, it.record[tlsHeader:])
	case kind == recordAlert:
		s.pass(it.record)
	case !t.sawClient:
		s.pass(it.record)
		t.stopBoth(tlsJoined)
	case t.retry && it.dir == ToServer:
		s.pass(it.record) // early data that the server has refused, and the like
	case t.suite == nil && it.dir == ToServer:
		return false
	case kind == recordChangeCipher && t.suite != nil && !t.v13():
		if !t.changeCipher(s, it.dir) {
			return s.stopped && t.process(it)
		}
		s.pass(it.record)
	case kind == recordChangeCipher && t.suite == nil:
		s.pass(it.record) // behind a HelloRetryRequest
	default:
		s.pass(it.record)
		t.stopBoth(tlsMalformed)
	}
	return true
}

// stop ends the reading of one direction, or of the connection where nothing
// was read of it.
func (t *tlsConn) stop(d Dir, reason string) {
	s := &t.dirs[d]
	if s.stopped {
		return
	}
	if !t.noted {
		t.noted = true
		t.c.rec.tls.note(reason)
	}
	s.stopped, s.frames.broken, t.changed = true, true, true
	t.blind(s.unread + int64(len(s.frames.buf)))
	s.frames.free.put(s.frames.buf)
	s.unread, s.frames.buf, s.cipher, s.key, s.messages = 0, nil, nil, secret{}, tlsMessages{}
	if t.dirs[0].useful || t.dirs[1].useful {
		t.c.deafen(d, reason == tlsHole)
		return
	}
	if t.c.blind == "" {
		t.c.turnBlind("tls")
	}
	t.stop(d.Other(), reason)
}

func (t *tlsConn) stopBoth(reason string) {
	t.stop(ToServer, reason)
	t.stop(ToClient, reason)
}

// unsupported names a suite.
func unsupported(id uint16) string {
	return fmt.Sprintf("its cipher suite %s cannot be read", tls.CipherSuiteName(id))
}
