package recorder

import "github.com/lambdac/lambdac/trace"

// ending is how a connection stood when an exchange on it was closed.
type ending struct {
	// known: one side has ended the connection; by is the side that did so
	// first, rst with a reset.
	known bool
	by    Dir
	rst   bool
	at    int64
}

// outcome is the one word for how the exchange ended (trace.md §7). The order
// matters: a status that was seen is believed before anything is said about
// the capture, a hole before anything is said about the service.
func (e *exchange) outcome(end ending) (trace.Outcome, trace.OutcomeDetail) {
	switch {
	case e.lateJoin:
		return trace.OutcomeCutByCapture, trace.DetailLateJoin
	case e.veiled:
		return trace.OutcomeCutByCapture, e.veilWhy
	case e.status == 0 && !e.resp.whole():
		return trace.OutcomeUnknown, ""
	case e.status >= 400:
		return trace.OutcomeHTTPError, ""
	case e.grpc.failed() && e.grpc.lone:
		return trace.OutcomeHTTPError, ""
	case e.errorSeen() || e.grpc.failed():
		return trace.OutcomeErrorInStream, ""
	case e.capLost, e.resp.capped && e.answer != nil && !e.answer.wire.Ended():
		return trace.OutcomeCutByCapture, trace.DetailCap
	case e.gaps > 0:
		return trace.OutcomeCutByCapture, trace.DetailGap
	case e.fault != "" && !(e.reqDone && e.respDone):
		return trace.OutcomeCutByCapture, ""
	case e.respDone && e.status == 0: // an answer without a status is none
		return trace.OutcomeUnknown, ""
	case e.gone(end):
		return trace.OutcomeClientAbort, trace.DetailRecorded
	case e.missed():
		return trace.OutcomeCutByCapture, trace.DetailCap
	case e.ended():
		return e.full(), ""
	case e.respDone && e.stream() && !e.answer.wire.Marked():
		return e.full(), ""
	case e.respDone && e.stream():
		return trace.OutcomeServerAbort, trace.DetailFIN
	case e.respDone && e.grpc.unmarked():
		return trace.OutcomeServerAbort, trace.DetailFIN
	case e.respDone && e.wire != nil && e.wire.Idle():
		return trace.OutcomeEmptyStream, ""
	case e.respDone:
		return trace.OutcomeOK, ""
	}
	if e.unsure {
		return trace.OutcomeCutByCapture, trace.DetailGap
	}
	return cutOff(end)
}

// cutOff is the outcome of an answer that is not complete.
func cutOff(end ending) (trace.Outcome, trace.OutcomeDetail) {
	switch {
	case !end.known:
		return trace.OutcomeCutByCapture, trace.DetailRecorderStop
	case end.by == ToServer:
		return trace.OutcomeClientAbort, trace.DetailRecorded
	case end.rst:
		return trace.OutcomeServerAbort, trace.DetailRST
	default:
		return trace.OutcomeServerAbort, trace.DetailFIN
	}
}

// gone reports whether the client had left before the answer was complete,
// though the answer was sent to its end. A client that only closed its sending
// half goes on acknowledging; of one that has gone the system answers with a
// reset, which may come after the connection was closed for us.
func (e *exchange) gone(end ending) bool { return e.after(end) && !e.c.reads() }

// after reports whether the answer became complete only after the client had
// ended its side.
func (e *exchange) after(end ending) bool {
	if !end.known || end.by != ToServer {
		return false
	}
	if e.ended() {
		return e.answer.endedAt > end.at
	}
	return e.respLast > end.at
}

// stream reports whether the answer is a stream whose end mark is known.
func (e *exchange) stream() bool {
	return e.answer != nil && e.kind != trace.KindOther && !e.resp.undecoded()
}

// ended reports whether a stream has said that it is complete.
func (e *exchange) ended() bool { return e.stream() && e.answer.wire.Ended() }

// missed reports whether an event that was too long to be read may have held
// what a complete answer lacks: its output, or its end mark.
func (e *exchange) missed() bool {
	if !e.stream() || e.answer.tooLong == 0 {
		return false
	}
	return e.ended() && e.full() != trace.OutcomeOK || e.respDone && !e.ended()
}

// full tells an answer from an empty one. Tokens that the service counted are
// output, even where no text came of them.
func (e *exchange) full() trace.Outcome {
	if e.answer.wire.Generated() || e.r.OutputTokens != nil && *e.r.OutputTokens > 0 {
		return trace.OutcomeOK
	}
	return trace.OutcomeEmptyStream
}

func (e *exchange) errorSeen() bool {
	return e.wire != nil && e.wire.ErrorSeen()
}
