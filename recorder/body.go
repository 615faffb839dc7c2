package recorder

// body is one message body on its way from wire bytes to decoded bytes.
type body struct {
	// wire counts the bytes as coded, chunk framing excluded; lost ones that
	// are known to belong to it are included. lost counts those alone.
	wire, lost int64
	// decoded counts what came out; cut what was left out of data because of
	// a cap.
	decoded, cut int64
	data         []byte
	dec          *decoder
	coding       string
	// blocked: a hole in a coded body; nothing behind it can be decoded.
	blocked bool
	// torn: some may be missing, nobody knows how many.
	torn bool
	// capped: the decoded size reached the cap, so decoding has stopped.
	capped bool
}

// open prepares the body for the codings that the head names: those of the
// content were applied first.
func (b *body) open(f *framing) {
	if len(f.coding) == 0 && len(f.codings) == 0 {
		return
	}
	b.dec, b.coding = newDecoder(append(f.coding, f.codings...))
}

// take counts wire bytes and hands their decoded form to emit.
func (b *body) take(p []byte, emit func([]byte) bool) {
	b.wire += int64(len(p))
	switch {
	case b.dec == nil:
		emit(p)
	case b.blocked || b.capped || b.dec.failed:
		b.cut += int64(len(p))
	default:
		b.dec.feed(p, emit)
		b.cut += b.dec.unused()
	}
}

// admit limits the decoded bytes of a coded body to limit, so that a bomb
// costs no more than that, and counts. It returns the part of p to use.
func (b *body) admit(p []byte, limit int64) []byte {
	if b.dec != nil && b.decoded+int64(len(p)) > limit {
		p = p[:limit-b.decoded]
		b.capped = true
	}
	b.decoded += int64(len(p))
	return p
}

// hole accounts for n lost bytes.
func (b *body) hole(n int64) {
	b.lost += n
	if b.dec != nil {
		b.blocked = true
	}
}

// tear says that some bytes may be missing.
func (b *body) tear() {
	b.torn = true
	b.hole(0)
}

// whole reports whether every byte was seen.
func (b *body) whole() bool { return b.lost == 0 && !b.torn }

// undecoded reports whether a part of the body stayed coded.
func (b *body) undecoded() bool {
	return b.dec != nil && (b.dec.failed || b.blocked || b.capped)
}
