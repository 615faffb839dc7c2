package llmwire

import "github.com/lambdac/lambdac/trace"

// maxCalls bounds the tool calls that are told apart in one answer.
const maxCalls = 1 << 8

// callGoesOn reports whether the frame holds a bit of a call that was opened
// before: such a bit is one of arguments even where they are empty. The bit
// that opens a call is not, until arguments come.
func (a *Answer) callGoesOn() bool {
	for i := range a.f.pieces {
		p := &a.f.pieces[i]
		if p.kind == trace.ChunkToolArgs && a.opened(p) {
			return true
		}
	}
	return false
}

func (a *Answer) opened(p *piece) bool {
	id := a.f.bytes(p.id)
	for i := range a.calls {
		c := &a.calls[i]
		switch {
		case c.choice != p.choice:
		case len(id) > 0:
			if c.id == string(id) {
				return true
			}
		case !p.hasIndex || c.index == p.index:
			return true
		}
	}
	return false
}

// call returns the number, in its choice, of the tool call that a piece
// belongs to; the first piece of a call makes it.
//
// Servers disagree on how pieces of one call are marked: OpenAI gives id and
// index once and the index from then on; some give no index, or index 0 to
// every call, or the id with every piece. So a new id starts a new call
// whatever its index, and a piece without an id belongs to the latest call of
// its index, or of the choice if it has none. In a body that was not streamed
// each entry is a call. Past maxCalls pieces join the last call, so that time
// stays linear and no text is lost.
func (a *Answer) call(p *piece) int32 {
	id := a.f.bytes(p.id)
	number, latest := int32(0), int32(-1)
	for i := range a.calls {
		c := &a.calls[i]
		if c.choice != p.choice {
			continue
		}
		switch {
		case a.f.whole, p.complete:
		case len(id) > 0:
			if c.id == string(id) || c.id == "" && p.hasIndex && c.index == p.index {
				c.id = string(id)
				return number
			}
		case !p.hasIndex || c.index == p.index:
			latest = number
		}
		number++
	}
	if latest >= 0 {
		return latest
	}
	if len(a.calls) == maxCalls {
		return max(0, number-1)
	}
	a.calls = append(a.calls, call{choice: p.choice, index: p.index, id: string(id)})
	return number
}
