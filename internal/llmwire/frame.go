package llmwire

import "github.com/lambdac/lambdac/trace"

// frame is what one event, or one whole body, holds. Nothing of it reaches
// the answer before the event was read to its end, so a cut or broken event
// leaves no trace. It is reused from event to event.
type frame struct {
	whole bool   // a body, not an event of a stream
	event []byte // the event's name; valid while it is read

	pieces  []piece
	buf     []byte  // the bytes of pieces, names and ids
	choices int     // choices met
	heard   []int32 // their indexes, where they have any
	start   int     // first piece of the choice being read

	literal   span    // where the last text stands in what literalOf reads
	literalOf *reader // nil = there was none

	role     bool // a delta named a role
	filter   bool // verdicts of a content filter
	data     bool // embeddings
	finishes []finish
	done     bool // the event is the end mark
	ends     bool // it says that the answer is complete, beside what else it says
	ping     bool
	detailed bool  // the reason of an end was said in a member of its own
	repeats  bool  // its pieces were sent before, if any were
	tokens   int32 // generated with the event, where the protocol says so; 0 = not said

	usage usage
	timed usage // as the server's timings have it
	times serverTimes

	model, tier []byte
	failure     failure

	inner   *reader // of a text inside the event, made on first use
	scratch []byte
	form    func(*frame, *reader) // of those texts, once it is known
}

// piece is a bit of generated output: a text, or a bit of a tool call. Of a tool
// call the arguments are the output: the name opens the call, as the role opens
// a message.
type piece struct {
	kind   trace.ChunkKind
	choice int32
	text   span
	// of tool calls
	id       span
	name     span
	hasIndex bool
	index    int32
	complete bool // a call of its own, all of it
	legacy   bool // said as function_call
}

// size is the number of bytes in the piece that the model wrote.
func (p *piece) size() int { return p.text.len() + p.name.len() }

// span is a part of the frame's buffer.
type span struct{ from, to int }

// finish is why a choice ended.
type finish struct {
	choice int32
	reason span
}

func (f *frame) reset(event []byte, whole bool) {
	*f = frame{
		whole: whole, event: event, pieces: f.pieces[:0], buf: f.buf[:0], finishes: f.finishes[:0],
		heard: f.heard[:0],
		model: f.model[:0], tier: f.tier[:0], failure: f.failure.emptied(),
		inner: f.inner, scratch: f.scratch[:0], form: f.form,
	}
}

// save copies text into the buffer.
func (f *frame) save(text []byte) span {
	from := len(f.buf)
	f.buf = append(f.buf, text...)
	return span{from, len(f.buf)}
}

func (f *frame) bytes(s span) []byte { return f.buf[s.from:s.to] }

func (s span) len() int { return s.to - s.from }

// text adds generated text, if the next value is some: a string, or a list of
// parts of which the text parts count. It reports whether it was any.
func (f *frame) text(r *reader, kind trace.ChunkKind) bool {
	if r.kind() == '[' {
		return f.parts(r, kind)
	}
	text, ok := r.text()
	if !ok || len(text) == 0 {
		return false
	}
	f.pieces = append(f.pieces, piece{kind: kind, text: f.save(text)})
	f.literal, f.literalOf = r.literal(len(text)), r
	return true
}

func (f *frame) parts(r *reader, kind trace.ChunkKind) (some bool) {
	r.open('[')
	for r.more() {
		for key := range r.members() {
			switch string(key) {
			case "text":
				some = f.text(r, kind) || some
			case "thinking":
				some = f.text(r, trace.ChunkReasoning) || some
			default:
				r.skip()
			}
		}
	}
	return some
}

// kind returns what the frame carries, by the most telling part of it, and
// the bytes of generated output in it.
func (f *frame) kind() (k trace.ChunkKind, n int) {
	for i := range f.pieces {
		p := &f.pieces[i]
		if p.text.len() == 0 {
			continue
		}
		n += p.text.len()
		if k == trace.ChunkNotSet || p.kind.Visible() && !k.Visible() {
			k = p.kind
		}
	}
	switch {
	case n > 0:
		return k, n
	case f.failure.seen:
		return trace.ChunkError, 0
	case f.ping:
		return trace.ChunkPing, 0
	case f.done:
		return trace.ChunkDone, 0
	case f.role:
		return trace.ChunkRole, 0
	case f.usage.seen:
		return trace.ChunkUsage, 0
	case f.filter && len(f.finishes) == 0:
		return trace.ChunkFilter, 0
	default:
		return trace.ChunkOther, 0
	}
}
