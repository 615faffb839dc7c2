package recorder

import "bytes"

// gap says that n bytes are lost from here on. Inside a body whose length is
// known the message goes on; elsewhere the next start line, or the next chunk,
// is looked for.
func (p *parser) gap(n, t int64) {
	p.loose = true
	switch p.state {
	case inLength, inChunk:
		p.gapInBody(n, t)
	case inRest:
		p.out.hole(n, true, t)
	case inChunkEnd:
		p.gapInChunkEnd(n, t)
	case inChunkSize, inChunkExt, inChunkLost, inTrailer:
		p.out.hole(n, false, t)
		p.drain()
		p.state = inChunkLost
	case inHeader:
		p.out.hole(n, false, t)
		p.endHead(true, t)
	case inOpaque:
	default:
		p.out.hole(n, false, t)
		p.lose()
	}
}

func (p *parser) gapInBody(n, t int64) {
	in := min(n, p.left)
	p.left -= in
	rest := n - in
	chunked := p.state == inChunk
	p.out.hole(in, rest == 0 || chunked && rest <= 2, t)
	switch {
	case p.left > 0:
		return
	case !chunked:
		p.finish(t)
	case rest == 2: // the hole ends with the chunk's line end
		p.nextChunk()
		return
	case rest < 2:
		p.bodyDone(t)
		p.any = rest == 1
		return
	default:
		p.state = inChunkLost
	}
	if rest > 0 {
		p.out.hole(rest, false, t)
		if !chunked {
			p.lose()
		}
	}
}

// gapInChunkEnd: servers that write a chunk's line end by itself lose it by
// itself.
func (p *parser) gapInChunkEnd(n, t int64) {
	if n == 2 && !p.any || n == 1 && p.any {
		p.out.hole(n, true, t)
		p.nextChunk()
		return
	}
	p.out.hole(n, false, t)
	p.state = inChunkLost
}

// lose starts the search for the next start line.
func (p *parser) lose() {
	p.drain()
	p.state, p.loose = inResync, true
}

func (p *parser) dropLine() {
	p.line, p.marks, p.over = p.line[:0], p.marks[:0], false
}

// maxLost bounds what is held of one line after a hole, and keepLost what of
// it stays when it is longer: a start line has its place at the line's end.
const (
	maxLost  = 64 << 10
	keepLost = 16 << 10
)

// lostMark is when a piece of the line under way came.
type lostMark struct {
	from int
	t    int64
}

// takeLost collects one line after a hole. Its last part may be a start line,
// since a body need not end with a line end.
func (p *parser) takeLost(b []byte, t int64) []byte {
	end := bytes.IndexByte(b, '\n') + 1
	whole := end > 0
	if !whole {
		end = len(b)
	}
	p.marks = append(p.marks, lostMark{len(p.line), t})
	p.line = append(p.line, b[:end]...)
	switch {
	case whole:
		p.resync(t)
	case len(p.line) > maxLost:
		p.skip(len(p.line) - keepLost)
	}
	return b[end:]
}

// skip gives up the first n held bytes.
func (p *parser) skip(n int) {
	p.out.skipped(p.line[:n], p.timeOf(0), p.timeOf(n-1))
	last := p.timeOf(n)
	p.line = append(p.line[:0], p.line[n:]...)
	p.marks = append(p.marks[:0], lostMark{0, last})
}

// timeOf is when a held byte came.
func (p *parser) timeOf(at int) int64 {
	var t int64
	for _, m := range p.marks {
		if m.from > at {
			break
		}
		t = m.t
	}
	return t
}

// drain gives up what is held.
func (p *parser) drain() {
	if n := len(p.line); n > 0 && (p.state == inResync || p.state == inChunkLost) {
		p.skip(n)
	}
	p.line, p.marks, p.over = p.line[:0], p.marks[:0], false
}

// resync looks at one line that came after a hole: a start line begins the
// next message, a chunk's first line goes on with the body.
func (p *parser) resync(t int64) {
	line := trimEOL(p.line)
	var h head
	if at := p.findStart(line, &h); at >= 0 {
		p.t0 = p.timeOf(at)
		if at > 0 {
			p.out.skipped(p.line[:at], p.timeOf(0), p.timeOf(at-1))
		}
		p.dropLine()
		p.begin(h)
		return
	}
	if p.state == inChunkLost && len(line) > 0 && mayBeSize(line) {
		size := append(bytes.Clone(line), '\n')
		p.dropLine()
		p.nextChunk()
		p.takeChunkSize(size, t)
		return
	}
	p.skip(len(p.line))
	p.marks = p.marks[:0]
}

// findStart returns the place of a start line that ends the line, -1 if there
// is none.
func (p *parser) findStart(line []byte, h *head) int {
	if p.answer {
		if at := bytes.LastIndex(line, []byte("HTTP/1.")); at >= 0 && parseStatusLine(line[at:], h) {
			return at
		}
		return -1
	}
	if !bytes.HasSuffix(line, []byte(" HTTP/1.1")) && !bytes.HasSuffix(line, []byte(" HTTP/1.0")) {
		return -1
	}
	best := -1
	for _, method := range usualMethods {
		best = max(best, bytes.LastIndex(line, []byte(method+"/")))
	}
	if best = max(best, 0); parseRequestLine(line[best:], h) && h.minor >= 0 {
		return best
	}
	return -1
}

// mayBeSize reports whether a line is the size of a chunk: no line of an event
// stream or of a JSON text looks like it by itself, but for a bare number.
func mayBeSize(line []byte) bool {
	if len(line) > 8 {
		return false
	}
	for _, c := range line {
		if _, ok := hexDigit(c); !ok {
			return false
		}
	}
	return true
}
