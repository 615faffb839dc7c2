package recorder

import (
	"bytes"
	"strings"
)

// asks is a connection as the parser of its requests sees it.
type asks conn

func (a *asks) conn() *conn { return (*conn)(a) }

func (a *asks) start(_ *head, t0 int64) {
	c := a.conn()
	c.messages[ToServer]++
	c.confirmTail()
	e := c.rec.begin(c, t0)
	c.queue = append(c.queue, e)
	c.asking = e
}

func (a *asks) header(h *head, cut bool, t int64) bodyMode {
	c := a.conn()
	e := c.asking
	if e == nil {
		return bodyFramed
	}
	e.header(h, cut, t)
	if h.minor < 0 {
		e.fault = faultVersion // until an answer with a head comes
	}
	if h.method == "CONNECT" {
		return bodyNone
	}
	return bodyFramed
}

func (a *asks) body(b []byte, t int64) {
	if e := a.conn().asking; e != nil {
		e.requestBody(b, t)
	}
}

func (a *asks) hole(n int64, sure bool, _ int64) {
	c := a.conn()
	c.lostReq = c.lostReq || !sure
	if e := c.asking; e != nil {
		e.lose(ToServer, n, sure)
	}
}

func (a *asks) end(h *head, t int64) {
	c := a.conn()
	e := c.asking
	c.asking = nil
	if e == nil {
		return
	}
	e.x.ReqTrailer = h.trailer
	if e.refused = c.req.state == inRefused; e.refused {
		t = e.reqLast
	}
	e.endRequest(t)
	if e.respDone {
		c.settle(e)
		return
	}
	c.crowd(e)
}

func (a *asks) broken(reason string, _ []byte, _ int64) {
	c := a.conn()
	c.broken(ToServer, reason, c.asking)
}

func (a *asks) skipped(b []byte, _, _ int64) { a.conn().unread += int64(len(b)) }

func (a *asks) opaque(b []byte, t int64) { a.conn().opaque(ToServer, b, t) }

// answers is a connection as the parser of its answers sees it.
type answers conn

func (a *answers) conn() *conn { return (*conn)(a) }

func (a *answers) start(_ *head, t0 int64) {
	c := a.conn()
	first := c.messages[ToClient] == 0
	c.messages[ToClient]++
	c.confirmTail()
	joined := c.tail != nil
	c.endTail()
	if c.interim {
		c.interim = false
		return
	}
	if e := c.answering; e != nil { // its end was lost
		e.finish(c.over)
		c.leave(e)
	}
	c.owedMethod = ""
	c.answering = c.match(t0)
	c.between = hole{}
	if c.paidOff() {
		return
	}
	if c.answering == nil && first && !joined && !c.info.SawSYN {
		c.answering = c.rec.begin(c, t0)
		c.answering.lateJoin = true
		c.queue = append(c.queue, c.answering)
	}
	if c.answering == nil {
		c.rec.acct.w.Unpaired++
	}
}

func (a *answers) header(h *head, cut bool, t int64) bodyMode {
	c := a.conn()
	e := c.answering
	if h.status < 200 && h.status != 101 && !cut {
		c.interim = true
		return bodyInterim
	}
	if e == nil {
		return bodiless(h, c.owedMethod)
	}
	if h.status == 101 && e.reqDone && upgrade(h) == upgradeH2C {
		c.upgradeH2(e)
		return bodyOpaque
	}
	e.answerHead(h, t)
	if c.asking == e && c.req.refused() {
		e.refused = true
	}
	mode := bodiless(h, e.x.Method)
	if mode == bodyOpaque {
		c.tunnel = upgrade(h)
		c.req.turnOpaque()
	}
	return mode
}

// upgradeH2C is HTTP/2 that begins as HTTP/1 (RFC 7540, section 3.2).
const upgradeH2C = "h2c"

// upgrade names what a connection carries from now on.
func upgrade(h *head) string {
	for _, name := range []string{"websocket", upgradeH2C} {
		if strings.EqualFold(fieldValue(h.fields, "upgrade"), name) {
			return name
		}
	}
	return "opaque"
}

// bodiless applies RFC 9112, section 6.3, items 1 and 2.
func bodiless(h *head, method string) bodyMode {
	switch {
	case h.status == 101, method == "CONNECT" && h.status/100 == 2:
		return bodyOpaque
	case method == "HEAD", h.status == 204, h.status == 304:
		return bodyNone
	}
	return bodyFramed
}

func (a *answers) body(b []byte, t int64) {
	if e := a.conn().answering; e != nil {
		e.answerBody(b, t)
	}
}

func (a *answers) hole(n int64, sure bool, _ int64) {
	c := a.conn()
	c.lostResp = c.lostResp || !sure
	e := c.answering
	if e == nil {
		c.between.bytes += n
		return
	}
	e.lose(ToClient, n, sure)
}

func (a *answers) end(h *head, t int64) {
	c := a.conn()
	e := c.answering
	c.answering = nil
	if e == nil {
		return
	}
	e.x.RespTrailer = h.trailer
	e.respDone, e.respLast = true, t
	if e.reqDone || e.lateJoin || c.asking != e {
		c.settle(e)
	}
}

// settle closes an exchange whose messages have both ended.
func (c *conn) settle(e *exchange) {
	c.leave(e)
	if e.after(c.over) {
		c.limbo = append(c.limbo, e)
		return
	}
	e.finish(c.over)
}

func (a *answers) broken(reason string, _ []byte, _ int64) {
	c := a.conn()
	c.broken(ToClient, reason, c.answering)
}

func (a *answers) opaque(b []byte, t int64) { a.conn().opaque(ToClient, b, t) }

func (a *answers) skipped(b []byte, t0, t1 int64) {
	c := a.conn()
	c.unread += int64(len(b))
	if c.tail != nil || !c.info.SawSYN && c.messages == [2]int{} {
		c.readTail(b, t0, t1)
	}
}

// readTail takes bytes of the answer under way when the connection was joined.
func (c *conn) readTail(b []byte, t0, t1 int64) {
	if c.tail == nil {
		e := c.rec.newExchange(c, t0)
		e.lateJoin = true
		c.tail = &tail{e: e}
	}
	c.tail.e.respLast = t1
	c.tail.e.resp.wire += int64(len(b))
	if bytes.HasPrefix(b, []byte("data:")) || string(bytes.TrimRight(b, "\r\n")) == "0" {
		c.confirmTail()
	}
}

// confirmTail: the connection is HTTP, so its tail is an exchange.
func (c *conn) confirmTail() {
	if c.tail != nil {
		c.tail.http = true
	}
}

// endTail closes the tail, if it was one of HTTP. It is counted only now: until
// a message begins it may still turn out to be of HTTP/2.
func (c *conn) endTail() {
	if c.tail != nil && c.tail.http {
		c.rec.count(c.tail.e)
		c.tail.e.finish(c.over)
	}
	c.tail = nil
}
