package trace

import "time"

// OutputTokensWithin is the number of output tokens that arrived in the window
// [fromUnixNs, toUnixNs), each at the event that brought it: a window is judged
// by what happened in it, not by the requests that were due in it.
//
// A chunk counts as many as the service says of it; where it does not say, all
// chunks with output have equal shares of output_tokens. An answer that was not
// streamed arrives with its end. ok is false where output arrived whose tokens
// nobody counted.
func (r *Record) OutputTokensWithin(fromUnixNs, toUnixNs int64) (n float64, ok bool) {
	within := func(us int64) bool {
		at := r.StartUnixNs + us*int64(time.Microsecond)
		return at >= fromUnixNs && at < toUnixNs
	}
	if len(r.Chunks) == 0 {
		if r.TEndUs == nil || !within(*r.TEndUs) {
			return 0, true
		}
		if r.OutputTokens == nil {
			return 0, r.Outcome != OutcomeOK
		}
		return float64(*r.OutputTokens), true
	}
	told, inside, all, at := int64(0), 0, 0, int64(0)
	complete := true // every chunk with output says how much
	for i := range r.Chunks {
		c := &r.Chunks[i]
		at += c.GapUs
		output := c.Kind.Generated() || c.Tokens != nil && *c.Tokens > 0
		if !output {
			continue
		}
		all++
		complete = complete && c.Tokens != nil
		if within(at) {
			inside++
			if c.Tokens != nil {
				told += int64(*c.Tokens)
			}
		}
	}
	switch {
	case inside == 0:
		return 0, true
	case complete:
		return float64(told), true
	case r.OutputTokens == nil:
		return 0, false
	}
	return float64(*r.OutputTokens) * float64(inside) / float64(all), true
}
