package replayer

import (
	"math"
	"sync"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/trace"
)

// prompter turns the shape of a recorded prompt into filler text of as many
// tokens. Equal prefix blocks give equal words at equal places. It is used by
// one goroutine, ahead of the sends; only refit may be called from others.
type prompter struct {
	recs  []*trace.Record
	words []string
	seed  uint64
	cache Cache
	model string // replaces the recorded model; "" keeps it
	eos   bool   // ignore the end-of-sequence token
	ids   bool   // prompts of completions are ids of tokens

	ledger *ledger
	sent   *reuse

	mu    sync.Mutex
	fits  map[string]promptFit // by sent model
	stale bool                 // fits changed since the ledger was drawn up
}

// promptFit is what was learned of a model's prompt tokens:
// reported = overhead + words ÷ scale.
type promptFit struct {
	overhead int64
	scale    float64
}

func newPrompter(recs []*trace.Record, words []string, cfg *Config) *prompter {
	p := &prompter{
		recs: recs, words: words, seed: cfg.Seed, cache: cfg.Cache, model: cfg.Model, eos: cfg.IgnoreEOS, ids: cfg.TokenIDs,
		fits: make(map[string]promptFit), stale: true, sent: newReuse(cfg.Cache),
	}
	p.renew()
	return p
}

// refit makes later prompts of a model follow the fit.
func (p *prompter) refit(model string, f promptFit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fits[model], p.stale = f, true
}

// fit is what is known of the model that a record is sent to; ok is false
// before anything was learned.
func (p *prompter) fit(r *trace.Record) (f promptFit, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, ok = p.fits[p.sentModel(r)]
	return f, ok
}

// renew draws the ledger up anew where a fit has changed. It reads the whole
// trace, which may take seconds: it is for the start of a level. Until then a
// fit shortens prompts at their end.
func (p *prompter) renew() {
	p.mu.Lock()
	stale := p.stale
	p.stale = false
	p.mu.Unlock()
	if stale {
		p.ledger = newLedger(p.recs, p.overhead)
	}
}

// overhead is what the target's template adds, as far as it was learned, else
// what the recording says of its own.
func (p *prompter) overhead(r *trace.Record) int64 {
	if p.inIDs(r) {
		return 0
	}
	if f, ok := p.fit(r); ok {
		return f.overhead
	}
	if r.TemplateOverheadTokens != nil {
		return int64(*r.TemplateOverheadTokens)
	}
	return 0
}

func (p *prompter) scale(r *trace.Record) float64 {
	if p.inIDs(r) {
		return 1
	}
	if f, ok := p.fit(r); ok {
		return f.scale
	}
	return 1
}

// defaultModel is asked for where neither trace nor user names one.
const defaultModel = "default"

func (p *prompter) sentModel(r *trace.Record) string {
	return orDefault(orDefault(p.model, modelOf(r)), defaultModel)
}

// prompt is a request ready to be sent.
type prompt struct {
	path      string
	body      []byte
	messages  []trace.Message // nil = their sizes are not known
	count     int32
	model     string
	intended  int64 // prompt tokens that the service shall count
	words     int64 // filler words in it
	repeated  int64 // of words: an earlier prompt of the run began with them
	followed  bool  // repeated is known
	asIs      bool  // recorded text, whose length is what it is
	maxTokens *int32
}

// copyKey says whose content a prompt holds.
type copyKey struct {
	level    uint64
	instance int64
	warm     bool
	// brief: an answer of one token is enough.
	brief bool
}

// make writes the prompt of a record for one copy of it in one level.
func (p *prompter) make(r *trace.Record, key copyKey) (prompt, error) {
	intended := p.ledger.inputTokens(r)
	segs := p.layout(r, key, intended)
	out := prompt{model: p.sentModel(r), intended: intended}
	var messages []llmwire.Message
	var ids [][]int32
	if p.inIDs(r) {
		ids, out.words = writeIDs(r, segs)
		out.asIs, out.count = true, int32(len(ids))
	} else {
		var exact bool
		messages, out.words, exact = p.tell(r, key, segs)
		out.asIs, out.count = !exact, int32(len(messages))
	}
	out.repeated, out.followed = p.sent.take(segs)
	out.repeated = min(out.repeated, out.words)
	spec := llmwire.Spec{
		Kind: r.APIKind, Model: out.model, Stream: r.Stream, IncludeUsage: r.Stream,
		N: r.N, Temperature: r.Temperature, TopP: r.TopP, IgnoreEOS: p.eos, PromptIDs: ids,
	}
	if r.APIKind != trace.KindOpenAIEmbeddings {
		out.maxTokens = p.pin(r)
		if key.brief {
			out.maxTokens = new(int32(1))
		}
		spec.MaxTokens = out.maxTokens
	}
	for _, m := range messages {
		m.Role = sentRole(r.APIKind, m.Role)
		spec.Messages = append(spec.Messages, m)
		out.messages = append(out.messages, trace.Message{Role: m.Role, Bytes: clampInt32(int64(len(m.Text)))})
	}
	var err error
	out.path, out.body, err = llmwire.Build(spec)
	return out, err
}

// tell returns the texts of a prompt: those that the trace kept, else filler of
// their shape; the number of its words; and whether they are as many as meant.
func (p *prompter) tell(r *trace.Record, key copyKey, segs []segment) (messages []llmwire.Message, words int64, exact bool) {
	if messages = recordedTexts(r); messages != nil {
		words, exact = p.retell(r, key, messages)
		return messages, words, exact
	}
	texts, words := p.write(r, segs)
	for i, text := range texts {
		role := trace.RoleUnknown
		if i < len(r.Messages) {
			role = r.Messages[i].Role
		}
		messages = append(messages, llmwire.Message{Role: role, Text: text})
	}
	return messages, words, true
}

// pin is the answer's length per choice.
func (p *prompter) pin(r *trace.Record) *int32 {
	if plannedCancel(r) != nil {
		return r.MaxTokens // what was recorded of the answer is not all of it
	}
	n, _ := p.ledger.outputTokens(r)
	if n == nil {
		return nil
	}
	choices := int32(1)
	if r.N != nil {
		choices = max(*r.N, 1)
	}
	return new(max(1, (*n-1)/choices+1))
}

// sentRole is the role that a message is sent with. A tool's message goes as
// the user's, since it would have to name a call that a shape does not hold.
func sentRole(kind trace.APIKind, role trace.Role) trace.Role {
	switch {
	case kind == trace.KindOpenAICompletions:
		return trace.RolePrompt
	case kind == trace.KindOpenAIEmbeddings:
		return trace.RoleEmbeddingInput
	case role == trace.RoleSystem || role == trace.RoleAssistant || role == trace.RolePrompt:
		return role
	}
	return trace.RoleUser
}

// segment is a run of words from one seed.
type segment struct {
	seed  uint64
	words int64
	bytes int64 // of recorded text that it stands for; 0 = not known
	// returns: other prompts have it too.
	returns bool
}

// layout cuts the prompt into its blocks and what follows them. The words add
// up to the intended total, less what the template adds, times the scale.
func (p *prompter) layout(r *trace.Record, key copyKey, intended int64) []segment {
	scale := p.scale(r)
	left := max(1, int64(math.Round(float64(intended-p.overhead(r))*scale)))
	segs := make([]segment, 0, len(r.PrefixBlockIDs)+1)
	covered := int64(0)
	for _, id := range r.PrefixBlockIDs {
		if left == 0 {
			break // the estimate of a shared block was too long for this one
		}
		b := p.ledger.blocks[id]
		n := min(left, max(1, int64(math.Round(float64(b.tokens)*scale))))
		s := segment{seed: mix(p.seed, saltBlock, uint64(id), p.salt(key, b.shared)), words: n, returns: b.again}
		if !isTokenUnit(r) {
			s.bytes = min(blockSize(r), max(0, contentBytes(r)-covered))
			covered += s.bytes
		}
		segs, left = append(segs, s), left-n
	}
	if left > 0 {
		tail := segment{seed: mix(p.seed, saltTail, hashString(r.RequestID), p.salt(key, false)), words: left}
		if !isTokenUnit(r) {
			tail.bytes = max(0, contentBytes(r)-covered)
		}
		segs = append(segs, tail)
	}
	return segs
}

// salt tells apart content that the replay must not make equal: that of
// different levels and copies, unless the trace itself shares it. The warm-up
// shares nothing with the window, or it would fill the cache for it.
func (p *prompter) salt(key copyKey, shared bool) uint64 {
	level, instance := key.level, uint64(key.instance)
	if key.warm {
		return mix(saltWarm, level, instance)
	}
	if shared {
		instance = 0
	}
	if p.cache == CachePrimed || p.cache == CacheAsTrace && shared {
		level = 0
	}
	return mix(level, instance)
}

// write spells the segments out, cut into the record's messages.
func (p *prompter) write(r *trace.Record, segs []segment) (texts []string, total int64) {
	for _, s := range segs {
		total += s.words
	}
	ends := messageEnds(r, segs, total)
	buf := make([]byte, 0, total*6)
	count, start, at := int64(0), 0, 0
	flush := func() {
		for at < len(ends) && ends[at] == count {
			texts = append(texts, string(buf[start:]))
			start = len(buf)
			at++
		}
	}
	flush()
	for _, s := range segs {
		state := s.seed
		for range s.words {
			state += 0x9e3779b97f4a7c15
			buf = append(buf, p.words[scramble(state)%uint64(len(p.words))]...)
			count++
			flush()
		}
	}
	return texts, total
}

// messageEnds are the numbers of words up to the end of each message. A border
// lies where its byte lies in the blocks, and so at the same word in every
// prompt that shares the prefix; borders by share of the total would not.
func messageEnds(r *trace.Record, segs []segment, total int64) []int64 {
	if len(r.Messages) < 2 {
		return []int64{total}
	}
	ends := make([]int64, len(r.Messages))
	if isTokenUnit(r) { // the blocks do not say which bytes they hold
		share := newSpreader(total, []int64{contentBytes(r)})
		for i, m := range r.Messages {
			share.next(int64(max(m.Bytes, 0)))
			ends[i] = share.given
		}
		ends[len(ends)-1] = total
		return ends
	}
	border, seg := int64(0), 0
	bytes, words := int64(0), int64(0) // before segs[seg]
	for i, m := range r.Messages[:len(r.Messages)-1] {
		border += int64(max(m.Bytes, 0))
		for seg < len(segs) && bytes+segs[seg].bytes <= border {
			bytes, words = bytes+segs[seg].bytes, words+segs[seg].words
			seg++
		}
		ends[i] = words
		if seg < len(segs) && segs[seg].bytes > 0 {
			ends[i] += segs[seg].words * (border - bytes) / segs[seg].bytes
		}
	}
	ends[len(ends)-1] = total
	return ends
}

func clampInt32(v int64) int32 { return int32(min(max(v, math.MinInt32), math.MaxInt32)) }
