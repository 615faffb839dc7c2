package llmwire

import "github.com/lambdac/lambdac/trace"

// responsesAnswer reads an event or a whole response. Only deltas are output
// as it comes; what the events after them repeat is taken where no delta came.
func responsesAnswer(f *frame, r *reader) {
	e := responsesEvent{typ: f.event}
	if !r.open('{') {
		return
	}
	for key := range r.names() {
		e.member(f, r, key)
	}
	if r.err == nil {
		e.close(f)
	}
}

// responsesEvent is what an event says at its top; its type may stand last.
type responsesEvent struct {
	typ   []byte
	piece piece
	model []byte // beside the response: LiteLLM's
	top   failure
}

func (e *responsesEvent) member(f *frame, r *reader, key []byte) {
	switch string(key) {
	case "type":
		if text, ok := r.text(); ok {
			e.typ = f.bytes(f.save(text))
		}
	case "delta":
		text, _ := r.text()
		e.piece.text = f.save(text)
	case "output_index":
		e.piece.hasIndex = r.index(&e.piece.index)
	case "item_id":
		text, _ := r.text()
		e.piece.id = f.save(text)
	case "item":
		responsesOutput(f, r, true)
	case "response":
		responsesObject(f, r)
	case "timings": // llama.cpp
		openAITimings(f, r)
	case "code":
		e.top.code = takeWord(r, e.top.code)
	case "detail": // FastAPI
		e.top.seen = r.kind() != 'n'
		r.skip()
	case "model":
		text, _ := r.text()
		e.model = f.bytes(f.save(text))
	default:
		responsesMember(f, r, key)
	}
}

func (e *responsesEvent) close(f *frame) {
	if len(f.model) == 0 {
		f.model = append(f.model, e.model...)
	}
	if kind := responsesDelta(e.typ); kind != trace.ChunkNotSet {
		e.piece.kind = kind
		f.pieces = append(f.pieces, e.piece)
		e.place(f)
		return
	}
	e.place(f)
	e.state(f)
	e.fail(f)
}

// place numbers the calls by their place in the output where it is said: ids of
// items and of the events about them do not always agree.
func (e *responsesEvent) place(f *frame) {
	if !e.piece.hasIndex {
		return
	}
	for i := range f.pieces {
		p := &f.pieces[i]
		p.hasIndex, p.index, p.id = true, e.piece.index, span{}
	}
}

func (e *responsesEvent) state(f *frame) {
	switch string(e.typ) {
	case "response.completed", "response.incomplete", "response.failed":
		f.ends = true
		f.failure.seen = f.failure.seen || string(e.typ) == "response.failed"
	case "error":
		f.failure.seen = true
	case "response.output_item.added":
	default:
		if !f.whole { // a state on the way, or what is said once more
			f.finishes, f.pieces = f.finishes[:0], f.pieces[:0]
		}
	}
}

// fail takes an error at the top; where an error has no type, its code is it.
func (e *responsesEvent) fail(f *frame) {
	f.failure.seen = f.failure.seen || e.top.seen
	if f.failure.seen && len(f.failure.code) == 0 {
		f.failure.code = append(f.failure.code, e.top.code...)
	}
	if f.failure.seen && len(f.failure.kind) == 0 {
		f.failure.kind = append(f.failure.kind, f.failure.code...)
	}
}

// responsesObject reads a response. In a stream it repeats what came before.
func responsesObject(f *frame, r *reader) {
	if !r.open('{') {
		return
	}
	f.repeats = !f.whole
	for key := range r.names() {
		if string(key) == "model" {
			text, _ := r.text()
			f.model = append(f.model[:0], text...)
		} else {
			responsesMember(f, r, key)
		}
	}
}

// responsesMember reads a member of a response.
func responsesMember(f *frame, r *reader, key []byte) {
	switch string(key) {
	case "output":
		if r.open('[') {
			for r.more() {
				responsesOutput(f, r, false)
			}
		}
	case "usage":
		responsesUsage(&f.usage, r)
	case "service_tier":
		text, _ := r.text()
		f.tier = append(f.tier[:0], text...)
	case "error":
		f.failure.read(r)
	case "status":
		responsesStatus(f, r)
	case "incomplete_details":
		responsesReason(f, r)
	default:
		r.skip()
	}
}

// responsesStatus takes the status as the reason for which the answer ended,
// where no details say more. Whether a service sends the details as null or
// leaves them out says nothing.
func responsesStatus(f *frame, r *reader) {
	text, _ := r.text()
	switch string(text) {
	case "completed", "incomplete", "cancelled":
		if !f.detailed {
			f.finishes = append(f.finishes[:0], finish{reason: f.save(text)})
		}
	case "failed":
		f.failure.seen = true
	}
}

// responsesReason takes the reason from incomplete_details.
func responsesReason(f *frame, r *reader) {
	for key := range r.members() {
		if string(key) != "reason" {
			r.skip()
			continue
		}
		if text, _ := r.text(); len(text) > 0 && len(text) <= maxWord {
			f.detailed = true
			f.finishes = append(f.finishes[:0], finish{reason: f.save(text)})
		}
	}
}

// responsesOutput reads an item of the output. One that was only added opens a
// call and says nothing else.
func responsesOutput(f *frame, r *reader, added bool) {
	p := piece{kind: trace.ChunkToolArgs}
	if !r.open('{') {
		return
	}
	call := false
	start := len(f.pieces)
	for key := range r.names() {
		switch string(key) {
		case "id":
			text, _ := r.text()
			p.id = f.save(text)
		case "name":
			call = true
			text, _ := r.text()
			p.name = f.save(text)
		case "arguments", "input":
			text, _ := r.text()
			p.text = f.save(text)
		case "content":
			responsesParts(f, r, trace.ChunkText)
		case "summary":
			responsesParts(f, r, trace.ChunkReasoning)
		default:
			r.skip()
		}
	}
	if added {
		f.pieces = f.pieces[:start]
		p.text = span{}
	}
	if call {
		f.pieces = append(f.pieces, p)
	}
}

func responsesParts(f *frame, r *reader, kind trace.ChunkKind) {
	if !r.open('[') {
		return
	}
	for r.more() {
		responsesPart(f, r, kind)
	}
}

// responsesPart reads a part of an item's content. Its type may stand behind
// its text.
func responsesPart(f *frame, r *reader, kind trace.ChunkKind) {
	start := len(f.pieces)
	if !r.open('{') {
		return
	}
	for key := range r.names() {
		switch string(key) {
		case "text":
			f.text(r, kind)
		case "refusal":
			f.text(r, trace.ChunkRefusal)
		case "transcript":
			f.text(r, trace.ChunkAudio)
		case "type":
			if text, _ := r.text(); string(text) == "reasoning_text" {
				kind = trace.ChunkReasoning
			}
		default:
			r.skip()
		}
	}
	for i := range f.pieces[start:] {
		if p := &f.pieces[start+i]; p.kind == trace.ChunkText {
			p.kind = kind
		}
	}
}

func responsesUsage(u *usage, r *reader) {
	if !r.open('{') {
		return
	}
	for key := range r.names() {
		switch string(key) {
		case "input_tokens":
			r.count(&u.input)
		case "output_tokens":
			r.count(&u.output)
		case "input_tokens_details", "output_tokens_details":
			openAIDetails(u, r)
		default:
			r.skip()
		}
	}
	u.seen = u.input != 0 || u.output != 0
}
