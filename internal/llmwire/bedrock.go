package llmwire

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// What Bedrock's two families share. Source: Amazon Bedrock API reference,
// Converse, ConverseStream, InvokeModel, InvokeModelWithResponseStream, and
// the inference parameters of its models.

// bedrockOperation splits a path /model/{id}/{operation}.
func bedrockOperation(path string) (model, operation string) {
	_, rest, ok := strings.Cut(path, "/model/")
	if !ok {
		return "", ""
	}
	slash := strings.LastIndexByte(rest, '/')
	if slash < 0 {
		return "", ""
	}
	return rest[:slash], rest[slash+1:]
}

func bedrockPath(path string, dst *trace.Request, said *trace.Said) {
	model, operation := bedrockOperation(path)
	said.RequestModel, said.Provider = unescaped(model), "aws.bedrock"
	dst.Stream = strings.HasSuffix(operation, "-stream")
}

// bedrockPathOf is the inverse. A model may be an ARN, which has slashes.
func bedrockPathOf(model, operation string) string {
	return "/model/" + url.PathEscape(model) + "/" + operation
}

// bedrockRequest reads a request of Converse, or of any vendor's model.
func bedrockRequest(q *request, r *reader) {
	var system, messages []byte // in this order, whatever the body's
	for key := range r.members() {
		switch string(key) {
		case "system":
			system = r.raw()
		case "messages":
			messages = r.raw()
		case "inferenceConfig", "textGenerationConfig":
			sampling(q, r)
		case "toolConfig":
			bedrockTools(q, r)
		case "tools":
			q.tools += r.length()
		case "prompt", "inputText":
			openAIPrompt(q, r, trace.RolePrompt)
		default:
			if !samplingParam(q, r, key) {
				r.skip()
			}
		}
	}
	if r.err == nil {
		bedrockPrompt(q, system, messages)
	}
}

func bedrockTools(q *request, r *reader) {
	for key := range r.members() {
		if string(key) == "tools" {
			q.tools += r.length()
		} else {
			r.skip()
		}
	}
}

func bedrockPrompt(q *request, system, messages []byte) {
	if len(system) > 0 && (system[0] == '"' || system[0] == '[' && !bytes.Equal(system, []byte("[]"))) {
		q.add(trace.RoleSystem, bedrockContent(q, trace.RoleSystem, system))
	}
	if len(messages) == 0 {
		return
	}
	var r reader
	r.reset(messages)
	if !r.open('[') {
		return
	}
	q.known = true
	for r.more() {
		bedrockMessage(q, &r)
	}
}

func bedrockMessage(q *request, r *reader) {
	if role, content, ok := turn(q, r); ok {
		q.add(role, bedrockContent(q, role, content))
	}
}

// bedrockContent visits a content and returns the bytes of its text.
func bedrockContent(q *request, role trace.Role, raw []byte) int {
	if len(raw) == 0 {
		return 0
	}
	q.sub.reset(raw)
	return bedrockParts(q, &q.sub, role)
}

// bedrockParts reads a text, a part, or a list of parts. Nesting is bounded by
// the reader.
func bedrockParts(q *request, r *reader, role trace.Role) (n int) {
	switch r.kind() {
	case '"':
		text, _ := r.text()
		return q.say(role, text)
	case '{':
		return bedrockPart(q, r, role)
	case '[':
		r.open('[')
		for r.more() {
			n += bedrockParts(q, r, role)
		}
		return n
	}
	r.skip()
	return 0
}

// bedrockPart reads one part, in Converse's form or a vendor's: the arguments
// of a tool call are its JSON.
func bedrockPart(q *request, r *reader, role trace.Role) (n int) {
	for key := range r.members() {
		switch string(key) {
		case "text", "thinking", "content", "toolUse", "toolResult", "reasoningContent", "reasoningText", "guardContent":
			n += bedrockParts(q, r, role)
		case "input", "json":
			n += q.say(role, r.raw())
		case "image":
			q.images++
			r.skip()
		case "type":
			if text, _ := r.text(); string(text) == "image" || string(text) == "image_url" {
				q.images++
			}
		default:
			r.skip()
		}
	}
	return n
}

// bedrockHeader reads the header of an answer: the counts of InvokeModel, and
// the type of an error.
func bedrockHeader(field func(name string) string, h *header) {
	const prefix = "x-amzn-bedrock-"
	u := &h.usage
	u.input, u.output = headerCount(field(prefix+"input-token-count")), headerCount(field(prefix+"output-token-count"))
	u.cached = headerCount(field(prefix + "cache-read-input-token-count"))
	u.written = headerCount(field(prefix + "cache-write-input-token-count"))
	u.seen, u.apart = u.input != 0 || u.output != 0, true
	h.times.total = headerMs(field(prefix + "invocation-latency"))
	// "ThrottlingException:http://internal.amazon.com/…"
	if kind, _, _ := strings.Cut(field("x-amzn-errortype"), ":"); len(kind) <= maxWord {
		h.errType = kind
	}
}
