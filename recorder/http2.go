package recorder

import (
	"encoding/binary"
	"math"
	"slices"

	"golang.org/x/net/http2"

	"github.com/lambdac/lambdac/trace"
)

// Reasons for which a part of an HTTP/2 connection is not as it should be.
const (
	faultFrame   = "http2_frame"
	faultOrder   = "http2_frame_order"
	faultStream  = "http2_stream"
	faultPush    = "http2_push"
	faultStreams = "http2_open_streams"
	faultHPACK   = "hpack"
)

// maxStreams bounds the open streams of a connection; with one more the oldest
// is closed as cut by us. Servers allow 100 to 250 at a time.
const maxStreams = 1 << 14

// h2conn reads a connection as HTTP/2 (RFC 9113). A stream is an exchange;
// everything about it that is no framing is done there, as for HTTP/1.
// Flow control, settings, priorities and pings say nothing of an exchange and
// are passed over: what was sent is what counts, and the size of a header
// table is said in the header blocks themselves.
type h2conn struct {
	c    *conn
	dirs [2]frames
	// active: the connection is known to be HTTP/2.
	active bool
	// joined: it was open before the capture.
	joined bool

	streams map[uint32]*exchange
	// order holds the streams by number, which is how they were opened; closed
	// ones are among them.
	order []uint32
	// first and last are the lowest and highest stream whose request was seen.
	first, last uint32
	resets      []lateReset
	// strangers are streams whose answer has come to no request.
	strangers map[uint32]bool
}

// newH2 returns a reader of a connection. seen says which direction is read
// from its first byte on; in the other a frame is looked for.
func newH2(c *conn, seen [2]bool) *h2conn {
	h := &h2conn{c: c, joined: !c.info.SawSYN, streams: make(map[uint32]*exchange)}
	for d := range h.dirs {
		f := &h.dirs[d]
		f.h, f.d, f.state = h, Dir(d), inFrameHead
		if d == int(ToServer) {
			f.state = inPreface
		}
		if !seen[d] {
			f.state = inSearch
			f.fields.lose(h.why())
		}
	}
	return h
}

// why is the reason for what is not known.
func (h *h2conn) why() trace.OutcomeDetail {
	if h.joined {
		return trace.DetailLateJoin
	}
	return trace.DetailGap
}

func (h *h2conn) fault(reason string) { h.c.rec.acct.fault(reason) }

func (h *h2conn) feed(d Dir, b []byte, t int64) {
	h.drop(d, t)
	h.dirs[d].feed(b, t)
}

// gap says that n bytes of a direction are lost.
func (h *h2conn) gap(d Dir, n int64, t int64) {
	h.drop(d, t)
	h.dirs[d].gap(n, t)
}

// synced: a frame was found where none was known to be.
func (h *h2conn) synced(f *frames) {
	h.active = true
	h.c.messages[f.d]++
}

// begin comes with the head of a frame.
func (h *h2conn) begin(f *frames) {
	h.active = true
	head := &f.head
	f.e = nil
	if f.block.open && (head.Type != http2.FrameContinuation || head.StreamID != f.block.stream) {
		h.fault(faultOrder)
		h.endBlock(f, false, f.t0)
	}
	if f.void {
		h.veilBlock(f)
		return
	}
	switch head.Type {
	case http2.FrameHeaders:
		h.openBlock(f)
	case http2.FramePushPromise:
		if f.d == ToClient {
			h.fault(faultPush)
		}
		f.block.start(f, usePush, nil)
	case http2.FrameContinuation:
		if !f.block.open {
			h.fault(faultOrder)
			f.fields.lose(f.fields.because(""))
		}
	case http2.FrameData:
		f.e = h.owner(f)
	}
}

// veilBlock: a frame that holds a header block cannot be read.
func (h *h2conn) veilBlock(f *frames) {
	switch f.head.Type {
	case http2.FrameHeaders, http2.FramePushPromise, http2.FrameContinuation:
		f.fields.lose(f.fields.because(""))
	}
}

// owner finds the exchange that DATA belongs to; nil if there is none.
func (h *h2conn) owner(f *frames) *exchange {
	e := h.streams[f.head.StreamID]
	if e == nil && f.d == ToClient {
		e = h.lateJoin(f)
	}
	switch {
	case e == nil:
	case f.d == ToServer && e.reqDone, f.d == ToClient && e.respDone:
		h.fault(faultStream)
		e = nil
	}
	return e
}

// payload takes a piece of a frame's payload.
func (h *h2conn) payload(f *frames, b []byte, t int64) {
	switch {
	case f.void:
	case f.head.Type != http2.FrameData:
		f.block.add(f, b)
	case f.e == nil || f.e.done:
		h.c.rec.acct.blind("http2", int64(len(b)))
	case f.d == ToServer:
		f.e.requestBody(b, t)
	default:
		f.e.answerBody(b, t)
	}
}

// end comes behind a frame.
func (h *h2conn) end(f *frames, t int64) {
	if f.void {
		f.void = false
		return
	}
	switch f.head.Type {
	case http2.FrameHeaders, http2.FrameContinuation, http2.FramePushPromise:
		if !f.block.open {
			return
		}
		if f.head.Flags.Has(http2.FlagHeadersEndHeaders) {
			h.endBlock(f, true, t)
		}
	case http2.FrameData:
		e := f.e
		f.e = nil
		if e != nil && !e.done {
			e.seenLast(f.d, t)
			if f.head.Flags.Has(http2.FlagDataEndStream) {
				h.endStream(f.d, f.head.StreamID, e, t)
			}
		}
	case http2.FrameRSTStream:
		h.reset(f.d, f.head.StreamID, t)
	case http2.FrameGoAway:
		h.goAway(f, t)
	}
}

// endStream: a message is complete.
func (h *h2conn) endStream(d Dir, id uint32, e *exchange, t int64) {
	if d == ToServer {
		e.endRequest(t)
	} else {
		e.respDone, e.respLast = true, t
	}
	if e.respDone && (e.reqDone || e.lateJoin) {
		h.close(id)
		h.c.settle(e)
	}
}

// reset: one side gave up a stream. A server whose answer is complete only
// says that it does not need the rest of the request.
func (h *h2conn) reset(d Dir, id uint32, t int64) {
	e := h.streams[id]
	if e == nil {
		return
	}
	end := ending{known: true, by: d, rst: true, at: t}
	if d == ToServer && h.c.answersHeld() {
		h.resets = append(h.resets, lateReset{id, end})
		return
	}
	h.close(id)
	e.finish(end)
}

// lateReset is a client's reset whose stream may still have bytes that came
// before it and are held back, since others before them are missing.
type lateReset struct {
	id  uint32
	end ending
}

// drop ends the streams that were reset before t.
func (h *h2conn) drop(d Dir, t int64) {
	for d == ToClient && len(h.resets) > 0 && h.resets[0].end.at < t {
		r := h.resets[0]
		h.resets = h.resets[1:]
		if e := h.streams[r.id]; e != nil {
			h.close(r.id)
			e.finish(r.end)
		}
	}
}

// goAway: a side takes no new streams. Those of the client that the server has
// not taken are refused with it; an error is the end of the connection.
func (h *h2conn) goAway(f *frames, t int64) {
	last := binary.BigEndian.Uint32(f.buf[:]) & (1<<31 - 1)
	if code := http2.ErrCode(binary.BigEndian.Uint32(f.buf[4:])); code != http2.ErrCodeNo {
		h.c.ended(f.d, true, t)
	}
	if f.d != ToClient {
		return
	}
	for n := len(h.order); n > 0 && h.order[n-1] > last; n = len(h.order) {
		id := h.order[n-1]
		h.order = h.order[:n-1] // none is looked at twice, however often it is said
		h.reset(ToClient, id, t)
	}
}

func (h *h2conn) close(id uint32) {
	delete(h.streams, id)
	if len(h.order) > 2*len(h.streams)+64 {
		kept := h.order[:0]
		for _, id := range h.order {
			if h.streams[id] != nil {
				kept = append(kept, id)
			}
		}
		h.order = kept
	}
}

// add puts a stream into the table.
func (h *h2conn) add(id uint32, e *exchange) {
	for (len(h.streams) >= maxStreams || len(h.streams) >= fewStreams && h.c.rec.crowded()) && len(h.order) > 0 {
		oldest := h.order[0]
		h.order = h.order[1:]
		if old := h.streams[oldest]; old != nil {
			delete(h.streams, oldest)
			h.fault(faultStreams)
			old.holed(hole{gaps: 1, capped: true})
			old.finish(h.c.over)
		}
	}
	h.streams[id] = e
	at, _ := slices.BinarySearch(h.order, id) // the end, but for a late join
	h.order = slices.Insert(h.order, at, id)
}

// lateJoin begins the exchange of an answer that was under way when the
// connection was joined; nil if f is not of one.
func (h *h2conn) lateJoin(f *frames) *exchange {
	id := f.head.StreamID
	if !h.joined || h.dirs[ToServer].fields.veil != trace.DetailLateJoin || id%2 == 0 || h.first > 0 && id >= h.first || h.strange(id) {
		return nil
	}
	h.noteStranger(id)
	e := h.c.rec.begin(h.c, f.t0)
	e.lateJoin, e.version = true, versionH2
	h.add(id, e)
	return e
}

// maxStrangers bounds what is remembered of streams without a request.
const maxStrangers = 1 << 12

func (h *h2conn) strange(id uint32) bool { return h.strangers[id] }

func (h *h2conn) noteStranger(id uint32) {
	if h.strangers == nil {
		h.strangers = make(map[uint32]bool)
	}
	if len(h.strangers) < maxStrangers {
		h.strangers[id] = true
	}
}

// hole: n bytes of the payload of a frame are lost.
func (h *h2conn) hole(f *frames, n int64) {
	switch f.head.Type {
	case http2.FrameData:
		if e := f.e; e != nil && !e.done {
			e.holed(hole{gaps: 1})
			e.lose(f.d, n, true)
		}
	case http2.FrameHeaders, http2.FrameContinuation, http2.FramePushPromise:
		f.block.lost = true
		f.fields.lose(trace.DetailGap)
	}
}

// torn: bytes before t are lost and with them nobody knows how many frames, of
// which streams. One may have been a client's reset.
func (h *h2conn) torn(f *frames, t int64) {
	if !h.active {
		return
	}
	f.fields.lose(trace.DetailGap)
	if f.block.open {
		h.endBlock(f, false, f.t0)
	}
	for _, id := range h.order {
		e := h.streams[id]
		if e == nil || e.start > t {
			continue
		}
		e.unsure = e.unsure || f.d == ToServer
		if !e.doneIn(f.d) {
			e.holed(hole{gaps: 1})
			e.tear(f.d)
		}
	}
	f.e = nil
}

// finishAll closes what is open.
func (h *h2conn) finishAll() {
	h.drop(ToClient, math.MaxInt64)
	for d := range h.dirs {
		if f := &h.dirs[d]; f.block.open {
			h.endBlock(f, false, f.t0)
		}
		f := &h.dirs[d]
		f.skip(f.find.drop())
	}
	for _, id := range h.order {
		if e := h.streams[id]; e != nil {
			delete(h.streams, id)
			e.finish(h.c.over)
		}
	}
	h.order = nil
}
