package recorder

import (
	"container/list"
	"unsafe"

	"github.com/lambdac/lambdac/trace"
)

const (
	// smallPart is what a connection may hold of messages under way without
	// being counted, and what of an empty buffer stays for the next message.
	smallPart = 1 << 10
	// sharePart is the part of the budget, one in so many, that messages under
	// way may take, sharePiled that of exchanges which pile up.
	sharePart  = 4
	sharePiled = 2
	// fewPipelined and fewStreams are the exchanges of a connection that do not
	// count as piled up.
	fewPipelined = 8
	fewStreams   = 256

	// tableCost is what a header table takes for each byte of its size, measured
	// with fields of 0 to 1,000 bytes.
	tableCost = 2

	faultHeld = "held_limit"
)

// pileCost is what an exchange takes besides its bytes.
const pileCost = int64(unsafe.Sizeof(exchange{}) + unsafe.Sizeof(trace.Exchange{}) + unsafe.Sizeof(trace.Record{}))

// partials are the connections that hold more than a little of messages whose
// end has not come: lines and fields of a head, a header block and its table,
// records of TLS, calls that wait for others. What all of them hold is bounded. Where it is more, the one that
// began to hold first gives up what it has: who sends slowly on purpose is
// early, and a head that is only cut into packets is late and short.
type partials struct {
	held  int64
	conns list.List // of *conn, by when they began
}

// weigh charges what a connection holds.
func (r *recording) weigh(c *conn) {
	r.charge(c, c.partial())
	for n := r.parts.conns.Len(); n > 0 && r.parts.held > r.cfg.heldCap()/sharePart; n-- {
		oldest := r.parts.conns.Front().Value.(*conn)
		r.charge(oldest, 0)
		oldest.shed()
		r.charge(oldest, oldest.partial())
	}
}

// charge sets what a connection is known to hold.
func (r *recording) charge(c *conn, n int64) {
	r.held += n - c.part
	r.parts.held += n - c.part
	c.part = n
	switch {
	case n == 0 && c.holder != nil:
		r.parts.conns.Remove(c.holder)
		c.holder = nil
	case n > 0 && c.holder == nil:
		c.holder = r.parts.conns.PushBack(c)
	}
}

// admit charges an exchange for its heads, or for itself.
func (r *recording) admit(e *exchange, n int64) {
	e.heads += n
	r.held += n
	if e.piled {
		r.piled += n
	}
}

// crowded reports whether piled exchanges take what they may.
func (r *recording) crowded() bool { return r.piled > r.cfg.heldCap()/sharePiled }

// partial is what the connection holds of messages under way; 0 = little.
func (c *conn) partial() int64 {
	n := int64(c.heldBytes)
	for d := range c.sniffer.held {
		n += int64(len(c.sniffer.held[d])) * (heldCost + 8)
	}
	n += c.req.partial() + c.resp.partial()
	if c.tls != nil {
		n += c.tls.partial()
	}
	if h := c.reader2(); h != nil {
		n += h.dirs[ToServer].partial() + h.dirs[ToClient].partial()
	}
	if n <= smallPart {
		return 0
	}
	return n
}

// reader2 is what reads the connection as HTTP/2, or tries to.
func (c *conn) reader2() *h2conn {
	if c.h2 != nil {
		return c.h2
	}
	return c.sniffer.scent
}

// shed gives up what the connection holds. The message is cut by us, and the
// next one is looked for.
func (c *conn) shed() {
	c.rec.acct.fault(faultHeld)
	c.release(true)
	if c.tls != nil {
		c.tls.shed()
	}
	c.unsniff(ToServer)
	c.unsniff(ToClient)
	for _, d := range [...]Dir{ToServer, ToClient} {
		if h := c.reader2(); h != nil {
			h.dirs[d].shed()
		}
		if c.parser(d).partial() > 0 {
			c.plainGap(d, 0, lostCap, c.clock[d])
			c.parser(d).list = fieldList{}
		}
	}
}

// partial is what is held of records and handshake messages under way, and of
// records that wait for a secret.
func (t *tlsConn) partial() int64 {
	n := int64(t.bytes)
	for d := range t.dirs {
		n += weight(t.dirs[d].frames.buf) + weight(t.dirs[d].messages.body)
	}
	return n
}

// shed gives up what waits, and the messages and records under way.
func (t *tlsConn) shed() {
	if len(t.queue) > 0 {
		t.giveUp()
	}
	for d := range t.dirs {
		s := &t.dirs[d]
		if len(s.messages.body) > 0 {
			t.stop(Dir(d), tlsShed)
		}
		if len(s.frames.buf) >= tlsHeader {
			t.gap(Dir(d), 0, lostCap)
		}
	}
}

// partial is what is held of a line, and of the fields before it.
func (p *parser) partial() int64 {
	p.line, p.marks = spare(p.line), spare(p.marks)
	p.list.text, p.list.marks = spare(p.list.text), spare(p.list.marks)
	return weight(p.line) + weight(p.marks) + weight(p.list.text) + weight(p.list.marks)
}

// partial is what is held of a header block, and of a frame that is looked for,
// and a header table that its peer made large.
func (f *frames) partial() int64 {
	f.block.part = spare(f.block.part)
	n := weight(f.block.part) + int64(f.block.list.cost) + f.fields.pending + weight(f.find.held) + weight(f.find.marks)
	if f.fields.table > initialTable {
		n += tableCost * int64(f.fields.table)
	}
	return n
}

// shed gives up the header block under way, and the search as far as it is.
func (f *frames) shed() {
	f.skip(f.find.drop())
	if f.block.open {
		if f.block.e != nil {
			f.block.e.holed(hole{gaps: 1, capped: true})
		}
		f.block.lost, f.block.part, f.block.list = true, nil, fieldBlock{}
	}
	if f.block.open || f.fields.table > initialTable {
		f.fields.size = initialTable
		f.fields.lose(trace.DetailGap)
	}
}

// chargeEvent charges what is held of the answer's event under way. Where there
// is no room for it, it is given up.
func (e *exchange) chargeEvent() {
	if e.answer.reader == nil { // of gRPC nothing is kept
		return
	}
	n := int64(e.answer.reader.Held())
	if n <= smallPart {
		n = 0
	}
	if n > e.event && n-e.event > e.rec.room() {
		e.rec.acct.fault(faultHeld)
		e.answer.reader.Forget()
		n = 0
	}
	e.rec.held += n - e.event
	e.event = n
}

// spare lets go of a large buffer that is empty.
func spare[T any](b []T) []T {
	if len(b) == 0 && weight(b[:cap(b)]) > smallPart {
		return nil
	}
	return b
}

// weight is what a buffer takes that is in use.
func weight[T any](b []T) int64 {
	var each T
	if len(b) == 0 {
		return 0
	}
	return int64(cap(b)) * int64(unsafe.Sizeof(each))
}
