package fault

import (
	"bytes"
	"io"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/internal/sse"
	"github.com/lambdac/lambdac/trace"
)

// after is the parameter of faults that strike within a stream.
func after(def, about string) param {
	return param{name: "after", unit: unitCount, def: def, about: about}
}

var stall = kind{
	layer: Generation, name: "stall",
	about: "the stream stands still for a time, and goes on; an answer in one piece, at its half",
	params: []param{
		after("5", "events before it"),
		{name: "pause", unit: unitDuration, def: "5s", about: "how long it stands"},
	},
	make: func(s *Spec) action {
		n, pause := s.count("after"), s.duration("pause")
		return changeEvents(func(c *call) edit {
			return edit{
				event: func(b *eventBody, _ sse.Event, raw []byte) {
					if b.seen == n {
						c.acted()
						b.pause(pause)
					}
					b.pass(raw)
				},
				whole: func(b *eventBody, body []byte) {
					c.acted()
					b.pass(body[:len(body)/2])
					b.pause(pause)
					b.pass(body[len(body)/2:])
				},
			}
		})
	},
}

var cut = kind{
	layer: Generation, name: "cut",
	about:  "the connection closes within the stream; an answer in one piece, at its half",
	params: []param{after("5", "events before it")},
	make: func(s *Spec) action {
		return strike(s.count("after"), func(c *call, b *eventBody, _ []byte) {
			c.acted()
			b.end(io.ErrUnexpectedEOF)
		}, func(c *call, b *eventBody, body []byte) {
			c.acted()
			b.pass(body[:len(body)/2])
			b.end(io.ErrUnexpectedEOF)
		})
	},
}

var duplicateEvent = kind{
	layer: Generation, name: "duplicate-event",
	about:  "one event comes twice",
	params: []param{after("5", "events before it")},
	make: func(s *Spec) action {
		return strike(s.count("after"), func(c *call, b *eventBody, raw []byte) {
			c.acted()
			b.pass(raw)
			b.pass(raw)
		}, nil)
	},
}

var badJSON = kind{
	layer: Generation, name: "bad-json",
	about:  "one event is no JSON: its last bracket is gone; an answer in one piece likewise",
	params: []param{after("5", "events before it")},
	make: func(s *Spec) action {
		unclose := func(c *call, b *eventBody, raw []byte) {
			at := bytes.LastIndexAny(raw, "}]")
			if at < 0 || b.framing == llmwire.FramingEventStream { // its sum would not fit
				b.pass(raw)
				return
			}
			c.acted()
			raw = bytes.Clone(raw)
			raw[at] = ' ' // as long as before
			b.pass(raw)
		}
		return strike(s.count("after"), unclose, unclose)
	},
}

// strike lets a fault act on the event behind the n-th.
func strike(n int, event, whole func(c *call, b *eventBody, raw []byte)) action {
	return changeEvents(func(c *call) edit {
		e := edit{event: func(b *eventBody, _ sse.Event, raw []byte) {
			if b.seen == n {
				event(c, b, raw)
			} else {
				b.pass(raw)
			}
		}}
		if whole != nil {
			e.whole = func(b *eventBody, body []byte) { whole(c, b, body) }
		}
		return e
	})
}

var errorEvent = kind{
	layer: Generation, name: "error-event",
	about:  "the stream, begun with status 200, ends in an error event; an answer in one piece is an error object",
	params: []param{after("5", "events before it")},
	make: func(s *Spec) action {
		return strike(s.count("after"), func(c *call, b *eventBody, raw []byte) {
			event := failure(c.x.Kind, b.framing)
			if event == nil {
				b.pass(raw)
				return
			}
			c.acted()
			b.pass(event)
			b.end(io.EOF)
		}, func(c *call, b *eventBody, _ []byte) {
			c.acted()
			b.pass([]byte(errorObject("server_error")))
		})
	},
}

// failure is the event by which a service of a family says that it failed; nil
// for binary messages and for elements of an array, which need what came before.
func failure(kind trace.APIKind, framing llmwire.Framing) []byte {
	object := []byte(errorObject("server_error"))
	switch {
	case framing == llmwire.FramingSSE && kind == trace.KindAnthropicMessages:
		return sse.AppendEvent(nil, "error", []byte(`{"type":"error","error":{"type":"api_error","message":"injected fault"}}`))
	case framing == llmwire.FramingSSE:
		return sse.AppendEvent(nil, "", object)
	case framing == llmwire.FramingLines:
		return append(object, '\n')
	}
	return nil
}

var noEnd = kind{
	layer: Generation, name: "no-end",
	about: "the stream ends in order, but without finish reason, usage and end mark",
	make: func(*Spec) action {
		return changeEvents(func(c *call) edit {
			answer := llmwire.NewAnswer(c.x.Kind)
			return edit{event: func(b *eventBody, e sse.Event, raw []byte) {
				answer.Event(e.Name, e.Data)
				if answer.Ended() {
					c.acted()
					b.end(io.EOF)
					return
				}
				b.pass(raw)
			}}
		})
	},
}
