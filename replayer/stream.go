package replayer

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/internal/sse"
	"github.com/lambdac/lambdac/trace"
)

// bodyCap bounds what is kept of an answer that is one JSON text.
const bodyCap = 16 << 20

// stream reads one answer's body and stamps its pieces. A piece has the time
// at which the Read returned that brought its last byte, taken before anything
// is parsed.
type stream struct {
	x       *exchange
	answer  *llmwire.Answer
	opening llmwire.Opening
	framing llmwire.Framing     // as far as is known
	reader  llmwire.EventReader // nil unless it comes in events

	bytes int64
	whole []byte // the body, where it is one JSON text
	cut   int64  // bytes of it over the cap

	chunks    []trace.Chunk
	nowUs     int64 // the stamp of the Read in hand
	prevUs    int64 // of the piece before
	inRead    int   // pieces in this Read so far
	events    int32
	counted   int32 // pieces with output
	lastToken int64
	maxGap    int64
	lost      int64 // events that could not be read
}

// roomForChunks is the most room that is made ahead for the pieces of a stream.
const roomForChunks = 256

// answers are used again: what they hold for reading JSON is worth keeping.
var answers = sync.Pool{New: func() any { return new(llmwire.Answer) }}

func newStream(x *exchange, opening llmwire.Opening) stream {
	s := stream{x: x, answer: answers.Get().(*llmwire.Answer), opening: opening}
	s.answer.Reset(x.it.src.APIKind)
	s.frame(opening.Framing())
	return s
}

// frame prepares for a body that is framed so.
func (s *stream) frame(framing llmwire.Framing) {
	s.framing, s.reader = framing, nil
	if !framing.Streams() {
		return
	}
	s.reader = framing.Reader(bodyCap, false)
	if limit := s.x.it.prompt.maxTokens; limit != nil && s.chunks == nil {
		s.chunks = make([]trace.Chunk, 0, min(int(*limit)+4, roomForChunks))
	}
}

// buffers are reused from stream to stream; an open one holds one.
var buffers = sync.Pool{New: func() any { return new([readBuffer]byte) }}

// run reads to the end; head is when the answer's head was there. The error is
// nil at a clean end. A body that ends with its connection (byClose) ended
// with its last byte, any other with its framing, which may come later.
func (s *stream) run(body io.Reader, head time.Duration, byClose bool) error {
	buf := buffers.Get().(*[readBuffer]byte)
	defer buffers.Put(buf)
	last := head
	for {
		n, err := body.Read(buf[:])
		now := s.x.now()
		if n > 0 {
			last = now
			s.take(buf[:n], now)
		}
		if err == nil {
			continue
		}
		s.close(last)
		if err != io.EOF {
			s.end(last)
			return err
		}
		if byClose {
			now = last
		}
		s.end(now)
		return nil
	}
}

// take parses the bytes of one Read.
func (s *stream) take(p []byte, now time.Duration) {
	before := s.counted
	s.bytes += int64(len(p))
	s.nowUs, s.inRead = now.Microseconds(), 0
	p = s.opening.Feed(p)
	if is := s.opening.Framing(); is != s.framing {
		s.frame(is)
	}
	s.readable(p)
	s.x.dog.heard(s.x.it.due.Add(now), s.counted > before)
}

// readable takes bytes whose framing is known.
func (s *stream) readable(p []byte) {
	switch {
	case s.reader != nil:
		s.reader.Feed(p, s.event)
	case s.framing == llmwire.FramingJSON:
		keep := min(len(p), bodyCap-len(s.whole))
		s.whole = append(s.whole, p[:keep]...)
		s.cut += int64(len(p) - keep)
	}
}

// close flushes an event that lacks its blank line.
func (s *stream) close(now time.Duration) {
	s.nowUs = now.Microseconds()
	s.readable(s.opening.Rest())
	if s.reader != nil {
		s.reader.Close(s.event)
	}
}

// event takes one event, line or comment.
func (s *stream) event(e sse.Event) {
	if e.Comment {
		s.piece(trace.Chunk{Kind: trace.ChunkComment, Bytes: int32(len(e.Data))})
		return
	}
	if e.Damaged || e.Cut > 0 || e.Partial && !whole(e.Data) {
		s.lost++ // what is left of it says nothing
		return
	}
	c := s.read(&e)
	s.piece(trace.Chunk{Kind: c.Kind, Bytes: c.Bytes, Tokens: c.Tokens})
	r := s.x.rec
	if s.events++; s.events == 1 {
		r.TFirstEventUs = new(s.nowUs)
	}
	if c.Late || !c.Counts {
		return
	}
	if c.Kind.Visible() && r.TFirstVisibleUs == nil {
		r.TFirstVisibleUs = new(s.nowUs)
	}
	if s.counted++; s.counted == 1 {
		r.TFirstTokenUs = new(s.nowUs)
	} else {
		s.maxGap = max(s.maxGap, s.nowUs-s.lastToken)
	}
	s.lastToken = s.nowUs
	s.x.giveUp(s.counted)
}

func (s *stream) read(e *sse.Event) llmwire.Chunk {
	if e.Exception {
		return s.answer.Exception(e.Name, e.Data)
	}
	return s.answer.Event(e.Name, e.Data)
}

// parse reads the body as one JSON text; one over the cap is only looked at.
func (s *stream) parse() error {
	if s.cut == 0 {
		return s.answer.Body(s.whole)
	}
	if text := bytes.TrimLeft(s.whole, " \t\r\n"); len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return errors.New("no JSON text")
	}
	return nil
}

// whole reports whether an event that the end of the stream cut off is all
// there.
func whole(data []byte) bool { return string(data) == "[DONE]" || json.Valid(data) }

// piece appends a chunk at the time of the Read in hand.
func (s *stream) piece(c trace.Chunk) {
	c.GapUs = s.nowUs - s.prevUs
	if s.inRead++; s.inRead > 1 {
		c.Flags |= trace.FlagCoalesced
	}
	s.prevUs = s.nowUs
	if len(s.chunks) < trace.MaxChunks {
		s.chunks = append(s.chunks, c)
	}
}

// end closes the record's times and counts.
func (s *stream) end(at time.Duration) {
	r := s.x.rec
	r.RespWireBytes, r.RespBodyBytes = s.bytes, s.bytes
	r.LostEvents = s.lost
	r.LostBytesResp = s.cut
	if s.reader != nil {
		r.LostBytesResp += s.reader.Dropped()
	}
	r.TEndUs = new(at.Microseconds())
	if s.reader == nil {
		return
	}
	r.Chunks = s.chunks
	if r.Chunks == nil {
		r.Chunks = []trace.Chunk{}
	}
	r.EventCount, r.ChunkCount = new(s.events), new(s.counted)
	if s.counted > 0 {
		r.TLastTokenUs = new(s.lastToken)
	}
	if s.counted > 1 {
		r.MaxGapUs = new(s.maxGap)
	}
}

// endsByClose reports whether the body ends where the connection does, so that
// its end says nothing about being complete.
func endsByClose(resp *http.Response) bool {
	return resp.ContentLength < 0 && len(resp.TransferEncoding) == 0
}
