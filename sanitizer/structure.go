package sanitizer

import (
	"errors"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/trace"
)

// cacheSalt is the body member by which vLLM keeps prefix caches apart.
const cacheSalt = "cache_salt"

// structure reduces the request's body to block ids and says what became of
// the bodies. Ids are known for whole requests only: those of a part would
// claim to be all of it.
func (s *Sanitizer) structure(x *trace.Exchange) {
	rec := x.Record
	unparsable := rec.BodyState == trace.BodyDroppedUnparsable
	rec.BodyState = trace.BodyDroppedPolicy
	cutRequest := x.ReqBodyCut > 0 || !rec.ReqComplete
	if len(x.ReqBody) == 0 && rec.ReqWireBytes > 0 && !cutRequest {
		s.refuse(&bodyError{reason: refusedCoding}) // what came could not be decoded
		unparsable = true
	}
	if rec.APIKind != trace.KindOther && len(x.ReqBody) > 0 && !cutRequest {
		unparsable = !s.chainRequest(x) || unparsable
	}
	switch {
	case cutRequest, x.RespBodyCut > 0, !rec.RespComplete:
		rec.BodyState = trace.BodyDroppedTruncated
	case unparsable:
		rec.BodyState = trace.BodyDroppedUnparsable
	}
}

// chainRequest sets the prefix block ids and, where the traffic names no
// session, the session by content. It reports false where the body cannot be
// read.
func (s *Sanitizer) chainRequest(x *trace.Exchange) bool {
	rec := x.Record
	s.chain.start(s.keys.sum("chain", x.Said.RequestModel, s.salt))
	err := llmwire.VisitText(rec.APIKind, x.ReqBody, s.chain.add)
	ids := s.chain.finish()
	if err != nil {
		s.refuse(unread(err))
		return false
	}
	if s.chain.texts == 0 && rec.MessageCount == nil {
		return true // a family whose texts are not read
	}
	rec.PrefixBlockSize = new(int32(blockBytes))
	rec.PrefixBlockUnit = new(trace.UnitByte)
	rec.PrefixBlockIDs = ids
	if rec.SessionID == nil && rec.APIKind != trace.KindOpenAIEmbeddings {
		s.sessions.implicit(rec, s.chain)
	}
	return true
}

// unread says where a request stopped being JSON.
func unread(err error) error {
	e := &bodyError{reason: refusedSyntax}
	if syntax, ok := errors.AsType[*llmwire.SyntaxError](err); ok {
		e.offset = syntax.Offset
	}
	return e
}
