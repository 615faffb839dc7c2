package llmwire

import (
	"fmt"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// bedrockConverse is Converse and ConverseStream, which have one form for all
// models.
var bedrockConverse = family{
	kind:      trace.KindBedrockConverse,
	operation: "chat",
	recognize: func(path string, _ []byte) bool {
		_, operation := bedrockOperation(path)
		return operation == "converse" || operation == "converse-stream"
	},
	request:  bedrockRequest,
	fromPath: bedrockPath,
	answer:   converseAnswer,
	header:   bedrockHeader,
	build:    buildConverse,
}

// converseAnswer reads an event, the same in an object under its name (as Nova
// has it), or an answer.
func converseAnswer(f *frame, r *reader) {
	if !r.open('{') {
		return
	}
	first, block := len(f.pieces), int32(0)
	for key := range r.names() {
		switch string(key) {
		case "contentBlockIndex":
			r.index(&block)
		case "messageStart", "contentBlockStart", "contentBlockDelta", "messageStop", "metadata", "output", "message":
			if r.kind() == '"' { // the text of an error
				f.failure.seen = true
			}
			converseAnswer(f, r)
			continue
		case "delta", "start":
			converseBlock(f, r)
		case "content":
			converseContent(f, r)
		default:
			if !converseMember(f, r, key) {
				r.skip()
			}
		}
	}
	for i := range f.pieces[first:] {
		if p := &f.pieces[first+i]; !p.hasIndex {
			p.hasIndex, p.index = true, block
		}
	}
}

func converseMember(f *frame, r *reader, key []byte) bool {
	switch string(key) {
	case "role":
		f.role, f.choices = true, 1
		r.skip()
	case "stopReason":
		f.choices = 1
		f.finish(r, 0)
	case "usage":
		converseUsage(&f.usage, r)
	case "metrics":
		converseMetrics(&f.times, r)
	default: // "trace" repeats text that a guardrail masked, "p" is padding
		return false
	}
	return true
}

func converseContent(f *frame, r *reader) {
	if !r.open('[') {
		return
	}
	for r.more() {
		converseBlock(f, r)
	}
}

// converseBlock reads a content block, or a delta of one.
func converseBlock(f *frame, r *reader) {
	if !r.open('{') {
		return
	}
	f.choices = 1
	for key := range r.names() {
		switch string(key) {
		case "text":
			f.text(r, trace.ChunkText)
		case "reasoningContent":
			converseReasoning(f, r)
		case "toolUse":
			converseTool(f, r)
		default:
			r.skip()
		}
	}
}

// converseReasoning reads {"text": …}, or the same in reasoningText. The
// signature is no text.
func converseReasoning(f *frame, r *reader) {
	for key := range r.members() {
		switch string(key) {
		case "text":
			f.text(r, trace.ChunkReasoning)
		case "reasoningText":
			converseReasoning(f, r)
		default:
			r.skip()
		}
	}
}

// converseTool reads a tool call: its input is text in a delta, JSON in a
// whole answer.
func converseTool(f *frame, r *reader) {
	if !r.open('{') {
		return
	}
	p := piece{kind: trace.ChunkToolArgs}
	for key := range r.names() {
		switch string(key) {
		case "toolUseId":
			text, _ := r.text()
			p.id = f.save(text)
		case "name":
			text, _ := r.text()
			p.name = f.save(text)
		case "input":
			if r.kind() == '"' {
				text, _ := r.text()
				p.text = f.save(text)
			} else {
				p.text = f.save(r.raw())
			}
		default:
			r.skip()
		}
	}
	f.pieces = append(f.pieces, p)
}

func converseUsage(u *usage, r *reader) {
	if !r.open('{') {
		return
	}
	for key := range r.names() {
		switch string(key) {
		case "inputTokens":
			r.count(&u.input)
		case "outputTokens":
			r.count(&u.output)
		case "cacheReadInputTokens", "cacheReadInputTokenCount":
			r.count(&u.cached)
		case "cacheWriteInputTokens", "cacheWriteInputTokenCount":
			r.count(&u.written)
		default:
			r.skip()
		}
	}
	u.seen, u.apart = u.input != 0 || u.output != 0, true
}

func converseMetrics(t *serverTimes, r *reader) {
	for key := range r.members() {
		if string(key) == "latencyMs" {
			r.duration(&t.total, 1000)
		} else {
			r.skip()
		}
	}
}

func buildConverse(dst []byte, s *Spec) (string, []byte, error) {
	if s.Model == "" {
		return "", nil, fmt.Errorf("build %s request: a model is needed, since it stands in the path", s.Kind)
	}
	o := object{dst}
	o.open("")
	conversation(&o, s, false)
	o.open("inferenceConfig")
	o.number("maxTokens", s.MaxTokens)
	o.float("temperature", s.Temperature)
	o.float("topP", s.TopP)
	o.close()
	o.close()
	operation := "converse"
	if s.Stream {
		operation += "-stream"
	}
	return bedrockPathOf(s.Model, operation), o.dst, nil
}

// conversation writes system texts and messages in Converse's form, or, with
// a type in each part, in Anthropic's.
func conversation(o *object, s *Spec, typed bool) {
	part := func(text string) {
		o.open("")
		if typed {
			o.text("type", "text")
		}
		o.text("text", text)
		o.close()
	}
	system, rest := s.splitSystem()
	if len(system) > 0 {
		o.list("system")
		for _, m := range system {
			part(m.Text)
		}
		o.end()
	}
	o.list("messages")
	for _, m := range rest {
		o.open("")
		o.text("role", roleName(m.Role, "assistant"))
		o.list("content")
		part(m.Text)
		o.end()
		o.close()
	}
	o.end()
}

// vendor is the maker's name in a model's id: "anthropic.claude-…",
// "us.meta.llama3-…", or an ARN that ends with one of these.
func vendor(model string) string {
	model = model[strings.LastIndexByte(model, '/')+1:]
	for _, name := range [...]string{"anthropic", "amazon.titan", "amazon.nova", "meta", "mistral"} {
		if strings.HasPrefix(model, name+".") || strings.HasPrefix(model, name+"-") || strings.Contains(model, "."+name+".") || strings.Contains(model, "."+name+"-") {
			return name
		}
	}
	return ""
}
