package llmwire

import (
	"bytes"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// Opening decides by the first bytes of an answer's body how it is framed,
// where the Content-Type is missing or wrong: clients that asked for a stream
// read one whatever its type, and errors come as JSON under the type of a
// stream. Only an answer of a known family is looked at. The zero value has
// decided for JSON.
type Opening struct {
	framing Framing
	open    bool   // not decided yet
	lines   bool   // the family's streams are lines of JSON
	lead    []byte // what came so far, while it is open
}

// NewOpening returns the opening of an answer of a kind, whose head says that
// framing.
func NewOpening(kind trace.APIKind, framing Framing) Opening {
	return Opening{
		framing: framing, open: find(kind) != nil && framing != FramingEventStream,
		lines: kind == trace.KindOllamaChat || kind == trace.KindOllamaGenerate,
	}
}

// Framing is how the body is framed, as far as is known.
func (o *Opening) Framing() Framing { return o.framing }

// maxLead bounds the blanks that are held before the first byte that tells,
// maxFirstLine a line that may be the first of many.
const (
	maxLead      = 64
	maxFirstLine = 2 << 10
)

// Feed takes the next bytes and returns those that can be read by Framing:
// none while that is open, then those held too. No event is late by it, since
// what is held is at most the name of a field, or a line that is not complete.
// What is returned is valid until the next call.
func (o *Opening) Feed(p []byte) []byte {
	if !o.open {
		return p
	}
	if len(o.lead) > 0 {
		p = append(o.lead, p...)
	}
	is, sure := o.framing.opens(p)
	limit := maxLead
	if sure && is == FramingJSON && o.lines {
		is, sure = firstLine(p)
		limit = maxFirstLine
	}
	if !sure && len(p) < limit {
		o.lead = append(o.lead[:0], p...)
		return nil
	}
	o.framing, o.open, o.lead = is, false, nil
	return p
}

// Rest ends the search and returns the bytes that are held: the body ended, or
// some of it is missing.
func (o *Opening) Rest() []byte {
	held := o.lead
	o.open, o.lead = false, nil
	return held
}

// firstLine tells lines of JSON from one JSON text: the first line of Ollama's
// streams says that it is not the last.
func firstLine(lead []byte) (is Framing, sure bool) {
	text := bytes.TrimLeft(bytes.TrimPrefix(lead[:min(len(lead), maxFirstLine)], []byte(byteOrderMark)), " \t\r\n")
	before, _, ok := bytes.Cut(text, []byte{'\n'})
	if !ok {
		return FramingJSON, false
	}
	var r reader
	r.reset(before)
	if !r.open('{') {
		return FramingJSON, true
	}
	for key := range r.names() {
		if string(key) == "done" {
			if done, ok := r.flag(); ok && !done {
				return FramingLines, true
			}
			return FramingJSON, true
		}
		r.skip()
	}
	return FramingJSON, true
}

// opens corrects a framing by the front of a body; sure is false while more of
// it is needed.
func (f Framing) opens(lead []byte) (is Framing, sure bool) {
	text := bytes.TrimLeft(bytes.TrimPrefix(lead, []byte(byteOrderMark)), " \t\r\n")
	switch {
	case len(text) == 0 || strings.HasPrefix(byteOrderMark, string(text)):
		return f, false
	case text[0] == '{' || text[0] == '[':
		if f == FramingSSE || f == FramingOpaque {
			f = FramingJSON
		}
		return f, true
	case f == FramingSSE:
		return f, true
	}
	for _, field := range [...]string{":", "data:", "event:", "id:", "retry:"} {
		n := min(len(field), len(text))
		switch {
		case string(text[:n]) != field[:n]:
		case n < len(field):
			return f, false
		default:
			return FramingSSE, true
		}
	}
	return f, true
}
