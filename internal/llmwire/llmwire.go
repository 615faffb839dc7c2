// Package llmwire knows the API families of LLM services on the wire.
package llmwire

import "github.com/lambdac/lambdac/trace"

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
)

func Recognize(method, path string, reqBody []byte) trace.APIKind { return trace.KindOther }

func ParseRequest(kind trace.APIKind, path string, body []byte, rec *trace.Record, said *trace.Said) error {
	return nil
}

func VisitText(kind trace.APIKind, reqBody []byte, visit func(role trace.Role, text []byte)) error {
	return nil
}

func AnswerFraming(kind trace.APIKind, contentType string) Framing { return FramingJSON }

// Chunk is what one event carries.
type Chunk struct {
	Kind   trace.ChunkKind
	Bytes  int32
	Tokens *int32
	// Counts: the event counts in chunk_count.
	Counts bool
	// Done: the end mark. Failed: an error. Late: it came after the end mark.
	Done, Failed, Late bool
}

// Answer reads one answer.
type Answer struct{ kind trace.APIKind }

func NewAnswer(kind trace.APIKind) *Answer { return &Answer{kind: kind} }

func (a *Answer) Event(name, data []byte) Chunk               { return Chunk{Kind: trace.ChunkOther} }
func (a *Answer) Body(data []byte) error                      { return nil }
func (a *Answer) Fill(rec *trace.Record, x *trace.Exchange)   {}
func (a *Answer) Ended() bool                                 { return false }
func (a *Answer) Generated() bool                             { return false }
func (a *Answer) ErrorSeen() bool                             { return false }

// Message is one message of a request to be built.
type Message struct {
	Role trace.Role
	Text string
}

// Spec says what request to build.
type Spec struct {
	Kind         trace.APIKind
	Model        string
	Messages     []Message
	Stream       bool
	IncludeUsage bool
	MaxTokens    *int32
	N            *int32
	Seed         *int64
	Temperature  *float64
	TopP         *float64
	IgnoreEOS    bool
}

func Build(s Spec) (path string, body []byte, err error) { return "", nil, nil }
