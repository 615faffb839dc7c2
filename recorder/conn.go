package recorder

import (
	"cmp"
	"container/list"
	"slices"
)

// conn reads the two streams of one connection as HTTP/1 and pairs what it
// finds: answers come in the order of the requests (RFC 9112, section 9.3.2).
// Where they turn out to be HTTP/2, h2 reads them instead.
type conn struct {
	rec  *recording
	info *ConnInfo
	req  parser
	resp parser

	// queue holds the exchanges whose answer has not ended, oldest first.
	queue []*exchange
	// asking is the exchange whose request is under way, answering the one
	// whose answer is; nil where a message belongs to none.
	asking, answering *exchange
	// owed stand in the queue for exchanges that were given up; owedMethod is
	// that of the one whose answer is under way.
	owed       [2]*exchange
	owedMethod string
	// limbo holds exchanges whose answer ended after the client's FIN: what
	// the client does next tells whether it was still there.
	limbo []*exchange
	// tail is the answer under way when the connection was joined.
	tail *tail

	// tls is the connection's encryption, nil without. deaf: from some record
	// on a direction cannot be read, so what it held is not known; deafHole:
	// because bytes were lost.
	tls      *tlsConn
	deaf     [2]bool
	deafHole bool

	// sniffer tells HTTP/2; h2 reads it, nil where it is not.
	sniffer sniffer
	h2      *h2conn

	blind     string  // why nothing is read; "" = HTTP
	tunnel    string  // what follows an exchange that was the last in HTTP; "" = nothing
	exchanges int     // begun
	messages  [2]int  // start lines seen
	started   [2]bool // a byte was seen
	interim   bool    // the answer under way may be preceded by interim ones
	// lostReq: requests may have been lost since the last pairing; lostResp
	// likewise. pipelined: the client is known to send several at once.
	lostReq, lostResp, pipelined bool
	// between is what was lost before the head of an answer: nobody knows yet
	// whether it was of the exchange that waits or of nothing that was seen.
	between hole
	clock   [2]int64
	// streams is the reassembler's state, nil without one. sent is the end of
	// the answers' bytes so far, sentAtFIN what it was at the client's FIN.
	streams         *connStreams
	sent, sentAtFIN int64
	reset           bool // by the client
	delivery        uint64
	over            ending
	unread          int64 // bytes that belong to no message
	ignored         bool  // the source was told
	held            []heldCall
	heldBytes       int
	// part is what is charged of messages under way, holder its place among
	// those that hold more than a little.
	part   int64
	holder *list.Element
}

// tail is an answer whose beginning was not seen.
type tail struct {
	e *exchange
	// http: something proves that this is HTTP.
	http bool
}

// hole counts what one direction lost at one place.
type hole struct {
	bytes, gaps int64
	capped      bool // by the reassembler's limit
}

func openConn(rec *recording, info *ConnInfo) *conn {
	c := &conn{rec: rec, info: info, streams: info.streams}
	c.req = parser{out: (*asks)(c)}
	c.resp = parser{answer: true, out: (*answers)(c)}
	if !info.SawSYN {
		c.req.state, c.resp.state = inResync, inResync
		c.sniffer.scent = newH2(c, [2]bool{})
	}
	return c
}

func (c *conn) parser(d Dir) *parser {
	if d == ToServer {
		return &c.req
	}
	return &c.resp
}

// advance returns the time at which bytes could be read: those behind a packet
// that came late wait for it, and share its delivery.
func (c *conn) advance(d Dir, t int64) int64 {
	if t < c.clock[d] {
		return c.clock[d]
	}
	c.clock[d] = t
	if d == ToClient {
		c.delivery++
	}
	return t
}

func (c *conn) data(d Dir, b []byte, t int64) {
	if len(b) == 0 {
		return
	}
	if d == ToClient {
		c.sent += int64(len(b))
	}
	t = c.advance(d, t)
	if c.tls == nil && c.started == [2]bool{} && startsTLS(b) {
		c.tls = newTLSConn(c)
	}
	if c.tls != nil {
		c.tls.feed(d, b)
		return
	}
	c.plain(d, b, t)
}

// plain takes bytes of the protocol itself: those of the connection, or what
// was in its TLS records.
func (c *conn) plain(d Dir, b []byte, t int64) {
	c.started[d] = true
	if !c.sniffer.decided[d] && c.h2 == nil {
		c.sniff(d, b, t)
		return
	}
	c.read(d, b, t)
}

// read gives bytes to the reader of the connection's protocol.
func (c *conn) read(d Dir, b []byte, t int64) {
	if c.sniffer.scent != nil && c.follow(d, b, t) {
		return
	}
	switch {
	case c.h2 != nil:
		c.h2.feed(d, b, t)
		return
	case c.blind != "":
		c.rec.acct.blind(c.blind, int64(len(b)))
		if c.sniffer.scent == nil { // it is not HTTP/2 either
			c.ignore()
		}
		return
	}
	c.parser(d).feed(b, t)
	if d == ToClient && c.answering != nil {
		c.answering.respLast = t // chunk framing counts as well
	}
}

func (c *conn) turnBlind(reason string) {
	c.blind = reason
	c.tail = nil
}

func (c *conn) gap(d Dir, n int64, reason string, t int64) {
	if c.blind != "" {
		return
	}
	if d == ToClient {
		c.sent += n
	}
	t = c.advance(d, t)
	if c.tls != nil {
		c.tls.gap(d, n, reason)
		return
	}
	c.plainGap(d, n, reason, t)
}

// plainGap says that n bytes of the protocol itself are lost.
func (c *conn) plainGap(d Dir, n int64, reason string, t int64) {
	if !c.sniffer.decided[d] {
		c.unsniff(d)
	}
	if s := c.sniffer.scent; s != nil {
		s.gap(d, n, t)
	}
	if c.h2 != nil {
		c.h2.gap(d, n, t)
		return
	}
	h := hole{gaps: 1, capped: reason == lostCap}
	switch {
	case d == ToServer && c.asking != nil:
		c.asking.holed(h)
	case d == ToClient && c.answering != nil:
		c.answering.holed(h)
	case d == ToClient:
		c.between.gaps++
		c.between.capped = c.between.capped || h.capped
	}
	c.parser(d).gap(n, t)
}

// waiting is the oldest exchange without an answer; nil if there is none.
func (c *conn) waiting() *exchange {
	for _, e := range c.queue {
		if !e.respDone {
			return e
		}
	}
	return nil
}

func (c *conn) fin(d Dir, t int64) {
	c.ended(d, false, t)
	if c.tls != nil {
		c.tls.fin(d)
		return
	}
	c.plainFIN(d)
}

// plainFIN says that no byte of the protocol itself follows.
func (c *conn) plainFIN(d Dir) {
	c.unsniff(d)
	c.parser(d).streamEnd(c.clock[d])
	if d == ToClient {
		c.finishAll()
	}
}

func (c *conn) rst(d Dir, t int64) {
	c.ended(d, true, t)
	c.reset = c.reset || d == ToServer
	c.endTLS()
	c.finishAll()
}

// ended notes who ended the connection first, by the packets' times.
func (c *conn) ended(d Dir, rst bool, t int64) {
	if !c.over.known || t < c.over.at {
		c.over = ending{known: true, by: d, rst: rst, at: t}
	}
	if d == ToServer && !rst {
		c.sentAtFIN = c.sent
	}
}

// reads reports whether the client acknowledged bytes of an answer after it
// had ended its own side.
func (c *conn) reads() bool {
	return !c.reset && c.streams != nil && c.streams.dirs[ToClient].acked > c.sentAtFIN
}

// connectNs is the time to connect, TLS included; nil where it was not seen.
func (c *conn) connectNs() *int64 {
	ns := c.info.ConnectNs
	if c.tls == nil || ns == nil {
		return ns
	}
	if c.tls.doneAt == 0 {
		return nil
	}
	return new(c.tls.doneAt - c.info.Start)
}

// endTLS reads what still waits for a secret.
func (c *conn) endTLS() {
	if c.tls != nil {
		c.tls.end()
	}
}

// deafen: from here on a direction is encrypted without hope. What is under
// way in it will not be seen to its end, which says nothing of the service.
func (c *conn) deafen(d Dir, hole bool) {
	c.deaf[d], c.deafHole = true, hole
	if d == ToServer {
		c.lostReq = true
		return
	}
	c.lostResp = true
}

func (c *conn) closed() {
	c.endTLS()
	c.unsniff(ToServer)
	c.unsniff(ToClient)
	c.req.drain()
	c.resp.drain()
	c.finishAll()
	if c.messages == [2]int{} && c.blind == "" && c.unread > 0 && (c.tail == nil || !c.tail.http) {
		c.rec.acct.blind("unknown_protocol", c.unread)
	}
	c.endTail()
}

// finishAll closes what is open. After the client's FIN alone nothing is
// decided: an answer may still come to a client that only closed its sending
// half.
func (c *conn) finishAll() {
	if e := c.waiting(); e != nil && c.answering == nil {
		e.holed(c.between)
	}
	c.between = hole{}
	c.missAnswers()
	if c.h2 != nil {
		c.h2.finishAll()
	}
	for _, e := range c.limbo {
		e.finish(c.over)
	}
	for _, e := range c.queue {
		e.finish(c.over)
	}
	if c.asking != nil {
		c.asking.finish(c.over)
	}
	c.limbo, c.queue = c.limbo[:0], c.queue[:0]
	c.asking, c.answering = nil, nil
}

// missAnswers: a hole of which nobody knows where it ends in HTTP may have held
// the answers of all that still wait.
func (c *conn) missAnswers() {
	if !c.lostResp || c.deaf[ToClient] {
		return
	}
	for _, e := range c.queue {
		if !e.respDone && e != c.answering {
			e.holed(hole{gaps: 1})
		}
	}
}

// match finds the request that an answer whose first byte came at t belongs
// to; nil if there is none.
func (c *conn) match(t int64) *exchange {
	for len(c.queue) > 0 && c.queue[0].respDone {
		c.queue = slices.Delete(c.queue, 0, 1)
	}
	lost, at := c.lostResp, 0
	if c.lostReq {
		for at < len(c.queue) && c.queue[at].start <= t {
			at++
		}
		if at == 0 {
			return nil // it answers a request that was lost
		}
		at = 0
	}
	switch {
	case len(c.queue) == 0:
		return nil
	case lost && !c.pipelined:
		at = c.latest(t)
	case len(c.queue) > 1 && c.queue[1].start <= t:
		c.pipelined = true
	}
	for _, e := range c.queue[:at] { // their answers were in the hole
		e.holed(c.between)
		e.finish(c.over)
	}
	c.queue = slices.Delete(c.queue, 0, at)
	c.lostReq, c.lostResp = false, false
	return c.queue[0]
}

// latest is the place in the queue of the last request before t.
func (c *conn) latest(t int64) int {
	at := 0
	for i, e := range c.queue {
		if e.start <= t {
			at = i
		}
	}
	return at
}

// broken: a direction is not HTTP/1, or not any more.
func (c *conn) broken(d Dir, reason string, e *exchange) {
	if e == nil && c.messages == [2]int{} && reason == faultStart {
		c.turnBlind("unknown_protocol")
		return
	}
	c.rec.acct.fault(reason)
	if e != nil {
		e.fault = reason
	}
}

// opaque takes bytes behind the last HTTP/1 message of a direction.
func (c *conn) opaque(d Dir, b []byte, t int64) {
	if c.h2 != nil {
		c.h2.feed(d, b, t)
		return
	}
	c.rec.acct.blind(c.whyOpaque(), int64(len(b)))
	if c.req.state == inOpaque && c.resp.state == inOpaque && len(c.queue) == 0 {
		c.ignore()
	}
}

// whyOpaque names what bytes are that are not read.
func (c *conn) whyOpaque() string { return cmp.Or(c.blind, c.tunnel, "opaque") }

// ignore tells the source that nothing more is made of the connection's bytes.
// Of what was decrypted, the source may know less than we do.
func (c *conn) ignore() {
	if c.ignored || c.rec.ignore == nil || c.tls != nil || c.info.Decrypted {
		return
	}
	c.ignored = true
	c.rec.ignore(c.info)
}

// leave takes a finished exchange out of the queue.
func (c *conn) leave(e *exchange) {
	if i := slices.Index(c.queue, e); i >= 0 {
		c.queue = slices.Delete(c.queue, i, i+1)
	}
}
