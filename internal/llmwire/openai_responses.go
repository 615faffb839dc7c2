package llmwire

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/lambdac/lambdac/trace"
)

// openAIResponses is the Responses API. Source: the OpenAI API reference,
// "Responses" and "Streaming events"; llama.cpp and LiteLLM speak it too.
var openAIResponses = family{
	kind:      trace.KindOpenAIResponses,
	operation: "chat",
	recognize: func(path string, body []byte) bool {
		return (strings.HasSuffix(path, "/responses") || path == "responses") && openAIShape(body, "input")
	},
	request: responsesRequest,
	answer:  responsesAnswer,
	build:   buildResponses,
}

// responsesRequest reads a request. The instructions stand before the input in
// the prompt, wherever they stand in the body.
func responsesRequest(q *request, r *reader) {
	var instructions, input []byte
	for key := range r.members() {
		switch string(key) {
		case "instructions":
			instructions = r.raw()
		case "input":
			input = r.raw()
		case "max_output_tokens":
			q.params.MaxTokens = r.int32At(0)
		case "tools":
			q.tools += r.length()
		case "reasoning":
			chatReasoning(q, r)
		case "text":
			responsesText(q, r)
		default:
			if !openAIParam(q, r, key) {
				r.skip()
			}
		}
	}
	if r.err != nil {
		return
	}
	if first(instructions) == '"' {
		q.add(trace.RoleSystem, q.say(trace.RoleSystem, q.sub.unquote(instructions)))
	}
	responsesInput(q, input)
}

// first is the first byte of a value; 0 where there is none.
func first(raw []byte) jsontext.Kind {
	if len(raw) == 0 {
		return 0
	}
	return jsontext.Kind(raw[0])
}

// responsesText reads {"format": {"type": …}, "verbosity": …}.
func responsesText(q *request, r *reader) {
	for key := range r.members() {
		if string(key) == "format" {
			openAIFormat(q, r)
		} else {
			r.skip()
		}
	}
}

func responsesInput(q *request, raw []byte) {
	switch first(raw) {
	case '"':
		q.known = true
		q.add(trace.RoleUser, q.say(trace.RoleUser, q.sub.unquote(raw)))
	case '[':
		q.known = true
		var r reader
		r.reset(raw)
		r.open('[')
		for r.more() {
			responsesItem(q, &r)
		}
	}
}

// responsesItem reads one item of the input: a message, a call, the answer to
// one, or earlier reasoning.
func responsesItem(q *request, r *reader) {
	if !r.open('{') {
		q.addSizeless()
		return
	}
	role := trace.RoleUnknown
	var typ string
	var content, output, arguments, summary []byte
	for key := range r.names() {
		switch string(key) {
		case "type":
			typ = r.str()
		case "role":
			text, _ := r.text()
			role = chatRole(text)
		case "content":
			content = r.raw()
		case "output":
			output = r.raw()
		case "arguments", "input":
			arguments = r.raw()
		case "summary":
			summary = r.raw()
		default:
			r.skip()
		}
	}
	switch {
	case typ == "item_reference":
		q.addSizeless()
		return
	case strings.HasSuffix(typ, "_output"):
		role = trace.RoleTool
	case role == trace.RoleUnknown && typ != "":
		role = trace.RoleAssistant
	}
	n := 0
	for _, raw := range [...][]byte{summary, content, arguments, output} {
		n += chatContent(q, role, raw)
	}
	q.add(role, n)
}

// responsesDelta returns what the delta of an event of that type is, or
// ChunkNotSet.
func responsesDelta(typ []byte) trace.ChunkKind {
	switch string(typ) {
	case "response.output_text.delta":
		return trace.ChunkText
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta",
		"response.reasoning_summary.delta", "response.reasoning.delta":
		return trace.ChunkReasoning
	case "response.refusal.delta":
		return trace.ChunkRefusal
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta",
		"response.mcp_call_arguments.delta", "response.code_interpreter_call_code.delta":
		return trace.ChunkToolArgs
	case "response.audio.transcript.delta":
		return trace.ChunkAudio
	default:
		return trace.ChunkNotSet
	}
}

// buildResponses puts leading system messages into the instructions. Nothing is
// to be stored by the service.
func buildResponses(dst []byte, s *Spec) (string, []byte, error) {
	o := object{dst: dst}
	system, rest := s.splitSystem()
	o.open("")
	o.model(s)
	if len(system) > 0 {
		o.text("instructions", joined(system))
	}
	o.messages("input", rest, chatRoleName)
	o.name("store")
	o.dst = append(o.dst, "false"...)
	o.flag("stream", s.Stream)
	o.number("max_output_tokens", s.MaxTokens)
	o.float("temperature", s.Temperature)
	o.float("top_p", s.TopP)
	o.flag("ignore_eos", s.IgnoreEOS)
	o.close()
	return "/v1/responses", o.dst, nil
}
