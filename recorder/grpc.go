package recorder

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/trace"
)

// grpcCall is what HTTP does not say of a gRPC call: how it ended
// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
type grpcCall struct {
	// status is grpc-status; -1 = none was seen.
	status int32
	// lone: the answer is nothing but a head.
	lone bool
}

func newGRPCCall() *grpcCall { return &grpcCall{status: -1} }

// isGRPC tells gRPC by its content type, which may name a message format.
func isGRPC(contentType string) bool {
	rest, ok := strings.CutPrefix(contentType, "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// failed reports whether the call ended with an error.
func (g *grpcCall) failed() bool { return g != nil && g.status > 0 }

// unmarked reports whether the call ended without saying how.
func (g *grpcCall) unmarked() bool { return g != nil && g.status < 0 }

// read takes the status from a trailer, or from the head of an answer that has
// no other. The message beside it is left alone.
func (g *grpcCall) read(fields []trace.Field) {
	if n, err := strconv.ParseUint(fieldValue(fields, "grpc-status"), 10, 16); err == nil {
		g.status = int32(n)
	}
}

// say writes the status as the error that it is.
func (g *grpcCall) say(said *trace.Said) {
	if g.failed() {
		said.ErrorType, said.ErrorCode = "grpc", strconv.Itoa(int(g.status))
	}
}

// answerTrailer takes the fields behind an answer.
func (e *exchange) answerTrailer(h *head) {
	e.x.RespTrailer = h.fields
	e.rec.flag(h)
	if e.grpc != nil {
		e.grpc.read(h.fields)
	}
}

// loneHead: nothing follows the head of the answer. A server that refuses a
// call at once may leave its content type out.
func (e *exchange) loneHead() {
	fields := e.x.RespHeader
	if e.grpc == nil && isGRPC(fieldValue(e.x.ReqHeader, "content-type")) && fieldValue(fields, "grpc-status") != "" {
		e.grpc = newGRPCCall()
	}
	if e.grpc != nil {
		e.grpc.lone = true
		e.grpc.read(fields)
	}
}

// grpcPrefix is the length of what is before each message: a flag and a size.
const grpcPrefix = 5

// grpcMessages cuts a gRPC body into messages, of which only the sizes are kept.
type grpcMessages struct {
	prefix [grpcPrefix]byte
	n      int   // bytes of the prefix
	size   int64 // of the message under way
	left   int64 // of it
	// lost: bytes are missing, so nobody knows where the next message begins.
	lost bool
}

// feed takes the next bytes and calls emit with the size of each message that
// they complete.
func (m *grpcMessages) feed(p []byte, emit func(size int64)) {
	for len(p) > 0 && !m.lost {
		if m.n < grpcPrefix {
			n := copy(m.prefix[m.n:], p)
			m.n += n
			p = p[n:]
			if m.n < grpcPrefix {
				return
			}
			m.size = int64(binary.BigEndian.Uint32(m.prefix[1:]))
			m.left = m.size
			m.lost = m.prefix[0]&^1 != 0
		}
		n := min(int64(len(p)), m.left)
		p = p[n:]
		if m.left -= n; m.left == 0 && !m.lost {
			m.n = 0
			emit(m.size)
		}
	}
}

// newMessageAnswer follows an answer of which every message is an event.
func newMessageAnswer(start int64) *answer {
	return &answer{
		wire: llmwire.NewAnswer(trace.KindOther), messages: &grpcMessages{}, start: start,
		firstEvent: -1, firstToken: -1, firstVisible: -1, lastToken: -1, maxGap: -1,
	}
}

// message takes one message.
func (a *answer) message(size int64) {
	at := max(0, (a.now-a.start)/1000)
	var flags trace.ChunkFlags
	if a.delivery == a.before {
		flags |= trace.FlagCoalesced
	}
	a.before = a.delivery
	a.events++
	if a.firstEvent < 0 {
		a.firstEvent = at
	}
	a.log.add(at, trace.ChunkOther, clampSize(int(size)), nil, flags)
}
