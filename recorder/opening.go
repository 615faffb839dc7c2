package recorder

import "github.com/lambdac/lambdac/trace"

// frameAnswer prepares for an answer that is framed as its opening says.
func (e *exchange) frameAnswer() {
	framing := e.opening.Framing()
	if !framing.Streams() {
		e.answer, e.wire = nil, nil
		return
	}
	e.answer = newAnswer(e.kind, framing, e.start, int(e.rec.cfg.bodyCap()))
	e.wire = e.answer.wire
}

// expansion is by how much a stream may be larger than what was sent of it,
// beyond the cap of a body: texts shrink to a tenth, a bomb to a thousandth.
const expansion = 64

func (e *exchange) takeAnswer(p []byte) bool {
	limit := e.rec.cfg.bodyCap()
	if e.answer != nil { // whose events are not kept
		limit += expansion * e.resp.wire
	}
	p = e.resp.admit(p, limit)
	declared := e.opening.Framing()
	p = e.opening.Feed(p)
	if e.opening.Framing() != declared {
		e.frameAnswer()
	}
	e.readable(p)
	return !e.resp.capped
}

// readable takes decoded bytes of the answer whose framing is known.
func (e *exchange) readable(p []byte) {
	if len(p) == 0 {
		return
	}
	if e.answer != nil {
		e.answer.feed(p, e.now, e.c.delivery)
		e.chargeEvent()
	}
	if e.answer == nil && e.kind != trace.KindOther || e.kind == trace.KindOther && e.rec.cfg.KeepText {
		e.keep(&e.resp, p)
	}
}
