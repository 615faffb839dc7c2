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

// merge takes every count that later says over.
func (u *usage) merge(later *usage) {
	u.seen = u.seen || later.seen
	for _, p := range [...]struct{ to, from *count }{
		{&u.input, &later.input},
		{&u.output, &later.output},
		{&u.cached, &later.cached},
		{&u.written, &later.written},
		{&u.reasoning, &later.reasoning},
	} {
		if *p.from != 0 {
			*p.to = *p.from
		}
	}
}

func (r *reader) count(c *count) {
	if n, ok := r.integer(); ok && n >= 0 && n < math.MaxInt64 {
		*c = count(n + 1)
	}
}

// fill writes the counts. OpenAI's input includes cached tokens and its output
// includes reasoning, as ours do: normalized and raw are the same.
func (u *usage) fill(dst *trace.Usage) {
	if !u.seen {
		dst.TokenSource = trace.TokensNone
		return
	}
	dst.TokenSource = trace.TokensUsage
	dst.InputTokens, dst.OutputTokens = u.input.get(), u.output.get()
	dst.RawInputTokens, dst.RawOutputTokens = dst.InputTokens, dst.OutputTokens
	dst.CacheReadTokens = u.cached.get()
	dst.CacheWriteTokens = u.written.get()
	dst.ReasoningTokens = u.reasoning.get()
}

// openAIUsage reads a usage object. A null count is not said.
func openAIUsage(u *usage, r *reader) {
	if !r.open('{') {
		return
	}
	for key := r.key(); key != nil; key = r.key() {
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
	if !r.open('{') {
		return
	}
	for key := r.key(); key != nil; key = r.key() {
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

// serverTimes are durations that the server reports in its answer, ms.
type serverTimes struct {
	seen            bool
	prompt, predict float64
}

// openAITimings reads llama.cpp's timings.
func openAITimings(t *serverTimes, r *reader) {
	if !r.open('{') {
		return
	}
	var prompt, predict bool
	for key := r.key(); key != nil; key = r.key() {
		switch string(key) {
		case "prompt_ms":
			t.prompt, prompt = r.number()
		case "predicted_ms":
			t.predict, predict = r.number()
		default:
			r.skip()
		}
	}
	t.seen = prompt && predict && t.prompt >= 0 && t.predict >= 0 && t.prompt+t.predict < maxServerMs
}

// maxServerMs bounds a time that a server may report: 1,000 days.
const maxServerMs = 1000 * 24 * 3600 * 1000

// fill writes the times: the prompt's evaluation ends with the first token.
func (t *serverTimes) fill(dst *trace.ServerTimes) {
	if !t.seen {
		return
	}
	dst.ServerTTFTUs = new(int64(math.Round(t.prompt * 1000)))
	dst.ServerTotalUs = new(int64(math.Round((t.prompt + t.predict) * 1000)))
}
