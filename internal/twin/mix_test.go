package twin

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

func TestJobs(t *testing.T) {
	token, bytes := trace.UnitToken, trace.UnitByte
	recs := []*trace.Record{
		{ // all reported; blocks of 512 tokens
			Request: trace.Request{APIKind: trace.KindOpenAIChat, RequestModel: new("a"), Messages: []trace.Message{{Bytes: 3000}}},
			Usage:   trace.Usage{InputTokens: new(int64(600)), OutputTokens: new(int64(20))},
			Prefix:  trace.Prefix{PrefixBlockSize: new(int32(512)), PrefixBlockUnit: &token, PrefixBlockIDs: []int64{7}},
		},
		{ // 5 bytes a token from the record above, chunks counted
			Request: trace.Request{APIKind: trace.KindOpenAIChat, RequestModel: new("a"), Messages: []trace.Message{{Bytes: 100}, {Bytes: 60}}},
			Timing:  trace.Timing{ChunkCount: new(int32(9))},
			Prefix:  trace.Prefix{PrefixBlockSize: new(int32(64)), PrefixBlockUnit: &bytes, PrefixBlockIDs: []int64{1, 2}},
		},
		{ // a model without any usage: 4 bytes a token, and max_tokens
			Request: trace.Request{APIKind: trace.KindOpenAICompletions, RequestModel: new("b"), ReqBodyBytes: 400, MaxTokens: new(int32(30))},
		},
		{ // the model's mean output
			Request: trace.Request{APIKind: trace.KindOpenAIChat, RequestModel: new("a"), Messages: []trace.Message{}},
		},
		{Request: trace.Request{APIKind: trace.KindOpenAIEmbeddings}, Usage: trace.Usage{InputTokens: new(int64(12))}},
		{Request: trace.Request{APIKind: trace.KindOther, ReqBodyBytes: 9}},
	}
	got := Jobs(recs)
	lengths := [][2]int{}
	for _, j := range got.Jobs {
		lengths = append(lengths, [2]int{j.InputTokens, j.OutputTokens})
	}
	if diff := cmp.Diff([][2]int{{600, 20}, {32, 9}, {100, 30}, {1, 20}, {12, 0}}, lengths); diff != "" {
		t.Errorf("tokens in, out (-want +got):\n%s", diff)
	}
	if got.Estimated != 3 || got.Skipped != 1 {
		t.Errorf("estimated %d, skipped %d: want 3, 1", got.Estimated, got.Skipped)
	}
	// 512 tokens are 32 blocks of 16, and the rest of 600 is in no recorded
	// block; 32 tokens of 5 bytes end at bytes 80 and 160: in the second block
	// of 64, and past the last.
	if len(got.Jobs[0].Blocks) != 32 || len(got.Jobs[1].Blocks) != 1 {
		t.Errorf("blocks %d, %d: want 32, 1", len(got.Jobs[0].Blocks), len(got.Jobs[1].Blocks))
	}
}

// TestSourceRounds: a second round has the same lengths and other keys.
func TestSourceRounds(t *testing.T) {
	mix := []Job{{InputTokens: 16, Blocks: []int64{1}}, {InputTokens: 32, Blocks: []int64{1, 2}}}
	s := newSource(mix, 1)
	keys, ids := map[int64]int{}, map[uint64]bool{}
	for range 6 {
		j := s.draw()
		ids[j.ID] = true
		keys[j.Blocks[0]]++
	}
	if len(ids) != 6 {
		t.Errorf("%d ids for 6 jobs", len(ids))
	}
	if len(keys) < 3 {
		t.Errorf("rounds share their first block: %v", keys)
	}
}

func TestBuiltinMix(t *testing.T) {
	m := BuiltinMix(3)
	in, out := 0.0, 0.0
	for _, j := range m.Jobs {
		in += float64(j.InputTokens)
		out += float64(j.OutputTokens)
	}
	n := float64(len(m.Jobs))
	// mean of a lognormal = median·exp(sd²/2); the clipping moves it < 1 %
	if got, want := in/n, 96*math.Exp(.125); math.Abs(got/want-1) > 0.03 {
		t.Errorf("mean prompt %.1f, want %.1f", got, want)
	}
	if got, want := out/n, 11*math.Exp(.03125); math.Abs(got/want-1) > 0.02 {
		t.Errorf("mean answer %.2f, want %.2f", got, want)
	}
	if diff := cmp.Diff(m, BuiltinMix(3)); diff != "" {
		t.Error("one seed, two mixes")
	}
}
