package llmwire

import (
	"math"

	"github.com/lambdac/lambdac/trace"
)

// usage are the token counts of one event. A count that is negative or too
// large is not said.
type usage struct {
	seen                                      bool
	input, output, cached, written, reasoning count
	// apart: input leaves out what was read from the cache and written to it.
	apart bool
	// thinks: output leaves out the reasoning, unless the total shows that it
	// does not.
	thinks bool
	// tools is a part of the prompt that input leaves out, total the sum of all.
	tools, total count
	// again: these are of an answer begun anew; what was said before is void.
	again bool
}

// count is a number of tokens, kept one higher so that the zero value is "not
// said".
type count int64

func (c count) get() *int64 {
	if c == 0 {
		return nil
	}
	return new(int64(c) - 1)
}

// plus adds the counts that were said to one that was.
func (c count) plus(more ...count) count {
	for _, m := range more {
		if c != 0 && m != 0 {
			c += m - 1
		}
	}
	return c
}

// inclusive reports whether the output must hold the reasoning already, for the
// total to be right.
func (u *usage) inclusive() bool {
	return u.total != 0 && u.output != 0 && u.input.plus(u.tools, u.output) == u.total
}

// merge takes every count that later says over.
func (u *usage) merge(later *usage) {
	if later.again {
		*u = usage{}
	}
	u.seen = u.seen || later.seen
	u.apart = u.apart || later.apart
	u.thinks = u.thinks || later.thinks
	for _, p := range [...]struct{ to, from *count }{
		{&u.input, &later.input},
		{&u.output, &later.output},
		{&u.cached, &later.cached},
		{&u.written, &later.written},
		{&u.reasoning, &later.reasoning},
		{&u.tools, &later.tools},
		{&u.total, &later.total},
	} {
		if *p.from != 0 {
			*p.to = *p.from
		}
	}
}

// maxCount bounds a count, so that sums cannot overflow.
const maxCount = 1 << 53

// add adds the counts of another choice of the same event.
func (u *usage) add(other *usage) {
	u.seen = u.seen || other.seen
	for _, p := range [...]struct{ to, from *count }{
		{&u.input, &other.input}, {&u.output, &other.output}, {&u.cached, &other.cached},
	} {
		switch {
		case *p.from == 0:
		case *p.to == 0:
			*p.to = *p.from
		case *p.to < math.MaxInt64-*p.from:
			*p.to += *p.from - 1
		}
	}
}

func (r *reader) count(c *count) {
	if n, ok := r.integer(); ok && n >= 0 && n < maxCount {
		*c = count(n + 1)
	}
}

// fill writes the counts: ours include cached tokens in the input and
// reasoning in the output, as OpenAI's do.
func (u *usage) fill(dst *trace.Usage) {
	dst.TokenSource = trace.TokensUsage
	dst.RawInputTokens, dst.RawOutputTokens = u.input.get(), u.output.get()
	dst.InputTokens, dst.OutputTokens = dst.RawInputTokens, dst.RawOutputTokens
	input := u.input.plus(u.tools)
	if u.apart {
		input = input.plus(u.cached, u.written)
	}
	dst.InputTokens = input.get()
	if u.thinks && !u.inclusive() {
		dst.OutputTokens = max(u.output, min(u.reasoning, 1)).plus(u.reasoning).get()
	}
	dst.CacheReadTokens = u.cached.get()
	dst.CacheWriteTokens = u.written.get()
	dst.ReasoningTokens = u.reasoning.get()
}

// fillUsage takes the body's counts, and the header's for what it lacks.
func (a *Answer) fillUsage(dst *trace.Usage) {
	u, timed := a.header.usage, a.timedUsage()
	u.merge(&timed)
	u.merge(&a.usage)
	u.fill(dst)
	switch {
	case !u.seen:
		dst.TokenSource = trace.TokensNone
	case !a.usage.seen && !timed.seen:
		dst.TokenSource = trace.TokensServerHeader
	}
}

// timedUsage are the counts in the server's timings that usage leaves out.
// Several choices have timings of their own, each with the whole prompt.
func (a *Answer) timedUsage() usage {
	switch {
	case len(a.heard) > 1 || a.usage.apart:
		return usage{}
	case a.usage.seen:
		return usage{cached: a.timed.cached}
	}
	return a.timed
}

// openAIUsage reads a usage object. A null count is not said.
func openAIUsage(u *usage, r *reader) {
	if !r.open('{') {
		return
	}
	for key := range r.names() {
		switch string(key) {
		case "prompt_tokens":
			r.count(&u.input)
		case "completion_tokens":
			r.count(&u.output)
		case "prompt_tokens_details", "completion_tokens_details":
			openAIDetails(u, r)
		case "prompt_cache_hit_tokens": // DeepSeek
			r.count(&u.cached)
		default:
			r.skip()
		}
	}
	u.seen = u.input != 0 || u.output != 0
}

func openAIDetails(u *usage, r *reader) {
	for key := range r.members() {
		switch string(key) {
		case "cached_tokens":
			r.count(&u.cached)
		case "cache_write_tokens": // OpenRouter
			r.count(&u.written)
		case "reasoning_tokens":
			r.count(&u.reasoning)
		default:
			r.skip()
		}
	}
}

// serverTimes are durations that the server reports, µs.
type serverTimes struct{ queue, ttft, total count }

// merge takes every time that later says over.
func (t *serverTimes) merge(later *serverTimes) {
	for _, p := range [...]struct{ to, from *count }{
		{&t.queue, &later.queue}, {&t.ttft, &later.ttft}, {&t.total, &later.total},
	} {
		if *p.from != 0 {
			*p.to = *p.from
		}
	}
}

// maxServerUs bounds a time that a server may report: 1,000 days.
const maxServerUs = 1000 * 24 * 3600 * 1e6

// micros returns a duration of n units of that many µs, rounded; "not said" for
// one out of range.
func micros(n, unit float64) count {
	us := math.Round(n * unit)
	if !(us >= 0 && us < maxServerUs) {
		return 0
	}
	return count(us) + 1
}

// duration takes the next value as a duration in units of that many µs.
func (r *reader) duration(c *count, unit float64) {
	if n, ok := r.number(); ok {
		*c = micros(n, unit)
	}
}

// openAITimings reads llama.cpp's timings: the prompt's evaluation ends with
// the first token. They count tokens too, where nothing else does: usage is sent
// only to who asks for it. Versions before the prompt's cached part (cache_n)
// was told do not say how long the prompt is.
func openAITimings(f *frame, r *reader) {
	t, u := &f.times, &f.timed
	var fresh count
	if !r.open('{') {
		return
	}
	prompt, predict := -1.0, -1.0
	for key := range r.names() {
		var ok bool
		switch string(key) {
		case "prompt_ms":
			if prompt, ok = r.number(); !ok {
				prompt = -1
			}
		case "predicted_ms":
			if predict, ok = r.number(); !ok {
				predict = -1
			}
		case "cache_n":
			r.count(&u.cached)
		case "prompt_n":
			r.count(&fresh)
		case "predicted_n":
			r.count(&u.output)
		default:
			r.skip()
		}
	}
	if u.cached != 0 {
		u.input = fresh.plus(u.cached)
	}
	u.seen = u.input != 0 || u.output != 0
	if prompt >= 0 && predict >= 0 {
		t.ttft, t.total = micros(prompt, 1000), micros(prompt+predict, 1000)
	}
}

func (t *serverTimes) fill(dst *trace.ServerTimes) {
	dst.ServerQueueUs, dst.ServerTTFTUs, dst.ServerTotalUs = t.queue.get(), t.ttft.get(), t.total.get()
}
