package recorder

import (
	"crypto/sha256"
	"crypto/tls"

	"golang.org/x/crypto/cryptobyte"
)

// Types of handshake messages (RFC 8446, section 4; RFC 5246, section 7.4).
const (
	helloClient         = 1
	helloServer         = 2
	newSessionTicket    = 4
	endOfEarlyData      = 5
	encryptedExtensions = 8
	finished            = 20
	keyUpdate           = 24
)

// Extensions that are looked at.
const (
	extensionTicket    = 35
	extensionEarlyData = 42
	extensionVersions  = 43
)

// retryRandom is the random by which a ServerHello is a HelloRetryRequest:
// SHA-256 of "HelloRetryRequest" (RFC 8446, section 4.1.3).
func retryRandom() [32]byte { return sha256.Sum256([]byte("HelloRetryRequest")) }

// clientHello is what is of use in a ClientHello; its slices are the message's.
type clientHello struct {
	random  clientRandom
	session []byte
	ticket  []byte
	early   bool
}

func parseClientHello(body []byte) (h clientHello, ok bool) {
	in := cryptobyte.String(body)
	var version uint16
	var session, suites, compressions cryptobyte.String
	if !in.ReadUint16(&version) || !in.CopyBytes(h.random[:]) || !in.ReadUint8LengthPrefixed(&session) ||
		!in.ReadUint16LengthPrefixed(&suites) || !in.ReadUint8LengthPrefixed(&compressions) {
		return h, false
	}
	h.session = session
	ok = readExtensions(in, func(kind uint16, data []byte) {
		switch kind {
		case extensionTicket:
			h.ticket = data
		case extensionEarlyData:
			h.early = true
		}
	})
	return h, ok
}

// serverHello is what is of use in a ServerHello.
type serverHello struct {
	version    uint16
	random     [32]byte
	session    []byte
	suite      uint16
	compressed bool
	// retry: it is a HelloRetryRequest.
	retry bool
}

func parseServerHello(body []byte) (h serverHello, ok bool) {
	in := cryptobyte.String(body)
	var compression uint8
	var session cryptobyte.String
	if !in.ReadUint16(&h.version) || !in.CopyBytes(h.random[:]) || !in.ReadUint8LengthPrefixed(&session) ||
		!in.ReadUint16(&h.suite) || !in.ReadUint8(&compression) {
		return h, false
	}
	h.session, h.compressed = session, compression != 0
	ok = readExtensions(in, func(kind uint16, data []byte) {
		if kind == extensionVersions && len(data) == 2 {
			h.version = uint16(data[0])<<8 | uint16(data[1])
		}
	})
	h.retry = h.version == tls.VersionTLS13 && h.random == retryRandom()
	return h, ok
}

// earlyDataAccepted looks into EncryptedExtensions.
func earlyDataAccepted(body []byte) (accepted, ok bool) {
	ok = readExtensions(body, func(kind uint16, _ []byte) {
		accepted = accepted || kind == extensionEarlyData
	})
	return accepted, ok
}

// parseTicket returns the ticket of a NewSessionTicket of TLS 1.2 (RFC 5077,
// section 3.3).
func parseTicket(body []byte) ([]byte, bool) {
	in := cryptobyte.String(body)
	var lifetime uint32
	var ticket cryptobyte.String
	ok := in.ReadUint32(&lifetime) && in.ReadUint16LengthPrefixed(&ticket)
	return ticket, ok
}

// readExtensions visits a list of extensions; none at all is right too.
func readExtensions(in cryptobyte.String, visit func(kind uint16, data []byte)) bool {
	if in.Empty() {
		return true
	}
	var list cryptobyte.String
	if !in.ReadUint16LengthPrefixed(&list) {
		return false
	}
	for !list.Empty() {
		var kind uint16
		var data cryptobyte.String
		if !list.ReadUint16(&kind) || !list.ReadUint16LengthPrefixed(&data) {
			return false
		}
		visit(kind, data)
	}
	return true
}

// maxMessage bounds the messages that are kept to be read. Others, such as
// certificates, are passed over by their length.
const maxMessage = 64 << 10

// tlsMessages cuts the content of handshake records into messages: one may be
// in several records, several in one.
type tlsMessages struct {
	head []byte // type and length, 4 bytes when complete
	left int
	body []byte
}

// next takes bytes off the front of b. whole: a message is complete; the body
// of one that is not kept is nil.
func (m *tlsMessages) next(b []byte) (kind byte, body, rest []byte, whole bool) {
	if n := min(4-len(m.head), len(b)); n > 0 {
		m.head = append(m.head, b[:n]...)
		b = b[n:]
		if len(m.head) < 4 {
			return 0, nil, nil, false
		}
		m.left = int(m.head[1])<<16 | int(m.head[2])<<8 | int(m.head[3])
	}
	n := min(m.left, len(b))
	if m.kept() {
		m.body = append(m.body, b[:n]...)
	}
	m.left -= n
	if m.left > 0 {
		return 0, nil, nil, false
	}
	kind, body = m.head[0], m.body
	m.head, m.body = m.head[:0], nil
	return kind, body, b[n:], true
}

// kept reports whether the message under way is one that is read.
func (m *tlsMessages) kept() bool {
	switch m.head[0] {
	case helloClient, helloServer, newSessionTicket, encryptedExtensions:
		return len(m.body)+m.left <= maxMessage
	}
	return false
}

// tlsSessions remembers the master secrets of TLS 1.2 by session id and
// ticket: libraries do not write a secret again when its session is resumed.
type tlsSessions struct {
	masters map[[32]byte]secret
	order   [][32]byte
}

// maxResumable bounds the remembered sessions; the oldest is forgotten first.
const maxResumable = 1 << 14

func (s *tlsSessions) remember(id []byte, master secret) {
	if len(id) == 0 {
		return
	}
	key := sha256.Sum256(id)
	if s.masters == nil {
		s.masters = make(map[[32]byte]secret)
	}
	if _, known := s.masters[key]; !known {
		if len(s.order) == maxResumable {
			delete(s.masters, s.order[0])
			s.order = s.order[1:]
		}
		s.order = append(s.order, key)
	}
	s.masters[key] = master
}

func (s *tlsSessions) find(id []byte) (secret, bool) {
	master, ok := s.masters[sha256.Sum256(id)]
	return master, ok && len(id) > 0
}
