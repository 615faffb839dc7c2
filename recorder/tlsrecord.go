package recorder

// Types of records (RFC 8446, section 5.1).
const (
	recordChangeCipher = 20
	recordAlert        = 21
	recordHandshake    = 22
	recordData         = 23
	recordHeartbeat    = 24
)

const (
	// tlsHeader is the length of a record's header.
	tlsHeader = 5
	// maxTLSRecord bounds a record's body: 2^14 and what encryption may add
	// (RFC 5246, section 6.2.3; TLS 1.3 allows 256).
	maxTLSRecord = 1<<14 + 2048
)

// startsTLS reports whether a connection's first bytes may be TLS: no text
// begins with such a byte.
func startsTLS(b []byte) bool { return b[0] >= recordChangeCipher && b[0] <= recordHeartbeat }

// recordSize is the length of the record whose header is at the front of b, 0
// where there is none.
func recordSize(b []byte) int {
	n := int(b[3])<<8 | int(b[4])
	if !startsTLS(b) || b[1] != 3 || b[2] > 4 || n > maxTLSRecord {
		return 0
	}
	return tlsHeader + n
}

// tlsItem is what the framing of one direction finds, in order.
type tlsItem struct {
	what itemKind
	dir  Dir
	// record is one whole record with its header.
	record []byte
	// n is the number of wire bytes that are lost, why the reason.
	n   int64
	why string
	// at is the time of the packet that completed it, delivery its number.
	at       int64
	delivery uint64
}

type itemKind uint8

const (
	itemRecord itemKind = iota
	// itemLost: one record of n bytes is lost, the next follows.
	itemLost
	// itemHole: n bytes are lost, which hold an unknown number of records.
	itemHole
	// itemBroken: what follows are no records; why says what is wrong.
	itemBroken
	itemFIN
	// itemEnd: no byte follows, since the connection ended.
	itemEnd
)

// tlsFraming cuts one direction of a TLS connection into records. Every split
// of the bytes gives the same items.
type tlsFraming struct {
	free *tlsBuffers
	// take receives what is found; record is valid during the call only.
	take func(what itemKind, record []byte, n int64, why string)

	buf []byte // the record under way
	// skip is what is still to come of a record of which a part is lost, lost
	// its length, why the reason.
	skip, lost int64
	why        string
	// seeking: the bytes before are lost, so a record may begin here or not.
	seeking bool
	broken  bool
}

// feed takes bytes. It returns the number of those that belong to no whole
// record.
func (f *tlsFraming) feed(b []byte) (unread int64) {
	for len(b) > 0 {
		switch {
		case f.broken:
			return unread + int64(len(b))
		case f.skip > 0:
			n := min(f.skip, int64(len(b)))
			unread += n
			b = b[n:]
			if f.skip -= n; f.skip == 0 {
				f.take(itemLost, nil, f.lost, f.why)
			}
		default:
			b = f.frame(b)
		}
	}
	return unread
}

// frame takes one record, or a part of one, off the front of b.
func (f *tlsFraming) frame(b []byte) []byte {
	if len(f.buf) == 0 && len(b) >= tlsHeader {
		if size := f.size(b); size > 0 && size <= len(b) {
			f.seeking = false
			f.take(itemRecord, b[:size], 0, "")
			return b[size:]
		}
	}
	if f.buf == nil {
		f.buf = f.free.get()
	}
	need := tlsHeader
	if len(f.buf) >= tlsHeader {
		need = f.size(f.buf)
	}
	n := min(need-len(f.buf), len(b))
	f.buf = append(f.buf, b[:n]...)
	if len(f.buf) < tlsHeader {
		return nil
	}
	switch size := f.size(f.buf); {
	case size == 0:
		f.broken = true
		f.take(itemBroken, f.buf, 0, f.problem())
		f.free.put(f.buf)
		f.buf = nil
	case size == len(f.buf):
		whole := f.buf
		f.buf, f.seeking = nil, false
		f.take(itemRecord, whole, 0, "")
		f.free.put(whole)
	}
	return b[n:]
}

// size is recordSize. Behind a hole only what must be an encrypted record of
// TLS 1.2 or 1.3 is believed.
func (f *tlsFraming) size(b []byte) int {
	size := recordSize(b)
	if f.seeking && (b[0] != recordData || b[2] != 3 || size < tlsHeader+17) {
		return 0
	}
	return size
}

func (f *tlsFraming) problem() string {
	if f.seeking {
		return tlsHole
	}
	return tlsMalformed
}

// gap says that n bytes are lost. Inside a record whose header was seen it
// costs that record alone; otherwise the next record is looked for where the
// hole ends. It returns the bytes of that record that were seen in vain.
func (f *tlsFraming) gap(n int64, why string) (unread int64) {
	if f.broken {
		return 0
	}
	held := int64(len(f.buf))
	if held >= tlsHeader {
		f.lost, f.why = int64(f.size(f.buf)), why
		f.skip = f.lost - held
	} else if f.skip == 0 {
		f.lost, f.skip = held, 0
	}
	f.free.put(f.buf)
	f.buf = nil
	if f.skip >= n {
		if f.skip -= n; f.skip == 0 {
			f.take(itemLost, nil, f.lost, why)
		}
		return held
	}
	total := f.lost + n - f.skip
	f.skip, f.lost, f.seeking = 0, 0, true
	f.take(itemHole, nil, total, why)
	return held
}

// finish: no byte follows. A record that was lost in part ends here.
func (f *tlsFraming) finish() {
	if f.skip > 0 {
		f.skip = 0
		f.take(itemLost, nil, f.lost, f.why)
	}
}

// tlsBuffers lends the buffers of records that come in parts, so that only as
// many exist as there are records under way.
type tlsBuffers struct{ list [][]byte }

func (f *tlsBuffers) get() []byte {
	n := len(f.list)
	if n == 0 {
		return make([]byte, 0, 1024)
	}
	b := f.list[n-1]
	f.list = f.list[:n-1]
	return b[:0]
}

func (f *tlsBuffers) put(b []byte) {
	if b != nil && len(f.list) < 64 {
		f.list = append(f.list, b)
	}
}
