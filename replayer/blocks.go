package replayer

import (
	"github.com/lambdac/lambdac/trace"
)

// block is what the trace tells about one prefix block.
type block struct {
	// tokens it stands for, at least 1: a block that stands for nothing could
	// not make two prompts differ.
	tokens int32
	// owner is the first unit (session, else request) it was seen in; shared
	// means there was another.
	owner  uint64
	shared bool
	// again: more than one prompt of the trace has it.
	again bool
}

// ledger gives every prefix block of a trace its share of tokens where it
// first appears: the tokens the service counted, less those of blocks already
// known, spread over the new blocks by their bytes. So totals are exact and
// equal prefixes stay equal, although only totals were counted.
type ledger struct {
	blocks map[int64]block
	// bytesPerToken is content bytes ÷ prompt tokens, by recorded model.
	bytesPerToken map[string]float64
	// outputs is the median of the recorded output lengths, by model.
	outputs map[string]int32
}

// defaultBytesPerToken stands in where a trace has no usage at all.
const defaultBytesPerToken = 4

// newLedger reads the records in order of start. overhead tells the tokens
// that the service's chat template adds to a model's prompts.
func newLedger(recs []*trace.Record, overhead func(*trace.Record) int64) *ledger {
	l := &ledger{blocks: make(map[int64]block), bytesPerToken: bytesPerToken(recs), outputs: medianOutputs(recs)}
	for _, r := range recs {
		l.learn(r, max(1, l.inputTokens(r)-overhead(r)))
	}
	return l
}

func bytesPerToken(recs []*trace.Record) map[string]float64 {
	type sums struct{ bytes, tokens float64 }
	by := make(map[string]sums)
	for _, r := range recs {
		if r.InputTokens != nil && *r.InputTokens > 0 && contentBytes(r) > 0 {
			s := by[modelOf(r)]
			by[modelOf(r)] = sums{s.bytes + float64(contentBytes(r)), s.tokens + float64(*r.InputTokens)}
		}
	}
	out := make(map[string]float64, len(by))
	for model, s := range by {
		out[model] = s.bytes / s.tokens
	}
	return out
}

func medianOutputs(recs []*trace.Record) map[string]int32 {
	by := make(map[string][]int64)
	for _, r := range recs {
		if r.OutputTokens != nil && *r.OutputTokens > 0 {
			by[modelOf(r)] = append(by[modelOf(r)], *r.OutputTokens)
		}
	}
	out := make(map[string]int32, len(by))
	for model, tokens := range by {
		out[model] = clampInt32(quantile(tokens, 0.5))
	}
	return out
}

func modelOf(r *trace.Record) string {
	if r.RequestModel == nil {
		return ""
	}
	return *r.RequestModel
}

// contentBytes is the size of the prompt's text.
func contentBytes(r *trace.Record) int64 {
	if len(r.Messages) == 0 {
		return r.ReqBodyBytes
	}
	sum := int64(0)
	for _, m := range r.Messages {
		sum += int64(max(m.Bytes, 0))
	}
	return sum
}

// inputTokens is what the service counted, else an estimate from the size.
func (l *ledger) inputTokens(r *trace.Record) int64 {
	if r.InputTokens != nil && *r.InputTokens > 0 {
		return *r.InputTokens
	}
	return max(1, int64(float64(contentBytes(r))/orDefault(l.bytesPerToken[modelOf(r)], defaultBytesPerToken)))
}

// outputTokens is how long the answer shall be: as recorded, else its chunks,
// else the request's own limit, else the median of its model. nil where the
// trace tells nothing. estimated is true for all but the first.
func (l *ledger) outputTokens(r *trace.Record) (n *int32, estimated bool) {
	switch {
	case r.OutputTokens != nil && *r.OutputTokens > 0:
		return new(clampInt32(*r.OutputTokens)), false
	case r.ChunkCount != nil && *r.ChunkCount > 0:
		return r.ChunkCount, true
	case r.MaxTokens != nil:
		return r.MaxTokens, true
	case l.outputs[modelOf(r)] > 0:
		return new(l.outputs[modelOf(r)]), true
	}
	return nil, true
}

// learn gives the record's new blocks their tokens; total is the prompt's.
func (l *ledger) learn(r *trace.Record, total int64) {
	unit := unitOf(r)
	fresh := r.PrefixBlockIDs
	known := int64(0)
	for len(fresh) > 0 {
		b, ok := l.blocks[fresh[0]]
		if !ok {
			break
		}
		known += int64(b.tokens)
		if other := b.owner != unit; !b.again || other && !b.shared {
			b.again, b.shared = true, b.shared || other
			l.blocks[fresh[0]] = b
		}
		fresh = fresh[1:]
	}
	sizes := freshSizes(r, len(fresh), total-known)
	share := newSpreader(total-known, sizes)
	for i, id := range fresh {
		if _, ok := l.blocks[id]; ok { // a chained id never repeats; a foreign trace's may
			continue
		}
		l.blocks[id] = block{tokens: clampInt32(max(1, share.next(sizes[i]))), owner: unit}
	}
}

// freshSizes are the weights by which the last n blocks of a record share its
// rest of tokens, and last that of the text after the last block. A block of
// tokens weighs its tokens, so that it gets just these.
func freshSizes(r *trace.Record, n int, rest int64) []int64 {
	size := blockSize(r)
	sizes := make([]int64, n+1)
	for i := range n {
		sizes[i] = size
	}
	if isTokenUnit(r) {
		sizes[n] = max(0, rest-int64(n)*size)
		if last := rest - int64(n-1)*size; n > 0 && last > 0 {
			sizes[n-1] = min(last, size)
		}
		return sizes
	}
	all := int64(len(r.PrefixBlockIDs)) * size
	switch over := all - contentBytes(r); {
	case n > 0 && over > 0 && over < size: // the last block is the text's tail
		sizes[n-1] -= over
	case over < 0:
		sizes[n] = -over
	}
	return sizes
}

func isTokenUnit(r *trace.Record) bool {
	return r.PrefixBlockUnit != nil && *r.PrefixBlockUnit == trace.UnitToken
}

func blockSize(r *trace.Record) int64 {
	if r.PrefixBlockSize == nil || *r.PrefixBlockSize < 1 {
		return 64
	}
	return int64(*r.PrefixBlockSize)
}

// spreader shares a total among parts so that the shares add up exactly.
type spreader struct{ total, weights, seen, given int64 }

func newSpreader(total int64, weights []int64) *spreader {
	s := &spreader{total: max(total, 0)}
	for _, w := range weights {
		s.weights += w
	}
	return s
}

func (s *spreader) next(weight int64) int64 {
	if s.weights == 0 {
		return 0
	}
	s.seen += weight
	upTo := int64(float64(s.total) * float64(s.seen) / float64(s.weights))
	n := upTo - s.given
	s.given = upTo
	return n
}
