package llmwire

import (
	"math"
	"slices"

	"github.com/lambdac/lambdac/trace"
)

// openAIAnswer reads an event or a body of the three OpenAI families: they
// differ only in where a choice has its text.
func openAIAnswer(f *frame, r *reader) {
	var top failure // an error whose members stand at the top (vLLM)
	object := false
	if !r.open('{') {
		return
	}
	for key := range r.names() {
		switch string(key) {
		case "choices":
			openAIChoices(f, r)
		case "usage":
			openAIUsage(&f.usage, r)
		case "model":
			text, _ := r.text()
			f.model = append(f.model[:0], text...)
		case "error":
			f.failure.read(r)
		case "timings":
			openAITimings(f, r)
		case "service_tier":
			text, _ := r.text()
			f.tier = append(f.tier[:0], text...)
		case "prompt_filter_results":
			f.filter = true
			r.skip()
		case "x_groq":
			openAIGroq(f, r)
		case "data":
			f.data = r.kind() == '['
			r.skip()
		case "object":
			text, _ := r.text()
			object = string(text) == "error"
		case "detail": // FastAPI
			top.seen = r.kind() != 'n'
			r.skip()
		default:
			if !top.member(r, key) {
				r.skip()
			}
		}
	}
	openAITop(f, &top, object)
}

// openAITop decides whether members at the top make an error.
func openAITop(f *frame, top *failure, object bool) {
	if f.failure.seen {
		// {"error": "…", "error_type": "…"}
		if len(f.failure.kind) == 0 {
			f.failure.kind = append(f.failure.kind, top.kind...)
		}
		return
	}
	if object || top.seen && f.choices == 0 && !f.data {
		top.seen = true
		f.failure = *top
	}
}

// openAIGroq reads Groq's own member, which holds usage or an error.
func openAIGroq(f *frame, r *reader) {
	for key := range r.members() {
		switch string(key) {
		case "usage":
			openAIUsage(&f.usage, r)
		case "error":
			f.failure.read(r)
		default:
			r.skip()
		}
	}
}

func openAIChoices(f *frame, r *reader) {
	if !r.open('[') {
		return
	}
	for r.more() {
		openAIChoice(f, r)
	}
}

// openAIChoice reads one choice. Its index may stand behind its text, so the
// pieces get it at the end; without one it is the place in the list.
func openAIChoice(f *frame, r *reader) {
	f.start = len(f.pieces)
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
		case "delta", "message":
			openAIDelta(f, r)
		case "text":
			f.text(r, trace.ChunkText)
		case "finish_reason":
			reason = openAIFinish(f, r, reason)
		case "native_finish_reason":
			text, _ := r.text()
			f.failure.seen = f.failure.seen || string(text) == "error"
		case "error":
			f.failure.read(r)
		case "content_filter_results", "content_filter_offsets", "content_filter_result":
			f.filter = true
			r.skip()
		default:
			r.skip()
		}
	}
	f.heard = append(f.heard, index)
	for i := range f.pieces[f.start:] {
		f.pieces[f.start+i].choice = index
	}
	if reason.len() > 0 {
		f.finishes = append(f.finishes, finish{choice: index, reason: reason})
	}
}

func openAIFinish(f *frame, r *reader, before span) span {
	text, _ := r.text()
	if len(text) == 0 || len(text) > maxWord {
		return before
	}
	f.failure.seen = f.failure.seen || string(text) == "error"
	return f.save(text)
}

// openAIDelta reads a delta, or the message of an answer that was not
// streamed.
func openAIDelta(f *frame, r *reader) {
	if !r.open('{') {
		return
	}
	reasoned := false
	var calls, legacy int // pieces of either form
	for key := range r.names() {
		switch string(key) {
		case "role":
			f.role = r.kind() == '"' || f.role
			r.skip()
		case "content":
			f.text(r, trace.ChunkText)
		case "reasoning_content", "reasoning":
			// Some servers send one text under both names.
			if reasoned {
				r.skip()
			} else {
				reasoned = f.text(r, trace.ChunkReasoning)
			}
		case "refusal":
			f.text(r, trace.ChunkRefusal)
		case "tool_calls":
			calls += openAICalls(f, r)
		case "function_call":
			legacy += openAICall(f, r, true)
		case "audio":
			openAIAudio(f, r)
		default:
			r.skip()
		}
	}
	if calls > 0 && legacy > 0 { // llama-cpp-python says a call in both forms
		own := slices.DeleteFunc(f.pieces[f.start:], func(p piece) bool { return p.legacy })
		f.pieces = f.pieces[:f.start+len(own)]
	}
}

// openAIAudio reads spoken output: its transcript is its text.
func openAIAudio(f *frame, r *reader) {
	for key := range r.members() {
		if string(key) == "transcript" {
			f.text(r, trace.ChunkAudio)
		} else {
			r.skip()
		}
	}
}

func openAICalls(f *frame, r *reader) (n int) {
	if !r.open('[') {
		return 0
	}
	for r.more() {
		n += openAICall(f, r, false)
	}
	return n
}

// openAICall reads a bit of a tool call, or the older function_call, which has
// the function's members itself. It returns the number of pieces added.
func openAICall(f *frame, r *reader, legacy bool) int {
	p := piece{kind: trace.ChunkToolArgs, legacy: legacy}
	if !r.open('{') {
		return 0
	}
	for key := range r.names() {
		switch string(key) {
		case "index":
			p.hasIndex = r.index(&p.index)
		case "id":
			text, _ := r.text()
			p.id = f.save(text)
		case "function":
			openAIFunction(f, r, &p)
		default:
			if !openAIFunctionMember(f, r, key, &p) {
				r.skip()
			}
		}
	}
	if !p.hasIndex && p.id.len()+p.size() == 0 {
		return 0
	}
	f.pieces = append(f.pieces, p)
	return 1
}

func openAIFunction(f *frame, r *reader, p *piece) {
	for key := range r.members() {
		if !openAIFunctionMember(f, r, key, p) {
			r.skip()
		}
	}
}

func openAIFunctionMember(f *frame, r *reader, key []byte, p *piece) bool {
	switch string(key) {
	case "name":
		text, _ := r.text()
		p.name = f.save(text)
	case "arguments":
		if r.kind() == '{' { // JSON itself, where OpenAI has a text of it
			p.text = f.save(r.raw())
			break
		}
		text, _ := r.text()
		p.text = f.save(text)
	default:
		return false
	}
	return true
}
