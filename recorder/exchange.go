package recorder

import (
	"cmp"
	"strings"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/trace"
)

// exchange is one exchange under way.
type exchange struct {
	rec *recording
	c   *conn
	x   *trace.Exchange
	r   *trace.Record

	start int64 // first request byte, Unix ns; late join: first byte seen
	// Unix ns, 0 = not seen. reqLast and respLast are the last bytes so far.
	reqLast, reqEnd, headEnd, respLast int64

	kind    trace.APIKind
	req     body
	resp    body
	opening llmwire.Opening   // how the answer's body is framed
	answer  *answer           // a stream
	wire    *llmwire.Answer   // that of answer, or of a JSON body
	now     int64             // time of the packet being read
	takeRq  func([]byte) bool // e.takeRequest, made once
	takeRs  func([]byte) bool

	status  int
	version string
	reqDone bool
	// respDone: the answer is complete by its framing.
	respDone, lateJoin bool
	// refused: the body was announced and left out because of the answer.
	refused bool
	// first: no exchange came before on this connection.
	first   bool
	gaps    int64
	heads   int64 // bytes of header held, and of itself where it is piled
	piled   bool  // it waits among many of its connection
	event   int64 // bytes held of the answer's event under way
	lostReq int64
	capLost bool   // a hole was made by the reassembler's limit
	fault   string // why a message could not be followed
	// veiled: a header field could not be read; veilWhy is the reason.
	veiled  bool
	veilWhy trace.OutcomeDetail
	grpc    *grpcCall
	// unsure: bytes are lost in which the client may have given it up.
	unsure bool
	done   bool
}

// header takes the head of the request.
func (e *exchange) header(h *head, cut bool, t int64) {
	e.x.Method, e.x.Target = h.method, h.target
	e.x.ReqHeader = e.admitHead(h)
	e.reqLast, e.version = t, h.version()
	e.req.open(&h.frame)
	e.rec.flag(h)
	if cut {
		e.c.asking = nil
	}
}

// admitHead charges a head to what all exchanges may hold. Where that is used up
// the fields are left out; method, status and the front of the target are kept.
func (e *exchange) admitHead(h *head) []trace.Field {
	cost := int64(len(h.target))
	for _, f := range h.fields {
		cost += int64(len(f.Name) + len(f.Value) + fieldCost)
	}
	if cost > e.rec.room() {
		h.cut += cost - int64(min(len(h.target), framingRoom))
		if len(h.target) > framingRoom {
			e.x.Target = strings.Clone(h.target[:framingRoom])
		}
		return nil
	}
	e.rec.admit(e, cost)
	return h.fields
}

// requestBody takes a part of the request's body, framing taken off.
func (e *exchange) requestBody(b []byte, t int64) {
	e.reqLast = t
	e.req.take(b, e.takeRq)
}

// answerBody takes a part of the answer's body, framing taken off.
func (e *exchange) answerBody(b []byte, t int64) {
	e.now, e.respLast = t, t
	e.resp.take(b, e.takeRs)
}

// lose accounts for n lost bytes of a body. sure: they are known to be of it.
func (e *exchange) lose(d Dir, n int64, sure bool) {
	b := &e.resp
	if d == ToServer {
		b = &e.req
		e.lostReq += n
		b.hole(n)
	} else {
		e.answerHole(n)
	}
	if sure {
		b.wire += n
	}
}

// tear says that a part of a message may be missing, of a size that nobody
// knows.
func (e *exchange) tear(d Dir) {
	if d == ToServer {
		e.req.tear()
		return
	}
	e.readable(e.opening.Rest())
	e.resp.tear()
	if e.answer != nil {
		e.answer.hole()
	}
}

// doneIn reports whether the message of a direction is complete.
func (e *exchange) doneIn(d Dir) bool {
	return d == ToServer && e.reqDone || d == ToClient && e.respDone
}

// seenLast: framing of a message came at t.
func (e *exchange) seenLast(d Dir, t int64) {
	if d == ToServer {
		e.reqLast = t
		return
	}
	e.respLast = t
}

// veil says that a header field could not be read, and why.
func (e *exchange) veil(why trace.OutcomeDetail) { e.veiled, e.veilWhy = true, why }

func (e *exchange) takeRequest(p []byte) bool {
	p = e.req.admit(p, e.rec.cfg.bodyCap())
	e.keep(&e.req, p)
	return !e.req.capped
}

// keep holds a part of a body, within the cap and within what all bodies
// together may take. No memory is reserved for what is only announced.
func (e *exchange) keep(b *body, p []byte) {
	room := min(e.rec.cfg.bodyCap()-int64(len(b.data)), e.rec.room())
	n := max(0, min(int64(len(p)), room))
	b.cut += int64(len(p)) - n
	if n == 0 {
		return
	}
	before := cap(b.data)
	b.data = append(b.data, p[:n]...)
	e.rec.held += int64(cap(b.data) - before)
}

// endRequest reads the request once its last byte is there.
func (e *exchange) endRequest(t int64) {
	e.reqDone, e.reqEnd = true, t
	e.recognize()
}

// recognize decides the API family, by what is there of the request.
func (e *exchange) recognize() {
	if e.kind == "" || e.kind == trace.KindOther && e.answer == nil {
		path, _, _ := strings.Cut(e.x.Target, "?")
		e.kind = llmwire.RecognizeBy(e.rec.cfg.Rules, e.x.Method, path, e.req.data)
	}
}

// answerHead takes the head of the final answer.
func (e *exchange) answerHead(h *head, t int64) {
	e.status, e.version, e.x.RespHeader = h.status, h.version(), e.admitHead(h)
	e.headEnd, e.respLast = t, t
	e.resp.open(&h.frame)
	e.rec.flag(h)
	if e.kind == "" {
		e.recognize()
	}
	if h.h2 && isGRPC(fieldValue(h.fields, "content-type")) {
		e.grpc = newGRPCCall()
		e.answer = newMessageAnswer(e.start)
		return
	}
	path, _, _ := strings.Cut(e.x.Target, "?")
	e.opening = llmwire.NewOpening(e.kind, llmwire.AnswerFraming(e.kind, path, fieldValue(h.fields, "content-type")))
	e.frameAnswer()
}

// answerHole: n bytes of the answer are lost.
func (e *exchange) answerHole(n int64) {
	e.readable(e.opening.Rest())
	e.resp.hole(n)
	if e.answer != nil {
		e.answer.hole()
	}
}

// holed accounts for a hole in one of the messages.
func (e *exchange) holed(h hole) {
	e.gaps += h.gaps
	e.resp.lost += h.bytes
	e.capLost = e.capLost || h.capped
}

// finish closes the exchange and hands it to the sink.
func (e *exchange) finish(end ending) {
	if e.done {
		return
	}
	e.done = true
	e.unheard()
	e.readable(e.opening.Rest())
	if e.answer != nil {
		e.answer.close()
		e.gaps += e.answer.damaged
	}
	e.closeBody(&e.req)
	e.closeBody(&e.resp)
	e.readRequest()
	e.readAnswer()
	e.fillTimes()
	e.fillSizes()
	e.r.SetOutcome(e.outcome(end))
	e.fillBodies()
	e.rec.take(e)
}

// unheard: what could not be decrypted says nothing of the service.
func (e *exchange) unheard() {
	if e.c.deaf == [2]bool{} || e.reqDone && e.respDone {
		return
	}
	if e.fault == "" {
		e.fault = faultTLS
	}
	if e.c.deafHole {
		e.gaps++
	}
}

// closeBody ends the decoding of a body and counts what was wrong with it.
func (e *exchange) closeBody(b *body) {
	if b.dec == nil {
		return
	}
	b.dec.close()
	if b.dec.failed {
		e.rec.acct.fault("content_coding")
	}
	if b.dec.trailing > 0 {
		e.rec.acct.fault("bytes_after_coded_body")
	}
}

func (e *exchange) readRequest() {
	e.recognize()
	e.r.APIKind = e.kind
	if e.kind == trace.KindOther || len(e.req.data) == 0 {
		e.r.Stream = e.answer != nil // the request does not tell; the answer does
		return
	}
	if e.lostReq > 0 || e.req.torn { // a hole in a text leaves JSON that parses, to wrong numbers
		e.r.Stream = e.answer != nil
		return
	}
	path, _, _ := strings.Cut(e.x.Target, "?")
	if err := llmwire.ParseRequest(e.kind, path, e.req.data, e.r, &e.x.Said); err != nil {
		e.rec.acct.fault("request_body")
		e.r.Stream = e.r.Stream || e.answer != nil
	}
}

func (e *exchange) readAnswer() {
	e.r.TokenSource = trace.TokensNone
	if e.answer == nil && e.kind != trace.KindOther && len(e.resp.data) > 0 && e.resp.whole() {
		e.wire = llmwire.NewAnswer(e.kind)
		// A body that is not the JSON it should be leaves its numbers unknown.
		if err := e.wire.Body(e.resp.data); err != nil && e.respDone {
			e.rec.acct.fault("answer_body")
		}
	}
	e.grpc.say(&e.x.Said)
	if e.wire != nil {
		e.wire.Head(func(name string) string {
			return cmp.Or(fieldValue(e.x.RespHeader, name), fieldValue(e.x.RespTrailer, name))
		})
		e.wire.Fill(e.r, e.x)
	}
}

// fillTimes writes the moments. Of an answer that was not streamed nobody could
// see the first token: its t_first_token, chunk_count and chunks stay NULL.
func (e *exchange) fillTimes() {
	r := e.r
	if !e.lateJoin {
		r.TSentUs = new(int64(0))
		if e.reqDone {
			r.TReqEndUs = e.offset(e.reqEnd)
		}
	}
	r.TRespHeadersUs = e.offset(e.headEnd)
	r.TEndUs = e.offset(e.respLast)
	if e.answer != nil {
		e.answer.fill(r)
		e.rec.acct.late += e.answer.late
		if e.answer.log.over {
			e.rec.acct.fault("chunk_limit")
		}
	}
	if ns := e.c.connectNs(); ns != nil && e.first {
		r.TConnUs = new(*ns / 1000)
	}
	if ns := e.c.info.AcceptNs; ns != nil && e.first {
		r.TAcceptUs = new(*ns / 1000)
	}
	switch {
	case !e.first:
		r.ConnReused = new(true)
	case e.c.info.SawSYN:
		r.ConnReused = new(false)
	}
}

// offset is a moment in µs since start; nil where it was not seen.
func (e *exchange) offset(t int64) *int64 {
	if t == 0 {
		return nil
	}
	return new(max(0, (t-e.start)/1000))
}

func (e *exchange) fillSizes() {
	r := e.r
	r.ReqWireBytes, r.ReqBodyBytes = e.req.wire, e.req.decoded
	r.RespWireBytes, r.RespBodyBytes = e.resp.wire, e.resp.decoded
	r.LostBytesReq, r.LostBytesResp, r.ReassemblyGaps = e.lostReq, e.resp.lost, e.gaps
	r.ReqComplete = (e.reqDone || e.refused) && e.lostReq == 0 && !e.req.torn && e.fault == "" && !e.lateJoin
	r.RespComplete = e.respDone && e.resp.whole() && !e.lateJoin
	if e.resp.coding != "" {
		r.ContentEncoding = &e.resp.coding
	}
	if e.status != 0 {
		r.StatusCode = new(int32(e.status))
	}
	r.HTTPVersion = e.version
}

// fillBodies hands the bodies over. The text of an answer that was read is
// kept only where someone asked for it.
func (e *exchange) fillBodies() {
	e.x.ReqBody, e.x.ReqBodyCut = e.req.data, e.req.cut
	e.x.RespBodyCut += e.resp.cut
	if e.rec.cfg.KeepText {
		e.x.RespBody = e.resp.data
	} else {
		e.x.Answer = nil
	}
}
