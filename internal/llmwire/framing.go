package llmwire

import (
	"strings"

	"github.com/lambdac/lambdac/internal/sse"
	"github.com/lambdac/lambdac/trace"
)

// Framing is how an answer's body is cut into events.
type Framing uint8

const (
	// FramingJSON: one JSON text.
	FramingJSON Framing = iota
	// FramingSSE: an event stream.
	FramingSSE
	// FramingLines: one JSON text a line.
	FramingLines
	// FramingOpaque: bytes that are not read.
	FramingOpaque
	// FramingEventStream: binary messages of application/vnd.amazon.eventstream.
	FramingEventStream
	// FramingArray: one JSON array, an event an element.
	FramingArray
)

// AnswerFraming tells how to read an answer by its Content-Type and, where that
// is JSON for streams too, by the path of its request (without query). Where
// the Content-Type is missing, an answer of a known family is JSON.
func AnswerFraming(kind trace.APIKind, path, contentType string) Framing {
	media := mediaType(contentType)
	switch {
	case media == "text/event-stream":
		return FramingSSE
	case media == "application/x-ndjson", media == "application/ndjson",
		media == "application/jsonl", media == "application/x-jsonlines",
		media == "application/stream+json": // Cohere v1
		return FramingLines
	case media == "application/vnd.amazon.eventstream":
		return FramingEventStream
	case media == "application/json", strings.HasSuffix(media, "+json"), media == "" && find(kind) != nil:
		if kind == trace.KindGemini && geminiStreams(path) {
			return FramingArray
		}
		return FramingJSON
	default:
		return FramingOpaque
	}
}

// mediaType is the type in a Content-Type, in lower case. What is behind it is
// not looked at: services repeat parameters and whole fields.
func mediaType(contentType string) string {
	contentType = strings.TrimSpace(contentType)
	if end := strings.IndexAny(contentType, ";, \t"); end >= 0 {
		contentType = contentType[:end]
	}
	return strings.ToLower(contentType)
}

// Streams reports whether an answer comes in events.
func (f Framing) Streams() bool { return f != FramingJSON && f != FramingOpaque }

// EventReader cuts a stream into events, whatever the pieces in which it is
// fed. It is not safe for concurrent use.
type EventReader interface {
	// Feed reads the next bytes and calls emit for every event that they
	// complete.
	Feed(p []byte, emit func(sse.Event))
	// Close hands out the event that the stream's end completes or cuts.
	Close(emit func(sse.Event))
	// Held is the number of bytes kept of an event that is not complete.
	Held() int
	// Forget gives up what is held of it; the event comes as one that is too
	// long.
	Forget()
	// Dropped is the number of bytes left out because an event was too long.
	Dropped() int64
}

// Reader returns a reader of events of at most limit bytes. middle: it is to
// begin in the middle of a stream, where bytes before it are missing. The
// framing must be one that Streams.
func (f Framing) Reader(limit int, middle bool) EventReader {
	switch f {
	case FramingLines:
		return &sse.Lines{MaxEvent: limit}
	case FramingEventStream:
		d := &sse.EventStream{MaxEvent: limit}
		if middle {
			d.Resync()
		}
		return d
	case FramingArray:
		a := &sse.Array{MaxEvent: limit}
		if middle {
			a.Resync()
		}
		return a
	default:
		return &sse.Decoder{MaxEvent: limit}
	}
}
