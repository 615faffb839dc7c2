package recorder

import "bytes"

func (p *parser) nextChunk() {
	p.state, p.size, p.any = inChunkSize, 0, false
}

// takeChunkSize reads a chunk's first line: the size in hexadecimal, and
// extensions that are skipped. A size that no body can have is never believed.
func (p *parser) takeChunkSize(b []byte, t int64) []byte {
	for i, c := range b {
		if c == '\n' {
			if !p.any {
				return p.badChunk(b[i:], t)
			}
			p.enterChunk()
			return b[i+1:]
		}
		if p.state == inChunkExt {
			continue
		}
		if d, ok := hexDigit(c); ok {
			if p.size >= 1<<48 {
				return p.badChunk(b[i:], t)
			}
			p.size, p.any = p.size<<4|uint64(d), true
			continue
		}
		if !p.any || c != ';' && c != '\r' && c != ' ' && c != '\t' {
			return p.badChunk(b[i:], t)
		}
		p.state = inChunkExt
	}
	return nil
}

func (p *parser) enterChunk() {
	if p.size == 0 {
		p.list.reset()
		p.state = inTrailer
		return
	}
	p.state, p.left = inChunk, int64(p.size)
}

// takeChunkEnd takes the CRLF, or LF, behind a chunk's data.
func (p *parser) takeChunkEnd(b []byte, t int64) []byte {
	switch {
	case b[0] == '\n':
		p.nextChunk()
		return b[1:]
	case b[0] == '\r' && !p.any:
		p.any = true
		return b[1:]
	}
	return p.badChunk(b, t)
}

// badChunk stops reading a body whose chunks do not add up; behind a hole the
// next chunk is looked for instead.
func (p *parser) badChunk(b []byte, t int64) []byte {
	if p.loose {
		p.state = inChunkLost
		return b
	}
	p.breakOff(faultChunk, nil, t)
	return b
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// takeRefused decides whether the announced body follows or the next request:
// a client whose Expect was refused may leave the body out (RFC 9110, section
// 10.1.1). Only a request line that is whole to its version counts as one.
func (p *parser) takeRefused(b []byte, t int64) []byte {
	if len(p.line) == 0 {
		p.t0 = t
	}
	end := bytes.IndexByte(b, '\n') + 1
	whole := end > 0
	if !whole {
		end = len(b)
	}
	end = min(end, maxHead-len(p.line))
	p.line = append(p.line, b[:end]...)
	var h head
	switch {
	case !mayBeUsual(p.line) || len(p.line) == maxHead:
		p.replay(t)
	case !whole:
	case !parseRequestLine(trimEOL(p.line), &h) || h.minor < 0:
		p.replay(t)
	default:
		p.line = p.line[:0]
		p.out.end(&p.h, p.t0)
		p.begin(h)
	}
	return b[end:]
}

// replay gives the held bytes to the body after all.
func (p *parser) replay(t int64) {
	held := p.line
	p.line, p.state = nil, inLength
	p.feed(held, t)
}

// refused tells a request's parser that the final answer came before a byte
// of the body did, though the client had said it would wait.
func (p *parser) refused() bool {
	if p.state != inLength || !p.h.frame.expect || p.left != p.h.frame.length {
		return false
	}
	p.state = inRefused
	return true
}
