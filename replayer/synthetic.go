package replayer

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/lambdac/lambdac/trace"
)

// Synthetic is the control arm's trace: the marginals of a recorded one without
// its content and order, so that a difference between the two is due to these.
// It has as many exchanges of each API kind over the same span. Arrivals between
// the first and the last are uniform and sorted, which is a Poisson process given
// its count. Requests and answers, with their lengths, are permuted within an API
// kind, each on its own. There are no sessions, retries or cancels, and no prompt
// shares a prefix with another. A seed always gives the same trace; the records
// given, sorted by start, stay as they are.
func Synthetic(recs []*trace.Record, seed uint64) []*trace.Record {
	rng := rand.New(rand.NewPCG(seed, saltSynthetic))
	asked, answered := permuted(recs, rng), permuted(recs, rng)
	starts := uniformStarts(recs, rng)
	out := make([]*trace.Record, len(recs))
	for i := range recs {
		out[i] = synthesize(asked[i], answered[i])
		out[i].StartUnixNs = starts[i]
	}
	slices.SortStableFunc(out, func(a, b *trace.Record) int { return cmp.Compare(a.StartUnixNs, b.StartUnixNs) })
	for i, r := range out {
		r.RequestID = fmt.Sprintf("control-%d", i)
	}
	return out
}

// permuted shuffles records among the places of their API kind.
func permuted(recs []*trace.Record, rng *rand.Rand) []*trace.Record {
	out := slices.Clone(recs)
	places := make(map[trace.APIKind][]int)
	var kinds []trace.APIKind // in the order of the trace: that of a map is random
	for i, r := range recs {
		if places[r.APIKind] == nil {
			kinds = append(kinds, r.APIKind)
		}
		places[r.APIKind] = append(places[r.APIKind], i)
	}
	for _, kind := range kinds {
		at := places[kind]
		rng.Shuffle(len(at), func(i, j int) { out[at[i]], out[at[j]] = out[at[j]], out[at[i]] })
	}
	return out
}

// uniformStarts keeps the first and the last start, and with them the rate.
func uniformStarts(recs []*trace.Record, rng *rand.Rand) []int64 {
	starts := make([]int64, len(recs))
	if len(recs) == 0 {
		return starts
	}
	first, last := recs[0].StartUnixNs, recs[len(recs)-1].StartUnixNs
	for i := range starts {
		starts[i] = first + rng.Int64N(last-first+1)
	}
	starts[0], starts[len(starts)-1] = first, last
	// Not always the first record's kind comes first.
	rng.Shuffle(len(starts), func(i, j int) { starts[i], starts[j] = starts[j], starts[i] })
	return starts
}

// synthesize joins the request of one exchange to the answer of another.
func synthesize(asked, answered *trace.Record) *trace.Record {
	r := &trace.Record{
		Request: asked.Request, Usage: asked.Usage, Result: answered.Result, Timing: answered.Timing,
		Provenance: asked.Provenance, Capture: asked.Capture, Conn: asked.Conn,
	}
	r.Origin, r.TenantID, r.Adapter, r.SessionSource = trace.OriginControl, asked.TenantID, asked.Adapter, trace.SessionNone
	r.ArrivalResolutionNs = 1
	r.MaxTokens, r.OutputTokens, r.RawOutputTokens = answered.MaxTokens, answered.OutputTokens, answered.RawOutputTokens
	r.ReasoningTokens, r.CacheReadTokens, r.CacheWriteTokens = answered.ReasoningTokens, nil, nil
	r.PrefixBlockSize, r.PrefixBlockUnit, r.PrefixBlockIDs = asked.PrefixBlockSize, asked.PrefixBlockUnit, []int64{}
	r.RetryOf, r.Attempt = nil, nil
	if r.Outcome == trace.OutcomeClientAbort {
		r.SetOutcome(trace.OutcomeOK, "")
	}
	return r
}
