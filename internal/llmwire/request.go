package llmwire

import (
	"math"

	"github.com/lambdac/lambdac/trace"
)

// request gathers what one pass over a request's body finds.
type request struct {
	// visit gets the content texts; nil = only their sizes are wanted.
	visit func(role trace.Role, text []byte)

	params trace.Request
	said   trace.Said

	messages []trace.Message
	count    int32 // messages, those of unknown size included
	sizeless bool  // some message's size is unknown
	known    bool  // the prompt was understood
	tools    int32
	images   int32
	audio    audioLength

	sub reader // for values that were kept back until their role was known
}

// read walks the body of a request of family f.
func (q *request) read(f *family, body []byte) error {
	var r reader
	r.reset(body)
	if r.kind() != '{' {
		r.skip()
		if r.err == nil {
			r.err = &SyntaxError{}
		}
		return r.err
	}
	f.request(q, &r)
	return r.end()
}

// add counts one message and hands out nothing: its texts were visited.
func (q *request) add(role trace.Role, bytes int) {
	q.count++
	q.messages = append(q.messages, trace.Message{Role: role, Bytes: int32(min(bytes, math.MaxInt32))})
}

// turn reads a message of a role and a content, the latter kept back until the
// role is known; not ok where it is no object.
func turn(q *request, r *reader) (role trace.Role, content []byte, ok bool) {
	if !r.open('{') {
		q.addSizeless()
		return role, nil, false
	}
	for key := range r.names() {
		switch string(key) {
		case "role":
			text, _ := r.text()
			role = chatRole(text)
		case "content":
			content = r.raw()
		default:
			r.skip()
		}
	}
	return role, content, r.err == nil
}

// addSizeless counts one message whose text is unknown.
func (q *request) addSizeless() {
	q.count++
	q.sizeless = true
}

// say hands out one text of a message and returns its length.
func (q *request) say(role trace.Role, text []byte) int {
	if q.visit != nil && len(text) > 0 {
		q.visit(role, text)
	}
	return len(text)
}

// fill writes what was found into the record and the words beside it.
func (q *request) fill(rec *trace.Record, said *trace.Said) {
	p, dst := &q.params, &rec.Request
	dst.Stream = p.Stream
	dst.MaxTokens, dst.N, dst.Seed, dst.TopK = p.MaxTokens, p.N, p.Seed, p.TopK
	dst.Temperature, dst.TopP = p.Temperature, p.TopP
	dst.FrequencyPenalty, dst.PresencePenalty = p.FrequencyPenalty, p.PresencePenalty
	if q.known {
		dst.MessageCount, dst.ToolDefCount, dst.ImageCount = new(q.count), new(q.tools), new(q.images)
		if !q.sizeless {
			dst.Messages = q.messages
		}
		dst.AudioMs = q.audio.ms()
	}
	said.RequestModel = q.said.RequestModel
	said.ReasoningLevel = q.said.ReasoningLevel
	said.OutputType = q.said.OutputType
	said.ServiceTier = q.said.ServiceTier
	said.JSONAsked = q.said.JSONAsked
}

// int32At returns the next value if it is a whole number of at least low.
func (r *reader) int32At(low int64) *int32 {
	n, ok := r.integer()
	if !ok || n < low || n > math.MaxInt32 {
		return nil
	}
	return new(int32(n))
}

// index sets n to the next value if it is an index, and reports whether.
func (r *reader) index(n *int32) bool {
	v, ok := r.integer()
	if ok = ok && v >= 0 && v <= math.MaxInt32; ok {
		*n = int32(v)
	}
	return ok
}

// int64p returns the next value if it is a whole number.
func (r *reader) int64p() *int64 {
	n, ok := r.integer()
	if !ok {
		return nil
	}
	return &n
}

// float64p returns the next value if it is a finite number.
func (r *reader) float64p() *float64 {
	f, ok := r.number()
	if !ok {
		return nil
	}
	return &f
}

// str returns the next value if it is a string, else "".
func (r *reader) str() string {
	b, _ := r.text()
	return string(b)
}

// length counts the elements of the next value if it is an array.
func (r *reader) length() (n int32) {
	if r.open('[') {
		for r.more() {
			r.skip()
			n++
		}
	}
	return n
}
