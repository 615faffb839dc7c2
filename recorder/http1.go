package recorder

import "bytes"

// messages receives what a parser finds in one direction of a connection.
type messages interface {
	// start: a start line is complete; its first byte came at t0.
	start(h *head, t0 int64)
	// header: the head is complete, or as complete as it will get (cut). The
	// answer says what follows.
	header(h *head, cut bool, t int64) bodyMode
	// body hands over bytes of the body, its transfer coding taken off.
	body(b []byte, t int64)
	// hole: n bytes of the body are lost. sure: its framing still holds.
	hole(n int64, sure bool, t int64)
	// end: the message is complete.
	end(h *head, t int64)
	// broken: from here on the stream is not HTTP/1; first are its next bytes.
	broken(reason string, first []byte, t int64)
	// skipped: bytes that belong to no message that could be followed, the
	// first and last of which came at t0 and t1.
	skipped(b []byte, t0, t1 int64)
	// opaque: bytes of another protocol, which came at t.
	opaque(b []byte, t int64)
}

// bodyMode is what follows a head.
type bodyMode uint8

const (
	// bodyFramed: what the header says.
	bodyFramed bodyMode = iota
	// bodyNone: nothing, whatever the header says.
	bodyNone
	// bodyInterim: nothing, and the final answer is still to come.
	bodyInterim
	// bodyOpaque: bytes of another protocol, up to the end.
	bodyOpaque
)

type parseState uint8

const (
	inStart     parseState = iota // before or in a start line
	inHeader                      // in a header line
	inLength                      // in a body of known length
	inRest                        // in a body that ends with the connection
	inChunkSize                   // in a chunk's first line, before its size ends
	inChunkExt                    // behind the size
	inChunk                       // in a chunk's data
	inChunkEnd                    // in the line end behind it
	inTrailer                     // in a trailer line
	inRefused                     // where a refused body or the next request may be
	inOpaque                      // nothing is read any more
	inResync                      // looking for a start line
	inChunkLost                   // likewise, or for a chunk's first line
)

// parser cuts one direction of an HTTP/1 connection into messages (RFC 9112).
// It takes bytes in pieces of any size: every split gives the same messages.
// The zero value but for answer and out is ready.
type parser struct {
	answer bool
	out    messages

	state parseState
	h     head
	list  fieldList
	line  []byte // the line under way, where a piece ended inside it
	marks []lostMark
	t0    int64  // time of the line's first byte
	over  bool   // the line is longer than maxHead: its rest is dropped
	left  int64  // of the body or the chunk
	size  uint64 // of the chunk whose size is being read
	any   bool   // a digit of it was seen
	loose bool   // bytes were lost before: what does not fit is looked for again
}

// feed takes the next bytes, which came at t.
func (p *parser) feed(b []byte, t int64) {
	for len(b) > 0 {
		b = p.step(b, t)
	}
}

// step takes some bytes off the front of b, at least one.
func (p *parser) step(b []byte, t int64) []byte {
	switch p.state {
	case inLength, inChunk:
		return p.takeBody(b, t)
	case inRest:
		p.out.body(b, t)
		return nil
	case inChunkSize, inChunkExt:
		return p.takeChunkSize(b, t)
	case inChunkEnd:
		return p.takeChunkEnd(b, t)
	case inOpaque:
		p.out.opaque(b, t)
		return nil
	case inRefused:
		return p.takeRefused(b, t)
	case inResync, inChunkLost:
		return p.takeLost(b, t)
	default:
		return p.takeLine(b, t)
	}
}

func (p *parser) takeBody(b []byte, t int64) []byte {
	n := int(min(int64(len(b)), p.left))
	p.left -= int64(n)
	p.out.body(b[:n], t)
	if p.left == 0 {
		p.bodyDone(t)
	}
	return b[n:]
}

// bodyDone ends a body of known length, or a chunk.
func (p *parser) bodyDone(t int64) {
	if p.state == inChunk {
		p.state, p.any = inChunkEnd, false
		return
	}
	p.finish(t)
}

func (p *parser) finish(t int64) {
	p.state = inStart
	p.out.end(&p.h, t)
}

// takeLine collects one line and reads it.
func (p *parser) takeLine(b []byte, t int64) []byte {
	if len(p.line) == 0 && !p.over {
		p.t0 = t
	}
	end := bytes.IndexByte(b, '\n') + 1
	whole := end > 0
	if !whole {
		end = len(b)
	}
	if p.state == inStart && len(p.line)+end > maxHead {
		p.breakOff(faultStart, p.line, t)
		return b
	}
	line := b[:end]
	if !whole || len(p.line) > 0 || p.over || end > maxHead {
		p.hold(line)
		line = p.line
	}
	if !whole {
		p.checkPart(t)
		return nil
	}
	p.line, p.over = p.line[:0], false
	p.readLine(line, t)
	return b[end:]
}

func (p *parser) hold(b []byte) {
	room := min(len(b), maxHead-len(p.line))
	p.line = append(p.line, b[:room]...)
	if room < len(b) {
		p.over = true
		p.h.cut += int64(len(b) - room)
	}
}

// checkPart gives up on a start line that cannot become one, so that a binary
// protocol without line ends is not held.
func (p *parser) checkPart(t int64) {
	if p.state == inStart && !mayStart(p.answer, bytes.TrimLeft(p.line, "\r")) {
		p.breakOff(faultStart, p.line, t)
	}
}

// readLine reads a line with its end.
func (p *parser) readLine(whole []byte, t int64) {
	line := trimEOL(whole)
	switch p.state {
	case inStart:
		p.readStart(line, whole, t)
	case inHeader:
		if len(line) > 0 {
			p.list.add(line)
			return
		}
		p.endHead(false, t)
	case inTrailer:
		if len(line) > 0 {
			p.list.add(line)
			return
		}
		p.h.trailer = p.list.fields()
		p.finish(t)
	}
}

func trimEOL(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

func (p *parser) readStart(line, whole []byte, t int64) {
	if len(line) == 0 { // RFC 9112, section 2.2
		return
	}
	h := head{}
	ok := p.answer && parseStatusLine(line, &h) || !p.answer && parseRequestLine(line, &h)
	if !ok {
		p.breakOff(faultStart, whole, t)
		return
	}
	p.begin(h)
	if h.minor < 0 {
		p.out.header(&p.h, false, t)
		p.out.end(&p.h, t)
		p.breakOff(faultVersion, nil, t)
	}
}

func (p *parser) begin(h head) {
	p.h = h
	p.list.reset()
	p.state = inHeader
	p.out.start(&p.h, p.t0)
}

// endHead ends the head and goes to what follows it.
func (p *parser) endHead(cut bool, t int64) {
	p.h.fields = p.list.fields()
	p.h.cut += p.list.cut
	p.h.broken = p.list.bad
	p.h.frame = readFraming(p.h.fields)
	p.list.reset()
	mode := p.out.header(&p.h, cut, t)
	p.h.fields, p.h.target = nil, "" // they are the exchange's now
	switch {
	case cut:
		p.lose()
	case mode == bodyOpaque:
		p.state = inOpaque
		p.out.end(&p.h, t)
	case mode == bodyInterim:
		p.state = inStart
	case mode == bodyNone:
		p.finish(t)
	default:
		p.enterBody(t)
	}
}

func (p *parser) enterBody(t int64) {
	f := &p.h.frame
	switch {
	case f.fault != "":
		p.breakOff(f.fault, nil, t)
	case f.chunked:
		p.nextChunk()
	case f.te && !p.answer:
		p.breakOff(faultTransfer, nil, t)
	case f.length > 0:
		p.state, p.left = inLength, f.length
	case f.length == 0 || !p.answer:
		p.finish(t)
	default:
		p.state = inRest
	}
}

func (p *parser) breakOff(reason string, first []byte, t int64) {
	p.state = inOpaque
	p.out.broken(reason, first, t)
	if len(first) > 0 {
		p.out.opaque(first, t)
	}
	p.line = nil
}

// streamEnd says that no byte follows.
func (p *parser) streamEnd(t int64) {
	if p.state == inRest {
		p.finish(t)
	}
}

// turnOpaque: the bytes that follow are of another protocol.
func (p *parser) turnOpaque() {
	p.state = inOpaque
}
