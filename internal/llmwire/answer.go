package llmwire

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/lambdac/lambdac/trace"
)

// Chunk is what one event of a stream carries.
type Chunk struct {
	Kind trace.ChunkKind
	// Bytes is the size of the generated output in it (UTF-8), or of its data
	// where it carries none.
	Bytes int32
	// Tokens are the tokens in it, where the service says so; the pointee may
	// be shared with other chunks.
	Tokens *int32
	// Counts: it counts in chunk_count, i.e. it carries generated output, or
	// an empty delta whose usage grew.
	Counts bool
	// Done: it says that the stream is complete. Where it says nothing else,
	// Kind is done.
	Done bool
	// Failed: it holds an error, alone or beside a choice.
	Failed bool
	// Late: it came after the end mark. Its text is no part of the answer.
	Late bool
}

// maxAnswerText bounds the generated text kept of one answer, bytes.
const maxAnswerText = 16 << 20

// maxParts bounds the choices and the texts that are told apart in one answer.
const maxParts = 1 << 12

// Answer follows one answer, by Event for each event of a stream or by Body
// for a whole body, and then fills the record. It is not safe for concurrent
// use.
type Answer struct {
	family *family
	r      reader
	f      frame
	before alike // the event that f is of

	texts   []trace.AnswerText
	places  map[place]int // of texts, once there are many
	calls   []call
	kept    int64 // bytes in texts
	textCut int64 // bytes left out by maxAnswerText
	repeats repeating
	trimmed int // bytes taken off the first text that seemed to repeat

	usage    usage
	timed    usage
	header   header
	times    serverTimes
	model    string
	tier     string
	finishes []choiceFinish // in order of choice
	heard    []int32        // choices heard of, in order

	errType, errCode string

	done, generated, failed bool
	closed                  bool // "[DONE]" came: no client reads on
	whole                   bool // it came as one body

	chunks      int32  // that count
	firstTokens *int32 // of the first of them
	lastTokens  *int32
}

// header is what an answer's header says.
type header struct {
	usage   usage
	times   serverTimes
	errType string
}

type place struct {
	choice, tool int32
	kind         trace.ChunkKind
}

// call is one tool call of a choice.
type call struct {
	choice, index int32
	id            string
}

type choiceFinish struct {
	choice int32
	reason string
}

// NewAnswer returns a follower of answers of one family. Of a kind without a
// family only the end mark "[DONE]" and error objects are understood.
func NewAnswer(kind trace.APIKind) *Answer {
	a := new(Answer)
	a.Reset(kind)
	return a
}

// Reset makes it the follower of another answer, with the memory of the last.
// What was handed out stays.
func (a *Answer) Reset(kind trace.APIKind) {
	f := find(kind)
	if f == nil {
		f = &opaque
	}
	a.f.reset(nil, false)
	a.f.form, a.before.known = nil, false
	*a = Answer{
		family: f, repeats: f.repeats, r: a.r, f: a.f, before: a.before,
		finishes: a.finishes[:0], heard: a.heard[:0], calls: a.calls[:0],
	}
}

// opaque stands for the families that are not known.
var opaque = family{kind: trace.KindOther, answer: opaqueAnswer}

func opaqueAnswer(f *frame, r *reader) {
	for key := range r.members() {
		if string(key) == "error" {
			f.failure.read(r)
		} else {
			r.skip()
		}
	}
}

// Event reads one event: its name, empty if it has none, and its data. It
// keeps neither. Data that is not the family's JSON is a chunk of kind other.
func (a *Answer) Event(name, data []byte) Chunk {
	late := a.done
	if string(bytes.Trim(data, " \t\r\n")) == "[DONE]" {
		a.done, a.closed = true, true
		return Chunk{Kind: trace.ChunkDone, Bytes: size(len(data)), Done: true, Late: late}
	}
	if string(name) == "ping" {
		return Chunk{Kind: trace.ChunkPing, Bytes: size(len(data)), Late: late}
	}
	c := Chunk{Kind: trace.ChunkOther, Bytes: size(len(data)), Late: late}
	if err := a.parse(name, data, false); err != nil {
		return c
	}
	if string(name) == "error" {
		a.f.failure.seen = true
	}
	return a.event(c)
}

// Exception reads one message that says, by its own framing, that the service
// failed; name is the type of the failure.
func (a *Answer) Exception(name, data []byte) Chunk {
	c := Chunk{Kind: trace.ChunkError, Bytes: size(len(data)), Failed: true, Late: a.done}
	_ = a.parse(nil, data, false) // what it says beside its type is welcome, and no more
	a.before.known = false        // what comes now is in the frame and not in the event
	a.f.failure.seen = true
	if len(name) > 0 && len(name) <= maxWord {
		a.f.failure.kind = append(a.f.failure.kind[:0], name...)
	}
	a.take(false)
	return c
}

// event takes the frame over that was read from one event.
func (a *Answer) event(c Chunk) Chunk {
	late := c.Late
	if a.repeats != repeatNever {
		a.trim()
	}
	if a.f.repeats && a.generated {
		a.f.pieces = a.f.pieces[:0]
	}
	kind, n := a.f.kind()
	if kind == trace.ChunkOther && a.callGoesOn() {
		kind, c.Bytes = trace.ChunkToolArgs, 0
	}
	c.Kind, c.Failed, c.Done = kind, a.f.failure.seen, a.f.done || a.f.ends
	if late && kind.Generated() {
		c.Kind, n = trace.ChunkOther, 0
	}
	if n > 0 {
		c.Bytes = size(n)
	}
	grown := a.grown(n > 0)
	c.Counts = n > 0 || grown > 0 && a.f.choices > 0 && !late
	if c.Counts {
		c.Tokens = a.tokens(grown)
		if a.chunks++; a.chunks == 1 {
			a.firstTokens = c.Tokens
		}
	}
	a.take(!late)
	a.done = a.done || c.Done
	return c
}

// said is what was said at a place; nil if nothing.
func (a *Answer) said(at place) *trace.AnswerText {
	for i := range a.texts {
		if placeOf(&a.texts[i]) == at {
			return &a.texts[i]
		}
	}
	return nil
}

// Head reads what the answer's header says of tokens and times, once its body
// was read; field returns the value of a field by its lower-case name, "" where
// it has none. Counts of the body are believed before those.
func (a *Answer) Head(field func(name string) string) {
	if a.family.header != nil {
		a.family.header(field, &a.header)
	}
	times := commonTimes(field, a.whole)
	times.merge(&a.header.times)
	a.header.times = times
}

// Body reads a whole body: an answer or an error, of any status. On an error,
// a [*SyntaxError], nothing of it is taken.
func (a *Answer) Body(data []byte) error {
	if err := a.parse(nil, data, true); err != nil {
		return fmt.Errorf("read %s answer: %w", a.family.kind, err)
	}
	a.take(true)
	a.whole = true
	return nil
}

// Marked reports whether streams of this family say that they are complete.
// Where they do not, the end of the message is all there is.
func (a *Answer) Marked() bool { return !a.family.unmarked }

// Ended reports whether the answer said that it is complete: by its end mark,
// or by a finish reason for every choice that was heard of.
func (a *Answer) Ended() bool {
	return a.done || len(a.finishes) > 0 && len(a.finishes) >= len(a.heard)
}

// Idle reports whether the service only loaded its model, or dropped it: nothing
// was asked of it (Ollama, also where it was not to stream).
func (a *Answer) Idle() bool {
	return !a.generated && slices.ContainsFunc(a.finishes, func(f choiceFinish) bool {
		return f.reason == "load" || f.reason == "unload"
	})
}

// Generated reports whether any output was generated. Embeddings are none.
func (a *Answer) Generated() bool { return a.generated }

// ErrorSeen reports whether the answer held an error, or ended a choice with
// the finish reason "error".
func (a *Answer) ErrorSeen() bool { return a.failed }

// Fill writes what the answer said: usage, the server's times, tokens of the
// first chunk into rec; finish reasons in order of choice, error type and
// code, response model, service tier and the generated texts into x. It sets
// no times of ours and no outcome. The bytes of text left out (an answer of
// more than 16 MiB) are added to x.RespBodyCut. The texts are handed over.
func (a *Answer) Fill(rec *trace.Record, x *trace.Exchange) {
	a.fillUsage(&rec.Usage)
	times := a.header.times
	times.merge(&a.times)
	times.fill(&rec.ServerTimes)
	rec.FirstChunkTokens = a.firstTokens
	if a.model != "" {
		x.Said.ResponseModel = a.model
	}
	if a.tier != "" {
		x.Said.ServiceTier = a.tier
	}
	x.Said.FinishReasons = nil
	for _, f := range a.finishes {
		x.Said.FinishReasons = append(x.Said.FinishReasons, f.reason)
	}
	x.Said.ErrorType, x.Said.ErrorCode = cmp.Or(a.errType, a.header.errType), a.errCode
	x.Answer = a.texts
	x.RespBodyCut += a.textCut
}

// parse reads an event or a body. Where it is no JSON because of numbers that
// Python writes and its clients read, it is read without those.
func (a *Answer) parse(name, data []byte, whole bool) error {
	err := a.read(name, data, whole)
	if err == nil {
		return nil
	}
	if finite, some := withoutNaN(data); some && a.read(name, finite, whole) == nil {
		return nil
	}
	return err
}

func (a *Answer) read(name, data []byte, whole bool) error {
	if a.before.known && !whole {
		if text := a.before.text(name, data); text != nil {
			a.f.event, a.f.buf = name, append(a.f.buf[:0], text...)
			a.f.pieces[0].text.to = len(text)
			return nil
		}
	}
	a.f.reset(name, whole)
	a.r.reset(data)
	a.family.answer(&a.f, &a.r)
	err := a.r.end()
	a.before.known = false
	if err == nil && a.repeats == repeatNever {
		a.before.remember(&a.f, &a.r, name, data)
	}
	return err
}

// grown returns by how much completion_tokens rose with this frame, 0 where
// that cannot be told: where output came before the first usage, the frame's
// share in it is unknown.
func (a *Answer) grown(generated bool) int64 {
	now, before := a.f.usage.output, a.usage.output
	switch {
	case a.f.tokens > 0:
		return int64(a.f.tokens)
	case now == 0, before == 0 && a.generated, before == 0 && !generated:
		return 0
	case before == 0:
		before = 1 // none so far
	}
	return int64(now - before)
}

// tokens returns n for a chunk, nil unless it is positive. Most streams say 1
// every time: one pointee serves.
func (a *Answer) tokens(n int64) *int32 {
	if n <= 0 || n > math.MaxInt32 {
		return nil
	}
	if a.lastTokens == nil || int64(*a.lastTokens) != n {
		a.lastTokens = new(int32(n))
	}
	return a.lastTokens
}

// take merges the frame that was read.
func (a *Answer) take(output bool) {
	f := &a.f
	a.usage.merge(&f.usage)
	a.timed.merge(&f.timed)
	a.times.merge(&f.times)
	if len(f.model) > 0 && string(f.model) != a.model {
		a.model = string(f.model)
	}
	if len(f.tier) > 0 && string(f.tier) != a.tier {
		a.tier = string(f.tier)
	}
	if f.failure.seen && !a.closed {
		a.fail(&f.failure)
	}
	if output {
		a.output(f)
	}
}

// fail notes an error; the first type and code said stay.
func (a *Answer) fail(e *failure) {
	a.failed = true
	if a.errType == "" {
		a.errType = string(e.kind)
	}
	if a.errCode == "" {
		a.errCode = string(e.code)
	}
}

func (a *Answer) output(f *frame) {
	if f.choices > 0 && len(f.heard) == 0 {
		a.hear(0)
	}
	for _, choice := range f.heard {
		a.hear(choice)
	}
	for i := range f.pieces {
		p := &f.pieces[i]
		a.hear(p.choice)
		tool := int32(0)
		if p.kind == trace.ChunkToolArgs {
			tool = a.call(p)
		}
		a.generated = a.generated || p.size() > 0
		a.add(place{p.choice, tool, p.kind}, f.bytes(p.text), f.whole)
	}
	for _, fin := range f.finishes {
		a.hear(fin.choice)
		a.finish(fin.choice, f.bytes(fin.reason))
	}
}

// hear notes a choice: those of an answer need not begin at 0. One more is kept
// than can finish, so that an answer of too many has not ended by their reasons.
func (a *Answer) hear(choice int32) {
	if i, found := slices.BinarySearch(a.heard, choice); !found && len(a.heard) <= maxParts {
		a.heard = slices.Insert(a.heard, i, choice)
	}
}

func (a *Answer) finish(choice int32, reason []byte) {
	i, found := slices.BinarySearchFunc(a.finishes, choice, func(f choiceFinish, c int32) int {
		return cmp.Compare(f.choice, c)
	})
	switch {
	case found:
		a.finishes[i].reason = string(reason)
	case len(a.finishes) < maxParts:
		a.finishes = slices.Insert(a.finishes, i, choiceFinish{choice, string(reason)})
	}
}

// add appends a piece of text to that of its choice, kind and tool call.
func (a *Answer) add(at place, text []byte, whole bool) {
	t := a.text(at)
	if t == nil {
		a.textCut += int64(len(text))
		return
	}
	room := min(int64(len(text)), maxAnswerText-a.kept)
	a.textCut += int64(len(text)) - room
	a.kept += room
	t.Text = append(t.Text, text[:room]...)
	if !whole && room > 0 {
		t.PieceBytes = append(t.PieceBytes, size(int(room)))
	}
}

// text returns the text of a place. A stream mostly stays at one, so the last
// is tried first; many (n = 128, parallel calls) are found by map. nil = there
// are too many.
func (a *Answer) text(at place) *trace.AnswerText {
	if i := len(a.texts) - 1; i >= 0 && placeOf(&a.texts[i]) == at {
		return &a.texts[i]
	}
	i, ok := a.places[at]
	if !ok {
		if a.places == nil {
			a.places = map[place]int{}
		}
		if i = len(a.texts); i == maxParts {
			return nil
		}
		a.places[at] = i
		a.texts = append(a.texts, trace.AnswerText{Choice: at.choice, Tool: at.tool, Kind: at.kind})
	}
	return &a.texts[i]
}

func placeOf(t *trace.AnswerText) place { return place{t.Choice, t.Tool, t.Kind} }

func size(n int) int32 { return int32(min(n, math.MaxInt32)) }
