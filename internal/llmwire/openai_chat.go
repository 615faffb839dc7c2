package llmwire

import (
	"strings"

	"github.com/lambdac/lambdac/trace"
)

var openAIChat = family{
	kind:      trace.KindOpenAIChat,
	operation: "chat",
	recognize: func(path string, body []byte) bool {
		if strings.HasSuffix(path, "/chat/completions") || path == "chat/completions" {
			return openAIShape(body, "messages")
		}
		// Some gateways take chats at the older path.
		return strings.HasSuffix(path, "/completions") && len(body) > 0 && !openAIShape(body, "prompt") && openAIShape(body, "messages")
	},
	request: chatRequest,
	answer:  openAIAnswer,
	build:   buildChat,
}

func chatRequest(q *request, r *reader) {
	for key := range r.members() {
		if openAIParam(q, r, key) {
			continue
		}
		switch string(key) {
		case "messages":
			chatMessages(q, r)
		case "tools", "functions":
			q.tools += r.length()
		case "reasoning_effort":
			q.said.ReasoningLevel = r.str()
		case "reasoning":
			chatReasoning(q, r)
		default:
			r.skip()
		}
	}
}

// chatReasoning reads OpenRouter's {"effort": "high"}.
func chatReasoning(q *request, r *reader) {
	for key := range r.members() {
		if string(key) == "effort" {
			q.said.ReasoningLevel = r.str()
		} else {
			r.skip()
		}
	}
}

func chatMessages(q *request, r *reader) {
	if !r.open('[') {
		return
	}
	q.known = true
	for r.more() {
		chatMessage(q, r)
	}
}

// chatMessage reads one message. Its texts are kept back until its role is
// known, and go in one order whatever the order of the members: content, then
// the arguments of tool calls.
func chatMessage(q *request, r *reader) {
	role := trace.RoleUnknown
	var content, calls []byte
	if !r.open('{') {
		q.addSizeless()
		return
	}
	for key := range r.names() {
		switch string(key) {
		case "role":
			text, _ := r.text()
			role = chatRole(text)
		case "content":
			content = r.raw()
		case "tool_calls":
			calls = r.raw()
		default:
			r.skip()
		}
	}
	if r.err != nil {
		return
	}
	q.add(role, chatContent(q, role, content)+chatCalls(q, role, calls))
}

func chatRole(name []byte) trace.Role {
	switch string(name) {
	case "system", "developer":
		return trace.RoleSystem
	case "user":
		return trace.RoleUser
	case "assistant":
		return trace.RoleAssistant
	case "tool", "function":
		return trace.RoleTool
	default:
		return trace.RoleUnknown
	}
}

// chatContent visits a content, a string or a list of parts, and returns the
// bytes of its text.
func chatContent(q *request, role trace.Role, raw []byte) (n int) {
	if len(raw) == 0 {
		return 0
	}
	if raw[0] == '"' {
		return q.say(role, q.sub.unquote(raw))
	}
	r := &q.sub
	r.reset(raw)
	if r.open('[') {
		for r.more() {
			n += chatPart(q, r, role)
		}
	}
	return n
}

// chatPart reads one part: text in "text" or "refusal", an image or a sound by
// the member that holds it.
func chatPart(q *request, r *reader, role trace.Role) (n int) {
	if r.kind() == '"' {
		text, _ := r.text()
		return q.say(role, text)
	}
	if !r.open('{') {
		return 0
	}
	for key := range r.names() {
		switch string(key) {
		case "text", "refusal":
			text, _ := r.text()
			n += q.say(role, text)
		case "image_url", "image", "input_image":
			r.skip()
			q.images++
		case "input_audio":
			q.audio.add(r)
		default:
			r.skip()
		}
	}
	return n
}

// chatCalls visits the arguments of tool calls and returns their bytes.
func chatCalls(q *request, role trace.Role, raw []byte) (n int) {
	if len(raw) == 0 {
		return 0
	}
	r := &q.sub
	r.reset(raw)
	if !r.open('[') {
		return 0
	}
	for r.more() {
		for key := range r.members() {
			if string(key) == "function" {
				n += chatArguments(q, r, role)
			} else {
				r.skip()
			}
		}
	}
	return n
}

// chatArguments visits the arguments of one call: JSON in a string, or the
// object itself.
func chatArguments(q *request, r *reader, role trace.Role) (n int) {
	if !r.open('{') {
		return 0
	}
	for key := range r.names() {
		switch {
		case string(key) != "arguments":
			r.skip()
		case r.kind() == '"':
			text, _ := r.text()
			n += q.say(role, text)
		default:
			n += q.say(role, r.raw())
		}
	}
	return n
}
