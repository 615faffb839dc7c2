package llmwire

import (
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// cohereChat is Cohere's chat, version 2, and what version 1 had: "message"
// instead of "messages", lines with event_type instead of typed events.
// Source: docs.cohere.com/v2/reference/chat-stream and /v1/docs/streaming.
var cohereChat = family{
	kind:      trace.KindCohereChat,
	operation: "chat",
	recognize: func(path string, body []byte) bool {
		switch {
		case strings.HasSuffix(path, "/v2/chat"):
			return true
		case strings.HasSuffix(path, "/v1/chat"):
			return memberKind(body, "message") == '"'
		}
		return false
	},
	request:  cohereRequest,
	fromPath: func(_ string, _ *trace.Request, said *trace.Said) { said.Provider = "cohere" },
	answer:   cohereAnswer,
	build:    buildCohere,
}

func cohereRequest(q *request, r *reader) {
	var preamble, history, message []byte // of version 1, in this order
	for key := range r.members() {
		switch string(key) {
		case "messages":
			chatMessages(q, r)
		case "preamble":
			preamble = r.raw()
		case "chat_history":
			history = r.raw()
		case "message":
			message = r.raw()
		case "tools":
			q.tools += r.length()
		default:
			if !samplingParam(q, r, key) {
				r.skip()
			}
		}
	}
	if r.err != nil || message == nil {
		return
	}
	q.known = true
	cohereTurn(q, trace.RoleSystem, preamble)
	cohereHistory(q, history)
	cohereTurn(q, trace.RoleUser, message)
}

func cohereTurn(q *request, role trace.Role, raw []byte) {
	if len(raw) > 0 && raw[0] == '"' {
		q.add(role, q.say(role, q.sub.unquote(raw)))
	}
}

// cohereHistory reads [{"role": "USER" | "CHATBOT" | "SYSTEM" | "TOOL",
// "message": …}].
func cohereHistory(q *request, raw []byte) {
	if len(raw) == 0 {
		return
	}
	var r reader
	r.reset(raw)
	if !r.open('[') {
		return
	}
	for r.more() {
		if !r.open('{') {
			q.addSizeless()
			continue
		}
		role := trace.RoleUnknown
		var text []byte
		for key := range r.names() {
			switch string(key) {
			case "role":
				name, _ := r.text()
				role = cohereRole(name)
			case "message":
				text = r.raw()
			default:
				r.skip()
			}
		}
		cohereTurn(q, role, text)
	}
}

func cohereRole(name []byte) trace.Role {
	if strings.EqualFold(string(name), "chatbot") {
		return trace.RoleAssistant
	}
	return chatRole([]byte(strings.ToLower(string(name))))
}

// cohereAnswer reads an event of either version, or an answer.
func cohereAnswer(f *frame, r *reader) {
	var message, text, finished bool // at the top
	index := int32(0)
	if !r.open('{') {
		return
	}
	for key := range r.names() {
		switch string(key) {
		case "delta":
			cohereDelta(f, r)
		case "index":
			r.index(&index)
		case "message":
			if message = r.kind() == '"'; message {
				r.skip()
			} else {
				cohereMessage(f, r)
			}
		case "text": // version 1
			text = f.text(r, trace.ChunkText)
		case "response": // version 1: the last event repeats the answer
			cohereMeta(f, r)
		case "meta", "usage":
			cohereUsage(f, r)
		case "finish_reason":
			cohereFinish(f, r)
			finished = true
		case "error":
			f.failure.read(r)
		default:
			r.skip()
		}
	}
	for i := range f.pieces {
		f.pieces[i].index = index
	}
	// An error has a message and nothing else that an answer has.
	if message && !text && !finished && len(f.pieces) == 0 && !f.usage.seen {
		f.failure.seen = true
	}
}

func cohereFinish(f *frame, r *reader) {
	before := len(f.finishes)
	f.finish(r, 0)
	if len(f.finishes) == before {
		return
	}
	f.choices = 1
	if reason := f.bytes(f.finishes[before].reason); strings.HasPrefix(string(reason), "ERROR") {
		f.failure.seen = true
		f.failure.kind = append(f.failure.kind[:0], reason...)
	}
}

func cohereDelta(f *frame, r *reader) {
	for key := range r.members() {
		switch string(key) {
		case "message":
			cohereMessage(f, r)
		case "finish_reason":
			cohereFinish(f, r)
		case "usage":
			cohereUsage(f, r)
		case "error":
			f.failure.read(r)
		default:
			r.skip()
		}
	}
}

// cohereMessage reads the message of an answer, or a part of it: content is an
// object in a delta and a list of them in a whole one; so are tool calls.
func cohereMessage(f *frame, r *reader) {
	if !r.open('{') {
		return
	}
	f.choices = 1
	for key := range r.names() {
		switch string(key) {
		case "role":
			f.role = r.kind() == '"' || f.role
			r.skip()
		case "tool_plan":
			f.text(r, trace.ChunkReasoning)
		case "content":
			if r.kind() == '{' {
				coherePart(f, r)
			} else {
				f.text(r, trace.ChunkText)
			}
		case "tool_calls":
			if r.kind() == '{' {
				cohereCall(f, r)
			} else {
				openAICalls(f, r)
			}
		default: // citations repeat the text
			r.skip()
		}
	}
}

func coherePart(f *frame, r *reader) {
	for key := range r.members() {
		switch string(key) {
		case "text":
			f.text(r, trace.ChunkText)
		case "thinking":
			f.text(r, trace.ChunkReasoning)
		default:
			r.skip()
		}
	}
}

// cohereCall reads a bit of a tool call: its number is the event's.
func cohereCall(f *frame, r *reader) {
	before := len(f.pieces)
	openAICall(f, r, false)
	for i := range f.pieces[before:] {
		f.pieces[before+i].hasIndex = true
	}
}

// cohereMeta reads what the last event of version 1 has beside the text.
func cohereMeta(f *frame, r *reader) {
	for key := range r.members() {
		if string(key) == "meta" {
			cohereUsage(f, r)
		} else {
			r.skip()
		}
	}
}

// cohereUsage reads what the model saw and said; what is billed is less.
func cohereUsage(f *frame, r *reader) {
	for key := range r.members() {
		switch string(key) {
		case "tokens":
			cohereTokens(&f.usage, r)
		case "cached_tokens":
			r.count(&f.usage.cached)
		default:
			r.skip()
		}
	}
}

func cohereTokens(u *usage, r *reader) {
	if !r.open('{') {
		return
	}
	for key := range r.names() {
		switch string(key) {
		case "input_tokens":
			r.count(&u.input)
		case "output_tokens":
			r.count(&u.output)
		default:
			r.skip()
		}
	}
	u.seen = u.input != 0 || u.output != 0
}

func buildCohere(dst []byte, s *Spec) (string, []byte, error) {
	o := object{dst}
	o.open("")
	if s.Model != "" {
		o.text("model", s.Model)
	}
	o.list("messages")
	for _, m := range s.Messages {
		o.open("")
		o.text("role", chatRoleName(m.Role))
		o.text("content", m.Text)
		o.close()
	}
	o.end()
	o.flag("stream", s.Stream)
	o.number("max_tokens", s.MaxTokens)
	if s.Seed != nil {
		o.integer("seed", *s.Seed)
	}
	o.float("temperature", s.Temperature)
	o.float("p", s.TopP)
	o.close()
	return "/v2/chat", o.dst, nil
}
