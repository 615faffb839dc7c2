package llmwire

import (
	"bytes"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// anthropicMessages is Anthropic's Messages API, also as llama.cpp, vLLM,
// LiteLLM and Vertex AI speak it. Source: docs.anthropic.com, "Messages" and
// "Streaming messages".
var anthropicMessages = family{
	kind:      trace.KindAnthropicMessages,
	operation: "chat",
	recognize: isAnthropic,
	request:   anthropicRequest,
	answer:    anthropicAnswer,
	fromPath:  anthropicPath,
	build:     buildAnthropic,
}

// isAnthropic: OpenAI has a path of this end too, for a message of a thread,
// whose body has a content and no messages.
func isAnthropic(path string, body []byte) bool {
	switch {
	case strings.HasSuffix(path, "/messages"), path == "messages":
		return hasMembers(body, "messages")
	case strings.HasSuffix(path, ":rawPredict"), strings.HasSuffix(path, ":streamRawPredict"):
		return len(body) > 0 && hasMembers(body, "messages", "anthropic_version")
	default:
		return false
	}
}

// hasMembers reports whether a body is an object with all these members. A body
// that cannot be read, or none, may be of any shape.
func hasMembers(body []byte, names ...string) bool {
	var r reader
	r.reset(body)
	if len(body) == 0 || !r.open('{') {
		return true
	}
	found := make(map[string]bool, len(names))
	for key := range r.names() {
		for _, name := range names {
			if string(key) == name {
				found[name] = true
			}
		}
		if len(found) == len(names) {
			return true
		}
		r.skip()
	}
	return r.err != nil
}

// anthropicPath takes the model from a path of Vertex AI, and the provider,
// which nothing but that path tells.
func anthropicPath(path string, dst *trace.Request, said *trace.Said) {
	if model, method, ok := modelMethod(path); ok {
		said.Provider = "gcp.vertex_ai"
		if said.RequestModel == "" {
			said.RequestModel = model
		}
		dst.Stream = dst.Stream || method == "streamRawPredict"
	}
}

// anthropicRequest reads a request. The system prompt stands before the
// messages, wherever it stands in the body.
func anthropicRequest(q *request, r *reader) {
	var system, messages []byte
	for key := range r.members() {
		switch string(key) {
		case "system":
			system = r.raw()
		case "messages":
			messages = r.raw()
		case "tools":
			q.tools += r.length()
		case "output_config":
			chatReasoning(q, r)
		default:
			if !openAIParam(q, r, key) {
				r.skip()
			}
		}
	}
	if r.err != nil {
		return
	}
	var s reader
	s.reset(system)
	if k := first(system); k == '"' || k == '[' {
		q.add(trace.RoleSystem, anthropicContent(q, &s, trace.RoleSystem))
	}
	if first(messages) != '[' {
		return
	}
	q.known = true
	s.reset(messages)
	s.open('[')
	for s.more() {
		anthropicTurn(q, &s)
	}
}

// anthropicTurn reads one message. A user's message that brings the result of
// a tool is the tool's.
func anthropicTurn(q *request, r *reader) {
	role, content, ok := turn(q, r)
	if !ok {
		return
	}
	// Inside a text the quotes would be escaped.
	if role == trace.RoleUser && bytes.Contains(content, []byte(`"tool_result"`)) {
		role = trace.RoleTool
	}
	n := 0
	if len(content) > 0 {
		var c reader
		c.reset(content)
		n = anthropicContent(q, &c, role)
	}
	q.add(role, n)
}

// anthropicContent visits a content, a text or a list of blocks, and returns
// the bytes of its text.
func anthropicContent(q *request, r *reader, role trace.Role) (n int) {
	switch r.kind() {
	case '"':
		text, _ := r.text()
		return q.say(role, text)
	case '[':
		r.open('[')
		for r.more() {
			n += anthropicRequestBlock(q, r, role)
		}
	default:
		r.skip()
	}
	return n
}

// anthropicRequestBlock reads one block: a text, a thought, the input of a
// call, the content of its result, a document as text.
func anthropicRequestBlock(q *request, r *reader, role trace.Role) (n int) {
	if !r.open('{') {
		return 0
	}
	for key := range r.names() {
		switch string(key) {
		case "text", "thinking":
			text, _ := r.text()
			n += q.say(role, text)
		case "input":
			n += q.say(role, r.raw())
		case "content":
			n += anthropicContent(q, r, role)
		case "source":
			n += anthropicSource(q, r, role)
		case "type":
			if text, _ := r.text(); string(text) == "image" {
				q.images++
			}
		default:
			r.skip()
		}
	}
	return n
}

// anthropicSource reads the source of a document or an image; only text counts.
func anthropicSource(q *request, r *reader, role trace.Role) (n int) {
	var data []byte
	isText := false
	if !r.open('{') {
		return 0
	}
	for key := range r.names() {
		switch string(key) {
		case "type":
			text, _ := r.text()
			isText = string(text) == "text"
		case "data":
			data = r.raw()
		case "content":
			n += anthropicContent(q, r, role)
		default:
			r.skip()
		}
	}
	if isText && first(data) == '"' && r.err == nil {
		n += q.say(role, r.unquote(data))
	}
	return n
}

// defaultMaxTokens is sent where the API wants a bound and the trace has none.
const defaultMaxTokens = 4096

// buildAnthropic puts leading system messages into the system prompt; a later
// one goes as the user's, which is the only other place there is.
func buildAnthropic(dst []byte, s *Spec) (string, []byte, error) {
	o := object{dst: dst}
	system, rest := s.splitSystem()
	o.open("")
	o.model(s)
	if len(system) > 0 {
		o.text("system", joined(system))
	}
	o.messages("messages", rest, func(r trace.Role) string { return roleName(r, "assistant") })
	limit := s.MaxTokens
	if limit == nil {
		limit = new(int32(defaultMaxTokens))
	}
	o.number("max_tokens", limit)
	o.flag("stream", s.Stream)
	o.float("temperature", s.Temperature)
	o.float("top_p", s.TopP)
	o.flag("ignore_eos", s.IgnoreEOS)
	o.close()
	return "/v1/messages", o.dst, nil
}
