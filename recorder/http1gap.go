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
		p.dropLine()
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
	p.dropLine()
	p.state, p.loose = inResync, true
}

func (p *parser) dropLine() {
	p.line, p.over = p.line[:0], false
}

// takeLost collects one line after a hole, no more of it than can become
// something known.
func (p *parser) takeLost(b []byte, t int64) []byte {
	if len(p.line) == 0 && !p.over {
		p.t0 = t
	}
	n := bytes.IndexByte(b, '\n')
	end := n + 1
	if n < 0 {
		end = len(b)
	}
	piece := b[:end]
	if p.over {
		p.out.skipped(piece, false, t)
	} else {
		p.line = append(p.line, piece...)
		if n < 0 && (len(p.line) > maxHead || !p.mayResync(p.line)) {
			p.out.skipped(p.line, false, t)
			p.line, p.over = p.line[:0], true
		}
	}
	if n >= 0 {
		line := p.line
		p.dropLine()
		p.resync(line, t)
	}
	return b[end:]
}

func (p *parser) mayResync(part []byte) bool {
	return mayStart(p.answer, part) ||
		p.state == inChunkLost && mayBeSize(bytes.TrimSuffix(part, []byte("\r")))
}

// resync looks at one line that came after a hole: a start line begins the
// next message, a chunk's first line goes on with the body.
func (p *parser) resync(whole []byte, t int64) {
	if len(whole) == 0 { // the end of a line that was skipped
		return
	}
	line := bytes.TrimSuffix(whole[:len(whole)-1], []byte("\r"))
	var h head
	if p.answer && parseStatusLine(line, &h) || !p.answer && parseRequestLine(line, &h) {
		p.begin(h)
		return
	}
	if p.state == inChunkLost && len(line) > 0 && mayBeSize(line) {
		p.nextChunk()
		p.takeChunkSize(append(bytes.Clone(line), '\n'), t)
		return
	}
	p.out.skipped(whole, false, t)
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
