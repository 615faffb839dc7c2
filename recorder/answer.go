package recorder

import (
	"encoding/json"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/internal/sse"
	"github.com/lambdac/lambdac/trace"
)

// answer follows a streamed answer event by event.
type answer struct {
	wire    *llmwire.Answer
	framing llmwire.Framing
	reader  llmwire.EventReader
	emit    func(sse.Event)
	limit   int
	// messages cuts a gRPC answer, of which only sizes and times are read.
	messages *grpcMessages

	start int64 // of the exchange, Unix ns
	now   int64 // of the packet being read
	// delivery numbers the packets; two events of one share their time.
	delivery, before uint64

	log    chunkLog
	events int32 // with data
	chunks int32 // with generated output
	// µs since start; -1 = not seen
	firstEvent, firstToken, firstVisible, lastToken int64
	maxGap                                          int64

	// holed: bytes were lost and no event has come since. The first event
	// behind a hole is believed only if it is whole.
	holed bool
	lost  int64 // events that could not be read
	// damaged are those of them whose checksum shows that bytes are wrong.
	damaged int64
	tooLong int64 // of the lost, those over the limit
	late    int64 // events after the end mark
	// endedAt is when the stream said that it is complete, Unix ns.
	endedAt int64
}

func newAnswer(kind trace.APIKind, f llmwire.Framing, start int64, limit int) *answer {
	a := &answer{
		wire: llmwire.NewAnswer(kind), framing: f, reader: f.Reader(limit, false), start: start, limit: limit,
		firstEvent: -1, firstToken: -1, firstVisible: -1, lastToken: -1, maxGap: -1,
	}
	a.emit = a.event
	return a
}

// feed takes decoded bytes that came at t with the packet of that number.
func (a *answer) feed(p []byte, t int64, delivery uint64) {
	a.now, a.delivery = t, delivery
	if a.messages != nil {
		a.messages.feed(p, a.message)
		return
	}
	a.reader.Feed(p, a.emit)
}

// hole: bytes are lost here, and with them the event under way.
func (a *answer) hole() {
	a.lost++
	if a.messages != nil {
		a.messages.lost = true
		return
	}
	a.reader = a.framing.Reader(a.limit, true)
	a.holed = true
}

// close reads an event that the stream's end left open.
func (a *answer) close() {
	if a.reader != nil {
		a.reader.Close(a.emit)
	}
}

func (a *answer) event(ev sse.Event) {
	at := max(0, (a.now-a.start)/1000)
	var flags trace.ChunkFlags
	if a.delivery == a.before {
		flags |= trace.FlagCoalesced
	}
	if ev.Comment {
		a.before = a.delivery
		a.log.add(at, trace.ChunkComment, clampSize(len(ev.Data)), nil, flags)
		return
	}
	if ev.Damaged {
		a.lost++
		a.damaged++
		a.holed = true
		return
	}
	if ev.Cut > 0 {
		a.tooLong++
	}
	if ev.Cut > 0 || (ev.Partial || a.holed) && !whole(ev.Data) {
		a.lost++
		a.holed = a.holed && !ev.Partial
		return
	}
	if a.holed {
		a.holed = false
		flags |= trace.FlagAfterGap
	}
	a.before = a.delivery
	c := a.read(&ev)
	a.count(at, &c)
	switch ended := a.wire.Ended(); {
	case !ended: // or not any more: there is another choice
		a.endedAt = 0
	case a.endedAt == 0:
		a.endedAt = a.now
	}
	a.log.add(at, c.Kind, c.Bytes, c.Tokens, flags)
}

func (a *answer) read(ev *sse.Event) llmwire.Chunk {
	if ev.Exception {
		return a.wire.Exception(ev.Name, ev.Data)
	}
	return a.wire.Event(ev.Name, ev.Data)
}

// count keeps the moments and numbers of the timing columns. What comes after
// the end mark is an event, but no output.
func (a *answer) count(at int64, c *llmwire.Chunk) {
	a.events++
	if a.firstEvent < 0 {
		a.firstEvent = at
	}
	if c.Late {
		a.late++
		return
	}
	// An empty delta whose usage grew is a token too: one that is not shown.
	if !c.Counts {
		return
	}
	a.chunks++
	if a.firstToken < 0 {
		a.firstToken = at
	} else {
		a.maxGap = max(a.maxGap, at-a.lastToken)
	}
	a.lastToken = at
	if c.Kind.Visible() && a.firstVisible < 0 {
		a.firstVisible = at
	}
}

// fill writes the timing columns and the chunks.
func (a *answer) fill(r *trace.Record) {
	r.TFirstEventUs = seen(a.firstEvent)
	r.TFirstTokenUs = seen(a.firstToken)
	r.TFirstVisibleUs = seen(a.firstVisible)
	r.TLastTokenUs = seen(a.lastToken)
	r.MaxGapUs = seen(a.maxGap)
	r.EventCount, r.ChunkCount = &a.events, &a.chunks
	if a.messages != nil || r.APIKind == trace.KindOther { // which of them carry output nobody knows
		r.ChunkCount = nil
	}
	r.LostEvents = a.lost
	r.Chunks = a.log.chunks()
}

// whole reports whether an event that may be cut is all there.
func whole(data []byte) bool {
	return string(data) == "[DONE]" || json.Valid(data)
}

// seen returns nil for a moment that did not come.
func seen(us int64) *int64 {
	if us < 0 {
		return nil
	}
	return &us
}

func clampSize(n int) int32 { return int32(min(n, 1<<31-1)) }
