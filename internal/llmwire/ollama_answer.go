package llmwire

import "github.com/lambdac/lambdac/trace"

// ollamaAnswer reads a line or a whole answer of either API. The line that is
// done is the end mark. An answer that only loaded the model, or dropped it, is
// done for the reason "load" or "unload" and has no tokens.
func ollamaAnswer(f *frame, r *reader) {
	var prompt, load count // ns, each one higher
	var reason span
	if !r.open('{') {
		return
	}
	for key := range r.names() {
		switch string(key) {
		case "model":
			text, _ := r.text()
			f.model = append(f.model[:0], text...)
		case "message":
			ollamaOutput(f, r)
		case "response":
			f.text(r, trace.ChunkText)
		case "thinking":
			f.text(r, trace.ChunkReasoning)
		case "done":
			f.done, _ = r.flag()
		case "done_reason":
			reason = openAIFinish(f, r, reason)
		case "prompt_eval_count":
			r.count(&f.usage.input)
		case "eval_count":
			r.count(&f.usage.output)
		case "total_duration":
			f.times.total = nanoseconds(r)
		case "load_duration":
			load = nanoseconds(r)
		case "prompt_eval_duration":
			prompt = nanoseconds(r)
		case "error":
			f.failure.read(r)
		default:
			r.skip()
		}
	}
	f.usage.seen = f.usage.input != 0 || f.usage.output != 0
	if prompt != 0 { // the first token follows the prompt's evaluation
		f.times.ttft = prompt.plus(load)
	}
	if reason.len() > 0 {
		f.finishes = append(f.finishes, finish{reason: reason})
	}
}

// nanoseconds takes the next value as a duration in ns, cut to whole µs.
func nanoseconds(r *reader) count {
	ns, ok := r.integer()
	if !ok {
		return 0
	}
	return micros(float64(ns/1000), 1)
}

func ollamaOutput(f *frame, r *reader) {
	for key := range r.members() {
		switch string(key) {
		case "content":
			f.text(r, trace.ChunkText)
		case "thinking":
			f.text(r, trace.ChunkReasoning)
		case "tool_calls":
			if r.open('[') {
				for r.more() {
					ollamaCall(f, r)
				}
			}
		default:
			r.skip()
		}
	}
}

// ollamaCall reads a call, which always comes whole, its arguments an object.
func ollamaCall(f *frame, r *reader) {
	p := piece{kind: trace.ChunkToolArgs, complete: true}
	if !r.open('{') {
		return
	}
	for key := range r.names() {
		if string(key) == "function" {
			ollamaFunction(f, r, &p)
		} else {
			r.skip()
		}
	}
	f.pieces = append(f.pieces, p)
}

func ollamaFunction(f *frame, r *reader, p *piece) {
	for key := range r.members() {
		switch string(key) {
		case "name":
			text, _ := r.text()
			p.name = f.save(text)
		case "arguments":
			p.text = f.save(r.raw())
		default:
			r.skip()
		}
	}
}
