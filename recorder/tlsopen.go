package recorder

// open decrypts one record and hands its content on.
func (t *tlsConn) open(s *tlsDir, it *tlsItem) {
	shared := &t.c.rec.tls
	content, kind, err := s.cipher.open(shared.scratch(), it.record)
	if err != nil && s.near > 0 {
		content, kind, err = t.openNear(s, it)
	}
	switch {
	case err != nil && s.trial:
		t.passEarly(s, it)
		return
	case err != nil:
		t.refuse(s, it)
		return
	}
	s.trial, t.read = false, true
	switch kind {
	case recordData:
		t.deliver(s, it, content)
	case recordHandshake:
		s.pass(it.record)
		t.handshake(s, content)
	default:
		s.pass(it.record)
	}
}

// refuse ends a direction at a record that cannot be opened.
func (t *tlsConn) refuse(s *tlsDir, it *tlsItem) {
	t.blind(int64(len(it.record)))
	if s.near > 0 {
		t.stop(it.dir, tlsHole)
		return
	}
	t.stop(it.dir, tlsBadRecord)
}

// passEarly passes over a record of early data that cannot be opened. Where
// the server took it, a part of the protocol is missing.
func (t *tlsConn) passEarly(s *tlsDir, it *tlsItem) {
	t.blind(int64(len(it.record)))
	if t.early == earlyAccepted {
		t.lost(s, int64(len(it.record)-s.cipher.overhead()), lostGap)
	}
}

// maxNear is how many records a hole may have held for the one behind it to be
// found.
const maxNear = 64

// openNear opens the first record behind a hole. How many records the hole
// held shows by the number with which this one can be opened.
func (t *tlsConn) openNear(s *tlsDir, it *tlsItem) (content []byte, kind byte, err error) {
	first, each := s.cipher.seq, int64(s.cipher.overhead())
	for n := int64(1); n <= min(s.near/each, maxNear); n++ {
		s.cipher.seq = first + uint64(n)
		content, kind, err = s.cipher.open(t.c.rec.tls.scratch(), it.record)
		if err == nil {
			lost := s.near - n*each
			s.near = 0
			t.lost(s, lost, s.nearWhy)
			return content, kind, nil
		}
	}
	s.cipher.seq = first
	return nil, 0, errRecord
}

// deliver hands content to the protocol, as if it had come by itself.
func (t *tlsConn) deliver(s *tlsDir, it *tlsItem, content []byte) {
	s.useful, s.unread = true, 0
	c := t.c
	now := c.delivery
	c.delivery = it.delivery
	if len(content) > 0 {
		c.plain(it.dir, content, it.at)
	}
	c.delivery = now
}
