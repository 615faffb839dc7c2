package fault

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/internal/sse"
)

// edit is what a fault of generation does with an answer.
type edit struct {
	// event is called with each event of a stream and the bytes that it stood in.
	event func(b *eventBody, e sse.Event, raw []byte)
	// whole is called with an answer in one piece; nil = such are left alone.
	whole func(b *eventBody, body []byte)
}

// changeEvents changes the events of answers.
func changeEvents(make func(c *call) edit) action {
	return func(c *call, next sender) (*http.Response, error) {
		c.plainly()
		resp, err := next()
		if err != nil || !readable(resp) {
			return resp, err
		}
		framing := llmwire.AnswerFraming(c.x.Kind, c.x.Path, resp.Header.Get("Content-Type"))
		b := &eventBody{
			c: c, ctx: c.ctx, body: resp.Body, framing: framing, edit: make(c),
			opening: llmwire.NewOpening(c.x.Kind, framing),
		}
		// What is read may be longer or shorter than what was sent.
		resp.Body, resp.ContentLength, resp.TransferEncoding = b, -1, []string{"chunked"}
		resp.Header.Del("Content-Length")
		return resp, nil
	}
}

// eventBody is a body that passes through an edit, event by event. What is in
// the middle of an event waits for its end.
type eventBody struct {
	c       *call
	ctx     context.Context
	body    io.ReadCloser
	framing llmwire.Framing
	opening llmwire.Opening
	reader  llmwire.EventReader
	edit    edit

	buf   []byte
	raw   []byte // read, and not passed yet
	start int64  // of raw in the stream
	seen  int    // events so far, comments not counted
	out   []piece
	shut  bool // nothing more passes
	whole []byte
}

// piece is what is to be read next: after a pause, bytes or an end.
type piece struct {
	pause time.Duration
	data  []byte
	err   error
}

func (b *eventBody) Close() error { return b.body.Close() }

func (b *eventBody) Read(p []byte) (int, error) {
	for {
		for len(b.out) > 0 {
			next := &b.out[0]
			if d := next.pause; d > 0 {
				next.pause = 0
				if err := wait(b.ctx, d); err != nil {
					return 0, err
				}
			}
			if len(next.data) > 0 {
				n := copy(p, next.data)
				next.data = next.data[n:]
				return n, nil
			}
			if next.err != nil {
				return 0, next.err // stays
			}
			b.out = b.out[1:]
		}
		if len(p) == 0 {
			return 0, nil
		}
		b.fill()
	}
}

// fill reads once from the service. All that came before has been read.
func (b *eventBody) fill() {
	if b.buf == nil {
		b.buf = make([]byte, 16<<10)
	}
	n, err := b.body.Read(b.buf)
	b.take(b.opening.Feed(b.buf[:n]))
	if err == nil {
		return
	}
	b.take(b.opening.Rest())
	if err == io.EOF {
		b.finish()
	} else {
		b.pass(b.raw)
	}
	b.end(err)
}

func (b *eventBody) take(p []byte) {
	if len(p) == 0 || b.shut {
		return
	}
	b.framing = b.opening.Framing()
	if !b.framing.Streams() {
		if b.edit.whole == nil || b.framing != llmwire.FramingJSON || len(b.whole)+len(p) > maxBody {
			b.pass(b.whole)
			b.pass(p)
			b.whole, b.edit.whole = nil, nil
			return
		}
		b.whole = append(b.whole, p...)
		return
	}
	if b.reader == nil {
		b.reader = b.framing.Reader(maxBody, false)
	}
	b.raw = append(b.raw, p...)
	b.reader.Feed(p, b.event)
}

// finish handles the end of a complete body.
func (b *eventBody) finish() {
	switch {
	case b.shut:
	case b.reader != nil:
		b.reader.Close(b.event)
		b.pass(b.raw)
	case b.edit.whole != nil && len(b.whole) > 0:
		b.edit.whole(b, b.whole)
	}
}

func (b *eventBody) event(e sse.Event) {
	n := e.End - b.start
	raw := b.raw[:n:n]
	if e.Comment && bytes.TrimLeft(raw, "\r\n")[0] != ':' {
		return // within an event: it passes with that
	}
	b.raw, b.start = b.raw[n:], e.End
	if b.shut {
		return
	}
	if e.Comment {
		b.pass(raw)
		return
	}
	b.edit.event(b, e, raw)
	b.seen++
}

// pass hands bytes on.
func (b *eventBody) pass(data []byte) {
	if len(data) > 0 && !b.shut {
		b.out = append(b.out, piece{data: data})
	}
}

// pause lets what comes next wait.
func (b *eventBody) pause(d time.Duration) { b.out = append(b.out, piece{pause: d}) }

// end ends the body: well with [io.EOF].
func (b *eventBody) end(err error) {
	if !b.shut {
		b.shut = true
		b.out = append(b.out, piece{err: err})
	}
}
