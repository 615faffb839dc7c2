package recorder

import "golang.org/x/net/http2"

// maxChained is the largest frame of a chain that is looked for: the size that
// nobody may exceed without being asked to (RFC 9113, section 4.2).
const maxChained = 16384

// finder looks for a frame in the middle of a stream: a place from which frames
// follow each other, with the sizes, flags and streams that their types have.
// Text is never one, since the first byte of a frame is 0 there.
//
// One frame of a fixed size (40 bits that fit), or two of any, are enough: what
// is taken for one by chance among 10^10 bytes is not.
type finder struct {
	held  []byte
	marks []lostMark
	found bool
}

// add takes the next bytes and returns how many were given up.
func (s *finder) add(b []byte, t int64) (skipped int) {
	if n := len(s.marks); n == 0 || s.marks[n-1].t != t {
		s.marks = append(s.marks, lostMark{len(s.held), t})
	}
	s.held = append(s.held, b...)
	at := 0
	for ; at < len(s.held); at++ {
		switch judgeChain(s.held[at:]) {
		case chainYes:
			s.found = true
		case chainOpen:
		default:
			continue
		}
		break
	}
	s.shift(at)
	return at
}

// shift gives up the first n bytes.
func (s *finder) shift(n int) {
	if n == 0 {
		return
	}
	s.held = append(s.held[:0], s.held[n:]...)
	kept := s.marks[:0]
	for _, m := range s.marks {
		m.from = max(m.from-n, 0)
		if m.from == 0 {
			kept = kept[:0]
		}
		kept = append(kept, m)
	}
	s.marks = kept
	if len(s.held) == 0 {
		s.held, s.marks = nil, nil
	}
}

// take hands over what was held, from the first frame on.
func (s *finder) take() ([]byte, []lostMark) {
	held, marks := s.held, s.marks
	*s = finder{}
	return held, marks
}

// drop gives up what is held: bytes behind it are lost.
func (s *finder) drop() int {
	n := len(s.held)
	*s = finder{}
	return n
}

type chainVerdict uint8

const (
	chainNo   chainVerdict = iota
	chainOpen              // not yet known
	chainYes
)

// judgeChain says whether frames begin at the front of b.
func judgeChain(b []byte) chainVerdict {
	for weight := 0; ; {
		if len(b) < frameHeadLen {
			return mayBeFrame(b)
		}
		h := parseFrameHead(b)
		w := plausible(&h)
		if w == 0 || b[5]&0x80 != 0 {
			return chainNo
		}
		if weight += w; weight >= 2 {
			return chainYes
		}
		next := frameHeadLen + int(h.Length)
		if next > len(b) {
			return chainOpen
		}
		b = b[next:]
	}
}

// mayBeFrame judges the beginning of a frame's head, so that text is not held.
func mayBeFrame(b []byte) chainVerdict {
	if len(b) > 0 && b[0] != 0 || len(b) > 1 && b[1] > maxChained>>8 || len(b) > 3 && b[3] > byte(http2.FrameContinuation) {
		return chainNo
	}
	return chainOpen
}

// plausible weighs the head of a frame: 0 = it is none, 2 = nothing else looks
// like it.
func plausible(h *http2.FrameHeader) int {
	exact := func(size uint32, flags http2.Flags, ok bool) int {
		if ok && h.Length == size && h.Flags&^flags == 0 {
			return 2
		}
		return 0
	}
	onStream := h.StreamID%2 == 1
	switch h.Type {
	case http2.FrameData:
		return loose(onStream && h.Length <= maxChained && h.Flags&^0x9 == 0)
	case http2.FrameHeaders:
		return loose(onStream && h.Length > 0 && h.Length <= maxChained && h.Flags&^0x2d == 0)
	case http2.FramePriority:
		return exact(5, 0, h.StreamID > 0)
	case http2.FrameRSTStream:
		return exact(4, 0, onStream)
	case http2.FrameSettings:
		return exact(h.Length/6*6, http2.FlagSettingsAck, h.StreamID == 0 && h.Length <= 240)
	case http2.FramePing:
		return exact(8, http2.FlagPingAck, h.StreamID == 0)
	case http2.FrameGoAway:
		return loose(h.StreamID == 0 && h.Length >= 8 && h.Length <= maxChained && h.Flags == 0)
	case http2.FrameWindowUpdate:
		return exact(4, 0, true)
	}
	return 0
}

func loose(ok bool) int {
	if ok {
		return 1
	}
	return 0
}
