package recorder

import "bytes"

// heldCall is a call of the reassembler that is kept for later.
type heldCall struct {
	what   callKind
	b      []byte
	n, t   int64
	reason string
}

type callKind uint8

const (
	callData callKind = iota
	callGap
	callFIN
)

// maxHeldAnswer bounds what is kept of an answer that waits for its request,
// heldCost is what a call takes besides its bytes.
const (
	maxHeldAnswer = 1 << 20
	heldCost      = 64
)

// wait reports whether a call of the answers' direction is too early: its
// request may be behind a hole that the reassembler still hopes to fill. A
// packet that was lost on the way to us, and not on the way to the server,
// makes the answer come first.
func (c *conn) wait(d Dir) bool {
	if d != ToClient || c.blind != "" {
		return false
	}
	return len(c.held) > 0 || c.requestsHeld() && (c.h2 != nil || c.waiting() == nil)
}

// requestsHeld reports whether the reassembler holds bytes of requests back.
func (c *conn) requestsHeld() bool {
	if c.streams == nil {
		return false
	}
	return c.streams.dirs[ToServer].waits()
}

// answersHeld reports whether it holds bytes of answers back.
func (c *conn) answersHeld() bool {
	return c.streams != nil && c.streams.dirs[ToClient].waits() || len(c.held) > 0
}

// waits reports whether bytes are held back for others that are missing.
func (st *stream) waits() bool { return st.holeAt != 0 || len(st.pieces) > 0 }

// hold keeps a call for later.
func (c *conn) hold(call heldCall) {
	call.b = bytes.Clone(call.b)
	c.held = append(c.held, call)
	c.heldBytes += len(call.b) + heldCost
}

// release makes the kept calls once the hole is closed, or at any price.
func (c *conn) release(now bool) {
	if len(c.held) == 0 || !now && c.requestsHeld() && c.heldBytes <= maxHeldAnswer {
		return
	}
	held := c.held
	c.held, c.heldBytes = nil, 0
	for i := range held {
		call := &held[i]
		switch call.what {
		case callData:
			c.data(ToClient, call.b, call.t)
		case callGap:
			c.gap(ToClient, call.n, call.reason, call.t)
		case callFIN:
			c.fin(ToClient, call.t)
		}
	}
}
