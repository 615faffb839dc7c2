package recorder

import (
	"golang.org/x/net/http2"

	"github.com/lambdac/lambdac/trace"
)

// blockUse is what a header block is for.
type blockUse uint8

const (
	useNone blockUse = iota
	useRequest
	useAnswer // its head, an interim one, or its trailer
	useTrailer
	usePush
)

// block is the header block under way in one direction: a HEADERS frame and
// the CONTINUATION frames behind it.
type block struct {
	open   bool
	lost   bool // a part of it is
	end    bool // the stream ends with it
	use    blockUse
	stream uint32
	e      *exchange
	list   fieldBlock
	part   []byte
}

// maxPart is how much of a block is collected before it is decoded: only what
// came in pieces is copied.
const maxPart = 16 << 10

func (b *block) start(f *frames, use blockUse, e *exchange) {
	*b = block{
		open: true, use: use, stream: f.head.StreamID, e: e, part: b.part[:0],
		end: f.head.Type == http2.FrameHeaders && f.head.Flags.Has(http2.FlagHeadersEndStream),
	}
	f.fields.begin(&b.list)
}

// add takes a piece.
func (b *block) add(f *frames, p []byte) {
	if !b.open || b.lost {
		return
	}
	if len(b.part) == 0 && (len(p) >= maxPart || f.body == 0 && f.head.Flags.Has(http2.FlagHeadersEndHeaders)) {
		f.fields.write(p)
		return
	}
	b.part = append(b.part, p...)
	if len(b.part) >= maxPart {
		b.flush(f)
	}
}

func (b *block) flush(f *frames) {
	if len(b.part) > 0 && !b.lost {
		f.fields.write(b.part)
	}
	b.part = b.part[:0]
}

// openBlock decides what a HEADERS frame is for.
func (h *h2conn) openBlock(f *frames) {
	id := f.head.StreamID
	e := h.streams[id]
	use := useAnswer
	switch {
	case f.d == ToClient && e == nil:
		e = h.lateJoin(f)
	case f.d == ToClient:
	case e != nil && !e.reqDone && !e.lateJoin:
		use = useTrailer
	case e != nil || id%2 == 0 || id <= h.last || h.strange(id):
		use, e = useNone, nil
		h.fault(faultStream)
	default:
		use = useRequest
		e = h.openStream(f, id)
	}
	if e != nil && e.doneIn(f.d) {
		h.fault(faultStream)
		use, e = useNone, nil
	}
	f.block.start(f, use, e)
}

// openStream begins the exchange of a new stream, with the first byte of its
// HEADERS: a request whose header is cut has still arrived.
func (h *h2conn) openStream(f *frames, id uint32) *exchange {
	if h.first == 0 {
		h.first = id
	}
	h.last = id
	h.c.messages[ToServer]++
	e := h.c.rec.begin(h.c, f.t0)
	e.version = versionH2
	h.add(id, e)
	return e
}

// endBlock ends the block; whole: all of it came.
func (h *h2conn) endBlock(f *frames, whole bool, t int64) {
	b := &f.block
	b.flush(f)
	b.open = false
	read := f.fields.end()
	if !whole && read {
		f.fields.lose(f.fields.because(""))
	}
	if whole && !b.lost && !read {
		h.fault(faultHPACK)
	}
	veiled := !whole || b.lost || !read || b.list.blank > 0
	if e := b.e; e != nil && veiled {
		e.veil(f.fields.veil)
	}
	h.deliver(f, b.list.head(), t)
	b.e, b.list = nil, fieldBlock{}
	if cap(b.part) > maxPart {
		b.part = nil
	}
}

// deliver gives a complete block to its exchange.
func (h *h2conn) deliver(f *frames, head *head, t int64) {
	b := &f.block
	e := b.e
	switch {
	case e == nil && b.use == useAnswer:
		h.unpaired(b.stream, head)
		return
	case e == nil || e.done:
		return
	case b.use == useRequest:
		e.header(head, false, t)
	case b.use == useTrailer:
		e.x.ReqTrailer = head.fields
		e.seenLast(ToServer, t)
	case head.status > 0 && head.status < 200 && !b.end:
		return // interim
	case head.status == 0 && e.headEnd > 0:
		e.answerTrailer(head)
		e.seenLast(ToClient, t)
	case head.status > 0 && e.status > 0:
		h.fault(faultStream) // a second answer on one stream
	default:
		if head.status == 0 && !e.veiled {
			h.fault(faultStream)
		}
		e.answerHead(head, t)
		if b.end {
			e.loneHead()
		}
	}
	if b.end {
		h.endStream(f.d, b.stream, e, t)
	}
}

// unpaired counts an answer whose request was not seen, once.
func (h *h2conn) unpaired(id uint32, head *head) {
	if id%2 == 1 && head.status >= 200 && (id > h.last || h.missed(id)) && !h.strange(id) {
		h.noteStranger(id)
		h.c.rec.acct.w.Unpaired++
	}
}

// missed reports whether the request of a stream may have been in a hole.
func (h *h2conn) missed(id uint32) bool {
	return h.dirs[ToServer].fields.veil == trace.DetailGap && id < h.last
}
