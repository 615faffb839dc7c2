package replayer

import (
	"errors"
	"net"
	"syscall"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/trace"
)

// Error types that we give, where the service said nothing itself.
const (
	errorRedirect = "redirect"      // status below 400 that sends us elsewhere
	errorUpgrade  = "upgrade"       // 101: another protocol that was not asked for
	errorNotJSON  = "not_json"      // an answer that is not what the API promises
	errorNotRead  = "coded_content" // a content coding that was not asked for
)

// failed judges an exchange that has no answer head.
func (x *exchange) failed(err error) {
	r := x.rec
	if _, answered := x.firstByte.get(); answered && x.ctx.Err() == nil {
		r.SetOutcome(trace.OutcomeServerAbort, abortDetail(err))
		return
	}
	switch {
	case x.ctx.Err() != nil:
		r.SetOutcome(cutOutcome(x.ctx))
	case ownFault(err):
		r.SetOutcome(trace.OutcomeNotSent, trace.DetailClientFault)
	case dialTimedOut(err):
		r.SetOutcome(trace.OutcomeTimeout, trace.DetailTTFT)
	default:
		r.SetOutcome(trace.OutcomeConnError, x.connDetail(err))
	}
}

// connDetail tells why there was no answer at all.
func (x *exchange) connDetail(err error) trace.OutcomeDetail {
	var dns *net.DNSError
	_, connected := x.gotConn.get()
	switch {
	case errors.As(err, &dns):
		return trace.DetailDNS
	case x.tlsFailed.Load():
		return trace.DetailTLS
	case errors.Is(err, syscall.ECONNREFUSED):
		return trace.DetailRefused
	case connected && x.reused.Load():
		return trace.DetailResetReused
	case connected || errors.Is(err, syscall.ECONNRESET):
		return trace.DetailReset
	default:
		return ""
	}
}

// ownFault reports whether this machine ran out of something.
func ownFault(err error) bool {
	for _, e := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func dialTimedOut(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

func abortDetail(err error) trace.OutcomeDetail {
	if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return trace.DetailRST
	}
	return trace.DetailFIN
}

// judge sets usage and outcome of an exchange that has an answer; err is what
// ended its body early.
func (x *exchange) judge(err error) {
	r, s := x.rec, &x.stream
	var parsed error
	if s.framing == llmwire.FramingJSON && err == nil {
		parsed = s.parse()
	}
	var said trace.Exchange
	s.answer.Fill(r, &said)
	fillSaid(r, &said.Said)
	if x.it.probe != nil || x.it.looked {
		x.texts = said.Answer
	}
	r.RespComplete = err == nil && s.cut == 0
	status := *r.StatusCode
	streamed := s.reader != nil
	switch {
	case status >= 400:
		r.SetOutcome(trace.OutcomeHTTPError, "")
	case status >= 300:
		x.broken(errorRedirect)
	case status < 200:
		x.broken(errorUpgrade)
	case s.answer.ErrorSeen():
		r.SetOutcome(trace.OutcomeErrorInStream, "")
	case streamed && s.answer.Ended():
		// What follows the end mark changes nothing, nor does its absence.
		r.SetOutcome(endedOutcome(s.answer.Generated()), "")
	case err != nil && x.ctx.Err() != nil:
		r.SetOutcome(cutOutcome(x.ctx))
	case err != nil:
		r.SetOutcome(trace.OutcomeServerAbort, abortDetail(err))
	case streamed && !s.answer.Marked():
		r.SetOutcome(endedOutcome(s.answer.Generated()), "")
	case streamed:
		r.SetOutcome(trace.OutcomeServerAbort, trace.DetailFIN)
	case parsed != nil:
		x.broken(errorNotJSON)
	default:
		x.opaque()
	}
}

// opaque judges a complete body that was not a stream: one that nobody could
// read is no answer.
func (x *exchange) opaque() {
	switch {
	case x.rec.ContentEncoding != nil:
		x.broken(errorNotRead)
	case x.stream.framing == llmwire.FramingOpaque:
		x.broken(errorNotJSON)
	case x.stream.answer.Idle():
		x.rec.SetOutcome(trace.OutcomeEmptyStream, "")
	default:
		x.rec.SetOutcome(trace.OutcomeOK, "")
	}
}

// broken marks an answer below 400 that is no answer; the schema has
// http_error for 400 and above only.
func (x *exchange) broken(why string) {
	x.rec.SetOutcome(trace.OutcomeErrorInStream, "")
	if x.rec.ErrorType == nil {
		x.rec.ErrorType = new(why)
	}
}

func endedOutcome(generated bool) trace.Outcome {
	if generated {
		return trace.OutcomeOK
	}
	return trace.OutcomeEmptyStream
}

// fillSaid copies what the service said in words. None of it came from
// production: the target answers to our filler.
func fillSaid(r *trace.Record, said *trace.Said) {
	set := func(dst **string, v string) {
		if v != "" {
			*dst = new(short(v))
		}
	}
	set(&r.ResponseModel, said.ResponseModel)
	set(&r.ErrorType, said.ErrorType)
	set(&r.ErrorCode, said.ErrorCode)
	set(&r.ServiceTier, said.ServiceTier)
	for _, reason := range said.FinishReasons {
		r.FinishReasons = append(r.FinishReasons, short(reason))
	}
}
