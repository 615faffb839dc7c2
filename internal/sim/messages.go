package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/lambdac/lambdac/internal/sse"
)

// messages serves POST /v1/messages, Anthropic's API.
func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	q, err := s.readRequest(w, r)
	p := &prompt{}
	switch {
	case err != nil:
	case q.MaxTokens == nil:
		err = &badRequest{http.StatusBadRequest, "max_tokens: Field required"}
	case len(q.Messages) == 0:
		err = &badRequest{http.StatusBadRequest, "messages: want at least one"}
	default:
		err = p.message(wireMessage{Role: "system", Content: q.System}, 0)
		for i := 0; i < len(q.Messages) && err == nil; i++ {
			err = p.message(q.Messages[i], s.cfg.MessageOverhead)
		}
	}
	if err != nil {
		refuse(w, err, anthropicError)
		return
	}
	s.generate(w, r, q, p, speech{newMessage, anthropicError})
}

var anthropicErrorTypes = map[int]string{
	http.StatusBadRequest:            "invalid_request_error",
	http.StatusRequestEntityTooLarge: "request_too_large",
	http.StatusTooManyRequests:       "rate_limit_error",
	http.StatusServiceUnavailable:    "overloaded_error",
}

func anthropicError(w http.ResponseWriter, status int, message string) {
	kind, known := anthropicErrorTypes[status]
	if !known {
		kind = "api_error"
	}
	writeJSON(w, status, map[string]any{"type": "error", "error": map[string]string{"type": kind, "message": message}})
}

// message builds the bytes of one answer of Anthropic's API.
type message struct {
	words          *answer // whose words it says
	id, model      string
	tool           string // the JSON of the name of the tool that is called, "" = none
	prompt, cached int
	buf            []byte
}

func newMessage(q *wireRequest, seed uint64, r reply) speaker {
	model, err := json.Marshal(q.Model)
	if err != nil {
		model = []byte(`""`)
	}
	tool := ""
	if name := q.mustCall(); name != "" {
		if quoted, err := json.Marshal(name); err == nil {
			tool = string(quoted)
		}
	}
	return &message{
		tool: tool, words: &answer{pick: (seed ^ r.id) * fnvPrime, says: r.says}, model: string(model), prompt: r.prompt, cached: r.cached,
		id: fmt.Sprintf("msg_%08x%08x", uint32(seed), uint32(r.id)),
	}
}

// head is the message up to its content, and tail what follows it. The input
// leaves out what was read from the cache.
func (m *message) head() string {
	return fmt.Sprintf(`{"id":%q,"type":"message","role":"assistant","model":%s,"content":`, m.id, m.model)
}

func (m *message) tail(reason string, output int) string {
	return fmt.Sprintf(`,"stop_reason":%s,"stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":0,"cache_read_input_tokens":%d,"output_tokens":%d}}`,
		reason, m.prompt-m.cached, m.cached, output)
}

func (m *message) event(name, data string) {
	m.buf = sse.AppendEvent(m.buf, name, []byte(data))
}

func (m *message) token(i int32) []byte {
	m.buf = m.buf[:0]
	if i == 0 {
		m.event("message_start", `{"type":"message_start","message":`+m.head()+"[]"+m.tail("null", 1)+"}")
		m.event("content_block_start", `{"type":"content_block_start","index":0,"content_block":`+m.block("", "{}")+`}`)
		m.event("ping", `{"type":"ping"}`)
	}
	begin := ""
	if i == 0 && m.tool != "" {
		begin = argumentsBegin
	}
	m.delta(begin + m.words.word(i))
	return m.buf
}

// delta appends the event of a part of the content.
func (m *message) delta(part string) {
	delta := `{"type":"text_delta","text":"`
	if m.tool != "" {
		delta = `{"type":"input_json_delta","partial_json":"`
	}
	m.event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":`+delta+part+`"}}`)
}

// block is the content: a text, or a call with its input.
func (m *message) block(text, input string) string {
	if m.tool == "" {
		return `{"type":"text","text":"` + text + `"}`
	}
	return fmt.Sprintf(`{"type":"tool_use","id":"toolu_%s","name":%s,"input":%s}`, m.id, m.tool, input)
}

func (m *message) last(reason string, u usage) []byte {
	m.buf = m.buf[:0]
	if m.tool != "" {
		m.delta(argumentsEnd)
	}
	m.event("content_block_stop", `{"type":"content_block_stop","index":0}`)
	m.event("message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%s,"stop_sequence":null},"usage":{"output_tokens":%d}}`,
		m.stopReason(reason), u.Completion))
	m.event("message_stop", `{"type":"message_stop"}`)
	return m.buf
}

func (m *message) whole(w http.ResponseWriter, reason string, u usage) {
	var text strings.Builder
	for i := range u.Completion {
		text.WriteString(m.words.word(int32(i)))
	}
	content := "[" + m.block(text.String(), `{"text":"`+text.String()+`"}`) + "]"
	writeJSON(w, http.StatusOK, json.RawMessage(m.head()+content+m.tail(m.stopReason(reason), u.Completion)))
}

// stopReason is the JSON of why an answer ended.
func (m *message) stopReason(reason string) string {
	switch {
	case m.tool != "":
		return `"tool_use"`
	case reason == "length":
		return `"max_tokens"`
	}
	return `"end_turn"`
}
