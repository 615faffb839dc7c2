package twin

import (
	"math"
	"math/rand/v2"

	"github.com/lambdac/lambdac/trace"
)

// Mix is a population of requests in the order of their arrival. Times and ids
// of its jobs mean nothing: whoever draws from it sets his own.
type Mix struct {
	Jobs []Job
	// Estimated counts the jobs with a token count that was not reported.
	Estimated int
	// Skipped counts the records that are no inference requests.
	Skipped int
}

// builtinJobs makes the means of a mix those of its law to about 1 %.
const builtinJobs = 4096

// BuiltinMix is the demo's traffic: independent lognormal lengths, prompts
// of 96 tokens (median, log sd 0.5, in [16, 512]) and short answers of 11
// tokens (log sd 0.25, in [6, 24]), without shared prefixes.
func BuiltinMix(seed uint64) Mix {
	r := rand.New(rand.NewPCG(seed, hashOf(seed, streamMix)))
	jobs := make([]Job, builtinJobs)
	for i := range jobs {
		jobs[i] = Job{
			InputTokens:  lognormal(r, 96, 0.5, 16, 512),
			OutputTokens: lognormal(r, 11, 0.25, 6, 24),
		}
	}
	return Mix{Jobs: jobs}
}

func lognormal(r *rand.Rand, median, sd float64, low, high int) int {
	return min(max(int(math.Round(median*math.Exp(sd*r.NormFloat64()))), low), high)
}

// Fallbacks where a whole trace does not tell.
const (
	defaultBytesPerToken = 4.0
	defaultOutputTokens  = 16
)

// Jobs makes a mix of the inference requests among the records. Input tokens
// that were not reported are content bytes ÷ the bytes per token of the same
// model (4 where the trace has none); output tokens are the number of chunks,
// else the model's mean, else max_tokens, else 16. Prefix blocks are cut into
// blocks of [BlockTokens]; a block counts as shared only if all of it is.
func Jobs(recs []*trace.Record) Mix {
	rates := map[string]*tokenRates{}
	for _, r := range recs {
		ratesOf(rates, r).learn(r)
	}
	var m Mix
	for _, r := range recs {
		if r.APIKind == "" || r.APIKind == trace.KindOther {
			m.Skipped++
			continue
		}
		in, inKnown := ratesOf(rates, r).input(r)
		out, outKnown := ratesOf(rates, r).output(r)
		if !inKnown || !outKnown {
			m.Estimated++
		}
		m.Jobs = append(m.Jobs, Job{InputTokens: in, OutputTokens: out, Blocks: blockKeys(r, in)})
	}
	return m
}

// tokenRates are the sums of one model from which missing counts are
// estimated.
type tokenRates struct{ inBytes, inTokens, outTokens, outs float64 }

func ratesOf(rates map[string]*tokenRates, r *trace.Record) *tokenRates {
	model := ""
	if r.RequestModel != nil {
		model = *r.RequestModel
	}
	if rates[model] == nil {
		rates[model] = &tokenRates{}
	}
	return rates[model]
}

func (t *tokenRates) learn(r *trace.Record) {
	if r.InputTokens != nil && *r.InputTokens > 0 {
		t.inBytes += contentBytes(r)
		t.inTokens += float64(*r.InputTokens)
	}
	if r.OutputTokens != nil {
		t.outTokens += float64(*r.OutputTokens)
		t.outs++
	}
}

func (t *tokenRates) input(r *trace.Record) (n int, known bool) {
	if r.InputTokens != nil {
		return max(clampInt(*r.InputTokens), 1), true
	}
	perToken := defaultBytesPerToken
	if t.inBytes > 0 {
		perToken = t.inBytes / t.inTokens
	}
	return max(int(math.Round(contentBytes(r)/perToken)), 1), false
}

func (t *tokenRates) output(r *trace.Record) (n int, known bool) {
	switch {
	case r.APIKind == trace.KindOpenAIEmbeddings:
		return 0, true
	case r.OutputTokens != nil:
		return max(clampInt(*r.OutputTokens), 0), true
	case r.ChunkCount != nil && *r.ChunkCount > 0:
		return int(*r.ChunkCount), false
	case t.outs > 0:
		return int(math.Round(t.outTokens / t.outs)), false
	case r.MaxTokens != nil && *r.MaxTokens > 0:
		return int(*r.MaxTokens), false
	}
	return defaultOutputTokens, false
}

func clampInt(n int64) int { return int(min(n, math.MaxInt32)) }

func contentBytes(r *trace.Record) float64 {
	if r.Messages == nil {
		return float64(r.ReqBodyBytes)
	}
	sum := 0.0
	for _, m := range r.Messages {
		sum += float64(m.Bytes)
	}
	return sum
}

// blockKeys maps the record's chained block ids to keys of KV blocks: the key
// of block i is that of the recorded block in which it ends.
func blockKeys(r *trace.Record, inputTokens int) []int64 {
	if r.PrefixBlockIDs == nil || r.PrefixBlockSize == nil || *r.PrefixBlockSize <= 0 || r.PrefixBlockUnit == nil {
		return nil
	}
	perToken := 1.0
	if *r.PrefixBlockUnit == trace.UnitByte {
		perToken = contentBytes(r) / float64(inputTokens)
	}
	perBlock := perToken * BlockTokens / float64(*r.PrefixBlockSize)
	var keys []int64
	for i := range inputTokens / BlockTokens {
		in := int(math.Ceil(float64(i+1)*perBlock)) - 1
		if in >= len(r.PrefixBlockIDs) {
			break
		}
		id := r.PrefixBlockIDs[max(in, 0)]
		keys = append(keys, int64(hashOf(uint64(id), uint64(i))))
	}
	return keys
}

// source deals out the jobs of a mix for ever, in its order from a drawn
// start, with ids of its own. Each further round has other block keys: a
// second copy of the traffic shares no prefix with the first.
type source struct {
	jobs []Job
	next int
	id   uint64
	salt uint64
}

func newSource(jobs []Job, seed uint64) *source {
	start := unit(hashOf(seed, streamStart)) * float64(len(jobs))
	return &source{jobs: jobs, next: int(start), id: hashOf(seed, streamSalt)}
}

func (s *source) draw() Job {
	if s.next == len(s.jobs) {
		s.next = 0
		s.salt++
	}
	j := s.jobs[s.next]
	s.next++
	s.id++
	j.ID = s.id
	if s.salt > 0 && j.Blocks != nil {
		keys := make([]int64, len(j.Blocks))
		for i, key := range j.Blocks {
			keys[i] = int64(hashOf(uint64(key), s.salt))
		}
		j.Blocks = keys
	}
	return j
}
