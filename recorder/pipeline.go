package recorder

import "github.com/lambdac/lambdac/trace"

// Clients of HTTP/1 do not pipeline; what sends thousands of requests without
// an answer means harm, or the answers' packets are lost. maxPipelined bounds
// the exchanges of a connection that wait for an answer, maxOwed the answers
// that are known to come.
const (
	maxPipelined = 1 << 12
	maxOwed      = 1 << 14

	faultPipelined = "http1_open_requests"
	blindPipelined = "pipelining"
)

// crowd gives up the last request if it is one too many: its arrival is kept,
// and of its answer the place in the order, so that later ones find theirs.
func (c *conn) crowd(e *exchange) {
	last := len(c.queue) - 1
	few := last < maxPipelined && !(last >= fewPipelined && c.rec.crowded())
	if few || c.queue[last] != e || c.answering == e {
		return
	}
	c.rec.acct.fault(faultPipelined)
	e.holed(hole{gaps: 1, capped: true})
	e.finish(c.over)
	c.queue[last] = c.owe(e.x.Method)
	if len(c.queue) >= maxOwed {
		for _, each := range c.queue {
			each.holed(hole{gaps: 1, capped: true})
		}
		c.finishAll()
		c.turnBlind(blindPipelined)
		c.req.turnOpaque()
		c.resp.turnOpaque()
	}
}

// owe returns what stands in the queue for an exchange that was given up. Of
// its request only that matters what decides whether its answer has a body.
func (c *conn) owe(method string) *exchange {
	i := 0
	if method == "HEAD" {
		i = 1
	}
	if c.owed[i] == nil {
		c.owed[i] = &exchange{done: true, x: &trace.Exchange{Method: method}}
	}
	return c.owed[i]
}

// paidOff reports whether the answer that begins is for a request that was
// given up; it belongs to no exchange then.
func (c *conn) paidOff() bool {
	e := c.answering
	if e == nil || !e.done {
		return false
	}
	c.owedMethod = e.x.Method
	c.leave(e)
	c.answering = nil
	return true
}
