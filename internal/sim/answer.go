package sim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/lambdac/lambdac/internal/sse"
)

// wireFormat is how one family writes an answer; the parts of a choice stand
// before and after the text of a token.
type wireFormat struct {
	idPrefix, object, chunkObject string
	role, head                    string // choices of the first events, "" = none
	before, after                 string // around the token's text
	last                          string // choice of the last event, with %q for the reason
	begin, end                    string // around the text of all tokens
	whole                         string // choice of an answer in one piece: %s text, %q reason
	reason                        string // why an answer ends, "" = as it does
}

var chatWire = wireFormat{
	idPrefix: "chatcmpl-", object: "chat.completion", chunkObject: "chat.completion.chunk",
	role:   `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}`,
	before: `{"index":0,"delta":{"content":"`,
	after:  `"},"logprobs":null,"finish_reason":null}`,
	last:   `{"index":0,"delta":{},"logprobs":null,"finish_reason":%q}`,
	whole:  `{"index":0,"message":{"role":"assistant","content":"%s"},"logprobs":null,"finish_reason":%q}`,
}

var completionWire = wireFormat{
	idPrefix: "cmpl-", object: "text_completion", chunkObject: "text_completion",
	before: `{"index":0,"text":"`,
	after:  `","logprobs":null,"finish_reason":null}`,
	last:   `{"index":0,"text":"","logprobs":null,"finish_reason":%q}`,
	whole:  `{"index":0,"text":"%s","logprobs":null,"finish_reason":%q}`,
}

// words are what answers are made of; none needs escaping in JSON.
var words = [...]string{
	" the", " server", " says", " these", " words", " in", " any", " order",
	" and", " they", " carry", " no", " more", " than", " their", " number",
	" so", " that", " each", " of", " them", " is", " one", " token",
	" when", " it", " comes", " to", " count", " what", " was", " made",
}

// answer builds the bytes of one answer.
type answer struct {
	wire         *wireFormat
	pick         uint64 // of the job: which words it gets
	head         string // of every chunk, up to its choice
	headWhole    string
	includeUsage bool
	says         []string // tokens in JSON; nil = any words
	buf, data    []byte
}

func newAnswer(wire *wireFormat, q *wireRequest, seed uint64, r reply, at time.Time) *answer {
	model, err := json.Marshal(q.Model)
	if err != nil {
		model = []byte(`""`)
	}
	head := func(object string) string {
		return fmt.Sprintf(`{"id":"%s%08x%08x","object":%q,"created":%d,"model":%s,"choices":[`,
			wire.idPrefix, uint32(seed), uint32(r.id), object, at.Unix(), model)
	}
	return &answer{
		wire: wire, pick: (seed ^ r.id) * fnvPrime, says: r.says,
		head: head(wire.chunkObject), headWhole: head(wire.object),
		includeUsage: q.StreamOptions != nil && q.StreamOptions.IncludeUsage,
	}
}

// usage are the token counts of one request.
type usage struct{ Prompt, Completion, Cached int }

func (u usage) String() string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}`,
		u.Prompt, u.Prompt+u.Completion, u.Completion, u.Cached)
}

func (a *answer) word(i int32) string {
	if a.says != nil {
		return a.says[i]
	}
	step := a.pick>>16 | 1
	return words[(a.pick>>32+uint64(i)*step)%uint64(len(words))]
}

// token returns the event of token i, valid until the next call; before the
// first one come those with the role and with the call's name.
func (a *answer) token(i int32) []byte {
	a.buf = a.buf[:0]
	begin := ""
	if i == 0 {
		begin = a.wire.begin
		for _, choice := range [...]string{a.wire.role, a.wire.head} {
			if choice != "" {
				a.event(choice)
			}
		}
	}
	a.event(a.wire.before, begin, a.word(i), a.wire.after)
	return a.buf
}

// event appends an event with one choice.
func (a *answer) event(choice ...string) {
	a.data = append(a.data[:0], a.head...)
	for _, part := range choice {
		a.data = append(a.data, part...)
	}
	a.data = append(a.data, "]}"...)
	a.buf = sse.AppendEvent(a.buf, "", a.data)
}

// last returns the events after the tokens: finish reason, usage if it was
// asked for, end mark.
func (a *answer) last(reason string, u usage) []byte {
	a.buf = a.buf[:0]
	if a.wire.end != "" {
		a.event(a.wire.before, a.wire.end, a.wire.after)
	}
	a.event(fmt.Sprintf(a.wire.last, cmp.Or(a.wire.reason, reason)))
	if a.includeUsage {
		a.data = append(a.data[:0], a.head...)
		a.data = fmt.Appendf(a.data, `],"usage":%v}`, u)
		a.buf = sse.AppendEvent(a.buf, "", a.data)
	}
	a.buf = sse.AppendEvent(a.buf, "", []byte("[DONE]"))
	return a.buf
}

// whole writes the answer in one piece.
func (a *answer) whole(w http.ResponseWriter, reason string, u usage) {
	var text strings.Builder
	for i := range u.Completion {
		text.WriteString(a.word(int32(i)))
	}
	choice := fmt.Sprintf(a.wire.whole, a.wire.begin+text.String()+a.wire.end, cmp.Or(a.wire.reason, reason))
	writeJSON(w, http.StatusOK, json.RawMessage(fmt.Sprintf(`%s%s],"usage":%v}`, a.headWhole, choice, u)))
}
