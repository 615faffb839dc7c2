package llmwire

import (
	"math"

	"github.com/lambdac/lambdac/trace"
)

// geminiAnswer reads an event, an element of the array, or a whole answer.
func geminiAnswer(f *frame, r *reader) {
	if r.kind() == '[' { // an array that came whole
		r.open('[')
		for r.more() {
			geminiResponse(f, r)
		}
		return
	}
	geminiResponse(f, r)
}

func geminiResponse(f *frame, r *reader) {
	for key := range r.members() {
		switch string(key) {
		case "candidates":
			if r.open('[') {
				for r.more() {
					geminiCandidate(f, r)
				}
			}
		case "usageMetadata", "usage_metadata":
			geminiUsage(&f.usage, r)
		case "modelVersion", "model_version":
			text, _ := r.text()
			f.model = append(f.model[:0], text...)
		case "promptFeedback", "prompt_feedback":
			geminiBlock(f, r)
		case "error":
			geminiError(f, r)
		default:
			r.skip()
		}
	}
}

// geminiBlock reads why a prompt was refused: there is no candidate then.
func geminiBlock(f *frame, r *reader) {
	if !r.open('{') {
		return
	}
	for key := range r.names() {
		switch string(key) {
		case "blockReason", "block_reason":
			if reason := openAIFinish(f, r, span{}); reason.len() > 0 {
				f.finishes = append(f.finishes, finish{reason: reason})
			}
		default:
			r.skip()
		}
	}
	f.filter = true
}

// geminiError reads {"code": 429, "status": "RESOURCE_EXHAUSTED", …}: the
// status is the type. Servers beside Google's say an error as OpenAI does.
func geminiError(f *frame, r *reader) {
	if r.kind() != '{' {
		f.failure.read(r)
		return
	}
	f.failure.seen = true
	for key := range r.members() {
		switch {
		case string(key) == "status":
			f.failure.kind = takeWord(r, f.failure.kind)
		case !f.failure.member(r, key):
			r.skip()
		}
	}
}

// geminiCandidate reads one candidate; its index may stand behind its parts.
func geminiCandidate(f *frame, r *reader) {
	start := len(f.pieces)
	index := int32(min(f.choices, math.MaxInt32))
	if !r.open('{') {
		return
	}
	f.choices++
	var reason span
	for key := range r.names() {
		switch string(key) {
		case "index":
			r.index(&index)
		case "content":
			geminiOutput(f, r)
		case "finishReason", "finish_reason":
			reason = openAIFinish(f, r, reason)
		default:
			r.skip()
		}
	}
	f.heard = append(f.heard, index)
	for i := range f.pieces[start:] {
		f.pieces[start+i].choice = index
	}
	if reason.len() > 0 {
		f.finishes = append(f.finishes, finish{choice: index, reason: reason})
	}
}

func geminiOutput(f *frame, r *reader) {
	for key := range r.members() {
		if string(key) == "parts" && r.kind() == '[' {
			r.open('[')
			for r.more() {
				geminiPart(f, r)
			}
		} else {
			r.skip()
		}
	}
}

// geminiPart reads one part. That it is a thought may be said behind its text.
func geminiPart(f *frame, r *reader) {
	start, thought := len(f.pieces), false
	if !r.open('{') {
		return
	}
	for key := range r.names() {
		switch string(key) {
		case "text":
			f.text(r, trace.ChunkText)
		case "thought":
			thought, _ = r.flag()
		case "functionCall", "function_call":
			geminiCall(f, r)
		case "executableCode", "executable_code":
			geminiCode(f, r)
		default:
			r.skip()
		}
	}
	for i := range f.pieces[start:] {
		if p := &f.pieces[start+i]; thought && p.kind == trace.ChunkText {
			p.kind = trace.ChunkReasoning
		}
	}
}

// geminiCall reads a call, which always comes whole. One without arguments has
// none, or an empty object.
func geminiCall(f *frame, r *reader) {
	p := piece{kind: trace.ChunkToolArgs, complete: true}
	if !r.open('{') {
		return
	}
	for key := range r.names() {
		switch string(key) {
		case "id":
			text, _ := r.text()
			p.id = f.save(text)
		case "name":
			text, _ := r.text()
			p.name = f.save(text)
		case "args":
			p.text = f.save(r.raw())
		default:
			r.skip()
		}
	}
	f.pieces = append(f.pieces, p)
}

// geminiCode reads code that the service itself runs for the model.
func geminiCode(f *frame, r *reader) {
	for key := range r.members() {
		if string(key) == "code" {
			text, _ := r.text()
			f.pieces = append(f.pieces, piece{kind: trace.ChunkToolArgs, complete: true, text: f.save(text)})
		} else {
			r.skip()
		}
	}
}

// geminiUsage reads the counts. Thoughts are apart from the output, or in it,
// by model and version: the total tells.
func geminiUsage(u *usage, r *reader) {
	if !r.open('{') {
		return
	}
	for key := range r.names() {
		switch string(key) {
		case "promptTokenCount", "prompt_token_count":
			r.count(&u.input)
		case "candidatesTokenCount", "candidates_token_count":
			r.count(&u.output)
		case "thoughtsTokenCount", "thoughts_token_count":
			r.count(&u.reasoning)
		case "cachedContentTokenCount", "cached_content_token_count":
			r.count(&u.cached)
		case "toolUsePromptTokenCount", "tool_use_prompt_token_count":
			r.count(&u.tools)
		case "totalTokenCount", "total_token_count":
			r.count(&u.total)
		default:
			r.skip()
		}
	}
	u.thinks = true
	u.seen = u.input != 0 || u.output != 0 || u.reasoning != 0
}
