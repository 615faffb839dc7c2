package sse

import "bytes"

// lineReader cuts pushed bytes into lines. Only LF, CR and CRLF end a line:
// U+0085, U+2028, VT and FF are text. A line ends at the first byte of its
// end, so a CR completes it at once and the LF after it is skipped whenever it
// comes.
type lineReader struct {
	max int  // bytes kept of one line
	cr  bool // CR ends a line

	part   []byte // the line under way, where a piece ended inside it
	over   int64  // bytes left out of it
	skipLF bool
	pos    int64 // offset of the next byte to be fed
	end    int64 // offset just past the first byte of the last line's end
}

// next takes one line off the front of p, without its end. ok is false when p
// holds no more line end; the rest is then kept for later. The line is valid
// until the next call.
func (r *lineReader) next(p *[]byte) (line []byte, over int64, ok bool) {
	if r.skipLF && len(*p) > 0 {
		r.skipLF = false
		if (*p)[0] == '\n' {
			*p = (*p)[1:]
			r.pos++
		}
	}
	n := r.find(*p)
	if n < 0 {
		r.hold(*p)
		r.pos += int64(len(*p))
		*p = nil
		return nil, 0, false
	}
	line = (*p)[:n]
	r.skipLF = (*p)[n] == '\r'
	r.pos += int64(n) + 1
	r.end = r.pos
	*p = (*p)[n+1:]
	if len(r.part) > 0 || r.over > 0 {
		r.hold(line)
		line = r.part
	} else if len(line) > r.max {
		over = int64(len(line) - r.max)
		line = line[:r.max]
	}
	over += r.over
	r.part, r.over = emptied(r.part), 0
	return line, over, true
}

// rest returns the line that the stream's end completes.
func (r *lineReader) rest() (line []byte, over int64, ok bool) {
	line, over = r.part, r.over
	r.part, r.over, r.skipLF = r.part[:0], 0, false
	r.end = r.pos
	return line, over, len(line) > 0 || over > 0
}

// forget leaves out what is held of a line, but for the name of its field.
func (r *lineReader) forget() {
	kept := min(len(r.part), prefixLen)
	r.over += int64(len(r.part) - kept)
	r.part = bytes.Clone(r.part[:kept])
}

// maxSpare is what of a buffer is kept for the next event.
const maxSpare = 64 << 10

// emptied returns a buffer for the next event, in the place of one.
func emptied(b []byte) []byte {
	if cap(b) > maxSpare {
		return nil
	}
	return b[:0]
}

func (r *lineReader) hold(p []byte) {
	room := min(len(p), r.max-len(r.part))
	r.over += int64(len(p) - room)
	r.part = append(r.part, p[:room]...)
}

// find returns the place of the first line end, -1 for none. It searches in
// windows that double, so that its cost is that of the line found, also where
// CR ends every line and no LF is in sight.
func (r *lineReader) find(p []byte) int {
	if !r.cr {
		return bytes.IndexByte(p, '\n')
	}
	for from, window := 0, 512; from < len(p); window *= 2 {
		seg := p[from:min(len(p), from+window)]
		lf := bytes.IndexByte(seg, '\n')
		if lf >= 0 {
			seg = seg[:lf]
		}
		if cr := bytes.IndexByte(seg, '\r'); cr >= 0 {
			return from + cr
		}
		if lf >= 0 {
			return from + lf
		}
		from += len(seg)
	}
	return -1
}
