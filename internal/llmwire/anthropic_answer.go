package llmwire

import "github.com/lambdac/lambdac/trace"

// anthropicAnswer reads an event or a whole message: the members say what they
// are, whatever the event's type.
func anthropicAnswer(f *frame, r *reader) {
	index, hasIndex := int32(0), false
	if !r.open('{') {
		return
	}
	for key := range r.names() {
		switch string(key) {
		case "type":
			anthropicType(f, r)
		case "index":
			hasIndex = r.index(&index)
		case "message":
			anthropicStart(f, r)
		case "content_block":
			anthropicBlock(f, r)
		case "delta":
			anthropicDelta(f, r)
		case "error", "detail":
			f.failure.read(r)
		default:
			anthropicMember(f, r, key)
		}
	}
	for i := range f.pieces {
		if !f.whole {
			f.pieces[i].hasIndex, f.pieces[i].index = hasIndex, index
		}
	}
}

func anthropicType(f *frame, r *reader) {
	text, _ := r.text()
	switch string(text) {
	case "message_stop":
		f.ends = true
	case "ping":
		f.ping = true
	case "error":
		f.failure.seen = true
	}
}

// anthropicStart reads the message of message_start. Its usage replaces what
// was said before, and its output count is only where the count stands then: a
// stream without a message_delta has none.
func anthropicStart(f *frame, r *reader) {
	if !r.open('{') {
		return
	}
	for key := range r.names() {
		anthropicMember(f, r, key)
	}
	f.usage.again, f.usage.output = true, 0
}

// anthropicMember reads a member of a message.
func anthropicMember(f *frame, r *reader, key []byte) {
	switch string(key) {
	case "role":
		f.role = r.kind() == '"'
		r.skip()
	case "model":
		text, _ := r.text()
		f.model = append(f.model[:0], text...)
	case "content":
		if r.open('[') {
			for r.more() {
				anthropicBlock(f, r)
			}
		}
	case "stop_reason":
		anthropicReason(f, r)
	case "usage":
		anthropicUsage(f, r)
	case "timings": // llama.cpp
		openAITimings(f, r)
	default:
		r.skip()
	}
}

func anthropicReason(f *frame, r *reader) {
	if text, _ := r.text(); len(text) > 0 && len(text) <= maxWord {
		f.finishes = append(f.finishes[:0], finish{reason: f.save(text)})
	}
}

// anthropicUsage reads the counts; the cached tokens are apart from the input.
func anthropicUsage(f *frame, r *reader) {
	u := &f.usage
	if !r.open('{') {
		return
	}
	for key := range r.names() {
		switch string(key) {
		case "input_tokens":
			r.count(&u.input)
		case "output_tokens":
			r.count(&u.output)
		case "cache_read_input_tokens":
			r.count(&u.cached)
		case "cache_creation_input_tokens":
			r.count(&u.written)
		case "service_tier":
			text, _ := r.text()
			f.tier = append(f.tier[:0], text...)
		default:
			r.skip()
		}
	}
	u.apart = true
	u.seen = u.input != 0 || u.output != 0
}

// anthropicBlock reads a block of a whole message, or the one that an event
// opens. A call that is only opened has an empty object as its input.
func anthropicBlock(f *frame, r *reader) {
	p := piece{kind: trace.ChunkToolArgs}
	call := false
	if !r.open('{') {
		return
	}
	for key := range r.names() {
		switch string(key) {
		case "text":
			f.text(r, trace.ChunkText)
		case "thinking":
			f.text(r, trace.ChunkReasoning)
		case "id":
			text, _ := r.text()
			p.id = f.save(text)
		case "name":
			call = true
			text, _ := r.text()
			p.name = f.save(text)
		case "input":
			if raw := r.raw(); f.whole || first(raw) == '{' && !isEmptyObject(raw) {
				p.text = f.save(raw)
			}
		default:
			r.skip()
		}
	}
	if call {
		f.pieces = append(f.pieces, p)
	}
}

func isEmptyObject(raw []byte) bool {
	var r reader
	r.reset(raw)
	return r.open('{') && r.key() == nil
}

func anthropicDelta(f *frame, r *reader) {
	for key := range r.members() {
		switch string(key) {
		case "text":
			f.text(r, trace.ChunkText)
		case "thinking":
			f.text(r, trace.ChunkReasoning)
		case "partial_json":
			text, _ := r.text()
			f.pieces = append(f.pieces, piece{kind: trace.ChunkToolArgs, text: f.save(text)})
		case "stop_reason":
			anthropicReason(f, r)
		default:
			r.skip()
		}
	}
}
