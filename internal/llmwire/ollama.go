package llmwire

import (
	"strconv"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// The two native APIs of Ollama. Source: ollama/ollama, docs/api.md. A request
// without a "stream" member is one for a stream.

var ollamaChat = family{
	kind:      trace.KindOllamaChat,
	operation: "chat",
	// Applications have paths of this name too; Ollama wants a model.
	recognize: func(path string, body []byte) bool {
		return (strings.HasSuffix(path, "/api/chat") || path == "api/chat") && hasMembers(body, "model")
	},
	request: ollamaChatRequest,
	answer:  ollamaAnswer,
	build:   buildOllamaChat,
}

var ollamaGenerate = family{
	kind:      trace.KindOllamaGenerate,
	operation: "text_completion",
	recognize: func(path string, body []byte) bool {
		return (strings.HasSuffix(path, "/api/generate") || path == "api/generate") && hasMembers(body, "model")
	},
	request: ollamaGenerateRequest,
	answer:  ollamaAnswer,
	build:   buildOllamaGenerate,
}

// ollamaParam reads a member that both APIs have and reports whether it was
// one.
func ollamaParam(q *request, r *reader, key []byte) bool {
	switch string(key) {
	case "model":
		q.said.RequestModel = r.str()
	case "stream":
		if on, ok := r.flag(); ok {
			q.params.Stream = on
		}
	case "options":
		sampling(q, r)
	case "format":
		ollamaFormat(q, r)
	case "think":
		if r.kind() == '"' {
			q.said.ReasoningLevel = r.str()
		} else {
			r.skip()
		}
	case "tools":
		q.tools += r.length()
	default:
		return false
	}
	return true
}

// ollamaFormat reads "json" or a JSON schema.
func ollamaFormat(q *request, r *reader) {
	if r.kind() == '{' {
		r.skip()
		q.said.OutputType, q.said.JSONAsked = "json", true
		return
	}
	if text, _ := r.text(); string(text) == "json" {
		q.said.OutputType, q.said.JSONAsked = "json", true
	}
}

func ollamaChatRequest(q *request, r *reader) {
	q.params.Stream = true
	for key := range r.members() {
		switch {
		case ollamaParam(q, r, key):
		case string(key) == "messages" && r.kind() == '[':
			q.known = true
			r.open('[')
			for r.more() {
				ollamaMessage(q, r)
			}
		default:
			r.skip()
		}
	}
}

// ollamaMessage reads one message; its texts go in one order whatever the order
// of the members: thoughts, content, the arguments of calls.
func ollamaMessage(q *request, r *reader) {
	role := trace.RoleUnknown
	var thinking, content, calls []byte
	if !r.open('{') {
		q.addSizeless()
		return
	}
	for key := range r.names() {
		switch string(key) {
		case "role":
			text, _ := r.text()
			role = chatRole(text)
		case "thinking":
			thinking = r.raw()
		case "content":
			content = r.raw()
		case "tool_calls":
			calls = r.raw()
		case "images":
			q.images += r.length()
		default:
			r.skip()
		}
	}
	if r.err != nil {
		return
	}
	q.add(role, chatContent(q, role, thinking)+chatContent(q, role, content)+chatCalls(q, role, calls))
}

func ollamaGenerateRequest(q *request, r *reader) {
	q.params.Stream = true
	var system, prompt []byte
	for key := range r.members() {
		switch {
		case ollamaParam(q, r, key):
		case string(key) == "system":
			system = r.raw()
		case string(key) == "prompt":
			prompt = r.raw()
		case string(key) == "images":
			q.images += r.length()
		default:
			r.skip()
		}
	}
	if r.err != nil {
		return
	}
	if first(system) == '"' && string(system) != `""` {
		q.add(trace.RoleSystem, q.say(trace.RoleSystem, q.sub.unquote(system)))
	}
	if first(prompt) == '"' {
		q.known = true
		q.add(trace.RolePrompt, q.say(trace.RolePrompt, q.sub.unquote(prompt)))
	}
}

func buildOllamaChat(dst []byte, s *Spec) (string, []byte, error) {
	o := object{dst: dst}
	o.open("")
	o.model(s)
	o.messages("messages", s.Messages, chatRoleName)
	ollamaOptionsOf(&o, s)
	return "/api/chat", o.dst, nil
}

// buildOllamaGenerate puts leading system messages into the system prompt; the
// others are the prompt.
func buildOllamaGenerate(dst []byte, s *Spec) (string, []byte, error) {
	o := object{dst: dst}
	system, rest := s.splitSystem()
	o.open("")
	o.model(s)
	if len(system) > 0 {
		o.text("system", joined(system))
	}
	o.text("prompt", joined(rest))
	ollamaOptionsOf(&o, s)
	return "/api/generate", o.dst, nil
}

// ollamaOptionsOf writes what both requests end with. Ollama streams unless it
// is told not to; it knows neither choices nor a way to go on past the end of
// an answer.
func ollamaOptionsOf(o *object, s *Spec) {
	o.name("stream")
	o.dst = strconv.AppendBool(o.dst, s.Stream)
	o.open("options")
	o.number("num_predict", s.MaxTokens)
	if s.Seed != nil {
		o.integer("seed", *s.Seed)
	}
	o.float("temperature", s.Temperature)
	o.float("top_p", s.TopP)
	o.close()
	o.close()
}
