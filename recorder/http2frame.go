package recorder

import (
	"encoding/binary"

	"golang.org/x/net/http2"
)

type frameState uint8

const (
	inPreface   frameState = iota // before the client's first frame
	inFrameHead                   // in the nine bytes before a frame
	inFixed                       // in the fixed part of its payload
	inPayload                     // in the rest of it
	inPadding                     // in the padding behind
	inSearch                      // looking for a chain of frames
	inDeaf                        // nothing is read any more
)

const frameHeadLen = 9

// frames cuts one direction of an HTTP/2 connection into frames (RFC 9113,
// section 4.1). It takes bytes in pieces of any size: every split gives the
// same frames, and the payload is handed on as it comes.
type frames struct {
	h *h2conn
	d Dir

	state frameState
	buf   [len(http2.ClientPreface)]byte // the part of fixed size under way
	n     int                            // bytes of it
	t0    int64                          // time of the frame's first byte
	head  http2.FrameHeader
	fixed int // length of the payload's fixed part
	body  int // what is left of the payload, padding excluded
	pad   int // what is left of the padding
	// void: the frame is not as it should be, so its payload is passed over.
	void bool
	find finder

	e      *exchange // whose DATA is under way
	block  block
	fields fieldDecoder
}

// feed takes the next bytes, which came at t.
func (f *frames) feed(b []byte, t int64) {
	for len(b) > 0 {
		b = f.step(b, t)
	}
}

// step takes some bytes off the front of b, at least one.
func (f *frames) step(b []byte, t int64) []byte {
	switch f.state {
	case inPreface:
		return f.takePreface(b)
	case inFrameHead:
		if f.n == 0 {
			f.t0 = t
		}
		b = f.gather(b, frameHeadLen)
		if f.n == frameHeadLen {
			f.begin(t)
		}
		return b
	case inFixed:
		b = f.gather(b, f.fixed)
		if f.n == f.fixed {
			f.enterPayload(t)
		}
		return b
	case inPayload:
		n := min(len(b), f.body)
		f.body -= n
		f.h.payload(f, b[:n], t)
		if f.body == 0 {
			f.leavePayload(t)
		}
		return b[n:]
	case inPadding:
		n := min(len(b), f.pad)
		if f.pad -= n; f.pad == 0 {
			f.end(t)
		}
		return b[n:]
	case inSearch:
		f.search(b, t)
	default:
		f.h.c.rec.acct.blind("http2", int64(len(b)))
	}
	return nil
}

// gather collects up to size bytes in buf and returns the rest.
func (f *frames) gather(b []byte, size int) []byte {
	n := copy(f.buf[f.n:size], b)
	f.n += n
	return b[n:]
}

func (f *frames) takePreface(b []byte) []byte {
	b = f.gather(b, len(f.buf))
	switch {
	case string(f.buf[:f.n]) != http2.ClientPreface[:f.n]:
		f.h.fault(faultFrame)
		f.state = inDeaf
	case f.n == len(f.buf):
		f.state, f.n = inFrameHead, 0
	}
	return b
}

func parseFrameHead(b []byte) http2.FrameHeader {
	return http2.FrameHeader{
		Length: uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]),
		Type:   http2.FrameType(b[3]), Flags: http2.Flags(b[4]),
		StreamID: binary.BigEndian.Uint32(b[5:]) & (1<<31 - 1),
	}
}

// begin reads the head of a frame.
func (f *frames) begin(t int64) {
	f.head = parseFrameHead(f.buf[:])
	f.n, f.pad = 0, 0
	f.fixed = fixedPart(&f.head)
	f.body = int(f.head.Length) - f.fixed
	f.void = f.body < 0
	if f.void {
		f.h.fault(faultFrame)
		f.fixed, f.body = 0, int(f.head.Length)
	}
	f.h.begin(f)
	if f.fixed > 0 {
		f.state = inFixed
		return
	}
	f.enterPayload(t)
}

// fixedPart is the number of bytes at the payload's front that are read as a
// whole.
func fixedPart(h *http2.FrameHeader) (n int) {
	switch h.Type {
	case http2.FrameData, http2.FrameHeaders, http2.FramePushPromise:
		if padded(h) {
			n = 1
		}
		switch {
		case h.Type == http2.FrameHeaders && h.Flags.Has(http2.FlagHeadersPriority):
			n += 5
		case h.Type == http2.FramePushPromise:
			n += 4
		}
	case http2.FrameRSTStream:
		n = 4
	case http2.FrameGoAway:
		n = 8
	}
	return n
}

// padded: the flag has one value in all three types.
func padded(h *http2.FrameHeader) bool { return h.Flags.Has(http2.FlagDataPadded) }

// enterPayload comes when the fixed part is complete, or there is none.
func (f *frames) enterPayload(t int64) {
	if f.fixed > 0 && padded(&f.head) && f.head.Type <= http2.FramePushPromise && f.head.Type != http2.FrameRSTStream {
		f.pad = int(f.buf[0])
	}
	if f.pad > f.body {
		f.h.fault(faultFrame)
		f.void, f.pad = true, 0
	}
	f.body -= f.pad
	if f.body > 0 {
		f.state = inPayload
		return
	}
	f.leavePayload(t)
}

func (f *frames) leavePayload(t int64) {
	if f.pad > 0 {
		f.state = inPadding
		return
	}
	f.end(t)
}

func (f *frames) end(t int64) {
	f.state = inFrameHead
	f.h.end(f, t)
	f.n = 0
}

// gap says that n bytes are lost from here on. Inside a payload the frame goes
// on; elsewhere a chain of frames is looked for.
func (f *frames) gap(n, t int64) {
	switch f.state {
	case inDeaf:
		return
	case inSearch:
		f.skip(f.find.drop())
		f.h.torn(f, t)
		return
	case inPayload, inPadding:
		lost := min(n, int64(f.body))
		f.body -= int(lost)
		if lost > 0 {
			f.h.hole(f, lost)
		}
		n -= lost
		lost = min(n, int64(f.pad))
		f.pad -= int(lost)
		n -= lost
		if f.body+f.pad == 0 {
			f.end(t)
		}
	}
	if n > 0 {
		f.lose(t)
	}
}

// lose starts the search for the next frame.
func (f *frames) lose(t int64) {
	f.state, f.n = inSearch, 0
	f.h.torn(f, t)
}

func (f *frames) search(b []byte, t int64) {
	skipped := f.find.add(b, t)
	f.skip(skipped)
	if !f.find.found {
		return
	}
	f.state, f.n = inFrameHead, 0
	held, marks := f.find.take()
	f.h.synced(f)
	for i, m := range marks {
		end := len(held)
		if i+1 < len(marks) {
			end = marks[i+1].from
		}
		f.feed(held[m.from:end], m.t)
	}
}

// skip counts bytes that belong to no frame that was read.
func (f *frames) skip(n int) {
	if n > 0 && f.h.active {
		f.h.c.rec.acct.blind("http2", int64(n))
	}
}
