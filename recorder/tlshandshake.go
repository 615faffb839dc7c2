package recorder

import (
	"bytes"
	"crypto/tls"
)

// handshake takes the content of a handshake record.
func (t *tlsConn) handshake(s *tlsDir, content []byte) {
	for len(content) > 0 && !s.stopped {
		kind, body, rest, whole := s.messages.next(content)
		if !whole {
			return
		}
		t.message(s, kind, body)
		content = rest
	}
}

func (t *tlsConn) message(s *tlsDir, kind byte, body []byte) {
	plain, fromServer := s.phase == tlsPlain, t.item.dir == ToClient
	switch {
	case kind == helloClient && !fromServer:
		t.helloClient(plain, body)
	case kind == helloServer && fromServer && plain:
		t.helloServer(body)
	case kind == newSessionTicket && fromServer && plain:
		if ticket, ok := parseTicket(body); ok {
			t.ticket = bytes.Clone(ticket)
		}
	case !t.v13():
	case kind == encryptedExtensions && fromServer:
		t.decideEarly(body)
	case kind == endOfEarlyData && s.phase == tlsEarly:
		s.enter(tlsHandshake)
	case kind == finished && s.phase == tlsHandshake:
		s.enter(tlsData)
		if !fromServer {
			t.doneAt = t.item.at
		}
	case kind == keyUpdate && s.phase == tlsData:
		t.updateKey(s)
	}
}

// enter moves a direction to its next secret.
func (s *tlsDir) enter(p tlsPhase) { s.phase, s.cipher, s.key = p, nil, secret{} }

func (t *tlsConn) helloClient(plain bool, body []byte) {
	h, ok := parseClientHello(body)
	switch {
	case !plain:
		t.stopBoth(tlsRenegotiate)
		return
	case !ok || t.suite != nil:
		t.stopBoth(tlsMalformed)
		return
	}
	h.session, h.ticket = bytes.Clone(h.session), bytes.Clone(h.ticket)
	t.client, t.sawClient, t.changed = h, true, true
	if t.early = earlyNone; h.early && !t.retry {
		t.early = earlyOffered
	}
	t.retry = false
}

func (t *tlsConn) helloServer(body []byte) {
	h, ok := parseServerHello(body)
	v13 := h.version == tls.VersionTLS13
	suite, known := findSuite(h.suite, v13)
	switch {
	case !t.sawClient:
		t.stopBoth(tlsJoined)
	case !ok || t.suite != nil || h.version > tls.VersionTLS13:
		t.stopBoth(tlsMalformed)
	case h.version < tls.VersionTLS12:
		t.stopBoth(tlsOld)
	case h.compressed:
		t.stopBoth(tlsCompressed)
	case h.retry:
		t.retry, t.early, t.changed = true, earlyNone, true
	case !known:
		t.stopBoth(unsupported(h.suite))
	default:
		t.suite, t.changed = &suite, true
		t.serverRandom, t.session = h.random, bytes.Clone(h.session)
		if v13 {
			t.enterHandshake()
		}
	}
}

func (t *tlsConn) enterHandshake() {
	t.dirs[ToClient].enter(tlsHandshake)
	t.dirs[ToServer].enter(tlsHandshake)
	if t.early == earlyOffered {
		t.dirs[ToServer].enter(tlsEarly)
	}
}

func (t *tlsConn) decideEarly(body []byte) {
	accepted, ok := earlyDataAccepted(body)
	if !ok {
		t.stopBoth(tlsMalformed)
		return
	}
	if t.early != earlyOffered {
		return
	}
	t.changed, t.early = true, earlyRejected
	if accepted {
		t.early = earlyAccepted
	}
}

func (t *tlsConn) updateKey(s *tlsDir) {
	key, err := t.suite.updated(s.key)
	if err == nil {
		err = t.use(s, key)
	}
	if err != nil {
		t.stop(t.item.dir, tlsMalformed)
	}
}

func (t *tlsConn) use(s *tlsDir, key secret) error {
	c, err := t.suite.trafficCipher(key)
	s.cipher, s.key = c, key
	return err
}

// nextCipher makes the cipher of the direction's next record in TLS 1.3;
// false: its secret is missing, or it is not known yet which it is.
func (t *tlsConn) nextCipher(s *tlsDir, d Dir) bool {
	label := clientHandshake
	switch {
	case s.phase == tlsEarly && t.early == earlyOffered:
		return false
	case s.phase == tlsEarly && t.early == earlyAccepted && t.has(clientEarly):
		label = clientEarly
	case s.phase == tlsEarly:
		s.enter(tlsHandshake)
		s.trial = true
	case s.phase == tlsData:
		label = clientTraffic
	}
	if d == ToClient {
		label++ // the server's secrets follow the client's
	}
	key, ok := t.c.rec.tls.find(label, t.client.random, t.suite.hashLen)
	if !ok {
		return t.miss(s)
	}
	s.missing = false
	if err := t.use(s, key); err != nil {
		t.stop(d, tlsMalformed)
		return false
	}
	return true
}

func (t *tlsConn) has(label secretLabel) bool {
	_, ok := t.c.rec.tls.find(label, t.client.random, t.suite.hashLen)
	return ok
}

// miss notes that a secret is missing: it is waited for, if there is hope.
func (t *tlsConn) miss(s *tlsDir) bool {
	s.missing = true
	if t.c.rec.tls.hopeless() {
		t.stopBoth(tlsNoKeyLog)
	}
	return false
}

// changeCipher puts the cipher of TLS 1.2 to use; false: its secret is
// missing.
func (t *tlsConn) changeCipher(s *tlsDir, d Dir) bool {
	if t.master.len() == 0 && !t.findMaster() {
		return t.miss(s)
	}
	s.missing = false
	t.c.rec.tls.sessions.remember(t.session, t.master)
	t.c.rec.tls.sessions.remember(t.ticket, t.master)
	s.enter(tlsData)
	s.cipher, t.pending[d] = t.pending[d], nil
	if t.pending == [2]*tlsCipher{} {
		t.doneAt = t.item.at
	}
	return true
}

// findMaster looks for the master secret, of the connection or of the session
// that it resumes: then the server repeats the client's session id (RFC 5246,
// section 7.4.1.3; RFC 5077, section 3.4).
func (t *tlsConn) findMaster() bool {
	shared := &t.c.rec.tls
	master, ok := shared.find(masterSecret, t.client.random, 48)
	if !ok && bytes.Equal(t.session, t.client.session) {
		if master, ok = shared.sessions.find(t.client.ticket); !ok {
			master, ok = shared.sessions.find(t.session)
		}
	}
	if !ok {
		return false
	}
	pending, err := t.suite.masterCiphers(master, t.client.random, t.serverRandom)
	if err != nil {
		return false
	}
	t.master, t.pending = master, pending
	return true
}
