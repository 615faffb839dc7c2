package replayer

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// conversations is a trace of sessions with shared prefixes, cancels and two API
// kinds, each of other lengths.
func conversations() []*trace.Record {
	recs := chatTrace(400, 10*time.Millisecond).Records
	for i, r := range recs {
		r.InputTokens, r.OutputTokens = new(int64(100+i)), new(int64(1000+3*i))
		r.SessionID, r.Turn, r.PrefixBlockIDs = new("s"), new(int32(i)), []int64{0, 1}
		if i > 0 {
			r.ParentRequestID = new(recs[i-1].RequestID)
		}
		if i%4 == 1 {
			r.APIKind = trace.KindOpenAIEmbeddings
		}
		if i%10 == 2 {
			r.SetOutcome(trace.OutcomeClientAbort, "")
		}
	}
	return recs
}

// lengths are those of an API kind, sorted.
func lengths(recs []*trace.Record, of func(*trace.Record) *int64) []string {
	var all []string
	for _, r := range recs {
		all = append(all, fmt.Sprint(r.APIKind, *of(r)))
	}
	slices.Sort(all)
	return all
}

func input(r *trace.Record) *int64  { return r.InputTokens }
func output(r *trace.Record) *int64 { return r.OutputTokens }

// TestSyntheticMarginals: count, span and the lengths of each API kind are those
// of the recording, to the token; who has which length is not.
func TestSyntheticMarginals(t *testing.T) {
	recs := conversations()
	got := Synthetic(recs, 1)
	for name, of := range map[string]func(*trace.Record) *int64{"input": input, "output": output} {
		if !slices.Equal(lengths(got, of), lengths(recs, of)) {
			t.Errorf("%s lengths are not the recorded ones", name)
		}
	}
	if n := len(recs) - 1; got[0].StartUnixNs != recs[0].StartUnixNs || got[n].StartUnixNs != recs[n].StartUnixNs {
		t.Error("another span")
	}
	if !slices.IsSortedFunc(got, func(a, b *trace.Record) int { return cmp.Compare(a.StartUnixNs, b.StartUnixNs) }) {
		t.Error("not sorted by start")
	}
	together := 0
	for _, r := range got {
		if *r.OutputTokens-1000 == 3*(*r.InputTokens-100) {
			together++
		}
	}
	if together > 10 { // expected: one of each kind
		t.Errorf("%d of %d kept their pair of lengths", together, len(got))
	}
}

// TestSyntheticContent: nothing is left of conversations, prefixes and cancels,
// and the recording is not changed.
func TestSyntheticContent(t *testing.T) {
	recs := conversations()
	ids := make(map[string]bool)
	for _, r := range Synthetic(recs, 1) {
		if r.SessionID != nil || r.ParentRequestID != nil || r.Turn != nil || len(r.PrefixBlockIDs) > 0 || plannedCancel(r) != nil || r.Origin != trace.OriginControl {
			t.Fatalf("%+v", r.Identity)
		}
		ids[r.RequestID] = true
	}
	if len(ids) != len(recs) {
		t.Errorf("%d ids for %d exchanges: prompts are drawn by id", len(ids), len(recs))
	}
	if !reflect.DeepEqual(recs, conversations()) {
		t.Error("the recording was changed")
	}
}

// TestSyntheticSeed: a seed draws one trace, another seed another; the empty trace
// and one of one exchange are no special cases.
func TestSyntheticSeed(t *testing.T) {
	recs := conversations()
	first := Synthetic(recs, 1)
	if !reflect.DeepEqual(first, Synthetic(recs, 1)) {
		t.Error("one seed, two traces")
	}
	if reflect.DeepEqual(first, Synthetic(recs, 2)) {
		t.Error("two seeds, one trace")
	}
	if len(Synthetic(nil, 1)) != 0 || Synthetic(recs[:1], 1)[0].StartUnixNs != recs[0].StartUnixNs {
		t.Error("short traces")
	}
}
