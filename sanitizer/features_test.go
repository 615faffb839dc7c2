package sanitizer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

func TestRefusal(t *testing.T) {
	for _, tc := range []struct {
		text string
		want bool
	}{
		{"I'm sorry, but I can't help with that.", true},
		{"I’m sorry, but I can’t assist with that request.", true},
		{"I cannot provide instructions for this.", true},
		{"Sorry, I won't do that.", true},
		{"Es tut mir leid, aber dabei kann ich dir nicht helfen.", true},
		{"Lo siento, pero no puedo ayudar con eso.", true},
		{"很抱歉，我无法回答这个问题。", true},
		{"I'm sorry to hear that. Here is what you can do:", false},
		{"Sorry for the delay, here is the answer.", false},
		{"You can say: I can't help with that.", false},
		{"", false},
	} {
		if got := opensRefusal([]byte(tc.text)); got != tc.want {
			t.Errorf("opensRefusal(%q) = %v, want %v", tc.text, got, tc.want)
		}
	}
}

func TestFeatures(t *testing.T) {
	text := func(s string) []trace.AnswerText {
		return []trace.AnswerText{{Kind: trace.ChunkText, Text: []byte(s)}}
	}
	type want struct {
		Refusal, Valid *bool
		Reason         trace.FeatureReason
	}
	for _, tc := range []struct {
		name   string
		change func(*trace.Exchange)
		want   want
	}{
		{"plain", func(x *trace.Exchange) { x.Answer = text("Hi") }, want{new(false), nil, trace.FeatureSampled}},
		{"refusal field", func(x *trace.Exchange) {
			x.Answer = []trace.AnswerText{{Kind: trace.ChunkRefusal, Text: []byte("No.")}}
		}, want{new(true), nil, trace.FeatureSampled}},
		{"content filter", func(x *trace.Exchange) { x.Said.FinishReasons = []string{"content_filter"} }, want{new(true), nil, trace.FeatureOpaque}},
		{"JSON", func(x *trace.Exchange) { x.Answer, x.Said.JSONAsked = text(` {"a":1} `), true }, want{new(false), new(true), trace.FeatureSampled}},
		{"broken JSON", func(x *trace.Exchange) { x.Answer, x.Said.JSONAsked = text(`{"a":`), true }, want{new(false), new(false), trace.FeatureSampled}},
		{"JSON cut by the capture", func(x *trace.Exchange) {
			x.Answer, x.Said.JSONAsked, x.Record.RespComplete = text(`{"a":`), true, false
		}, want{new(false), nil, trace.FeatureBodyDropped}},
		{"JSON cut by the client", func(x *trace.Exchange) {
			x.Answer, x.Said.JSONAsked, x.Record.Outcome = text(`{"a":`), true, trace.OutcomeClientAbort
		}, want{new(false), nil, trace.FeatureSampled}},
		{"tool call", func(x *trace.Exchange) {
			x.Answer = []trace.AnswerText{{Kind: trace.ChunkToolArgs, Text: []byte("{}")}}
		}, want{new(false), nil, trace.FeatureOpaque}},
		{"no answer", func(*trace.Exchange) {}, want{nil, nil, trace.FeatureOpaque}},
		{"other HTTP", func(x *trace.Exchange) { x.Record.APIKind = trace.KindOther }, want{nil, nil, trace.FeatureOpaque}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := chat(1, 0, messages("a"))
			tc.change(x)
			got := one(t, x).Features
			if diff := cmp.Diff(tc.want, want{got.Refusal, got.FormatValid, *got.Reason}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Runs of one n-gram, n ≤ 4, against counting by hand.
func TestNgrams(t *testing.T) {
	for _, tc := range []struct {
		name string
		ids  []int32
		want int32
	}{
		{"none", nil, 0},
		{"one", []int32{7}, 1},
		{"all different", []int32{1, 2, 3, 4, 5, 6}, 1},
		{"a run of one token", []int32{1, 9, 9, 9, 9, 2}, 4},
		{"a run of a pair", []int32{1, 2, 1, 2, 1, 2}, 3},
		{"a run of a triple, cut", []int32{1, 2, 3, 1, 2, 3, 1, 2}, 2},
		{"a run of four", []int32{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}, 3},
		{"five is too long", []int32{1, 2, 3, 4, 5, 1, 2, 3, 4, 5}, 1},
	} {
		var w ngrams
		for _, id := range tc.ids {
			w.add(id)
		}
		if w.repeats != tc.want {
			t.Errorf("%s: %d repeats, want %d", tc.name, w.repeats, tc.want)
		}
	}
}

func TestTokenStats(t *testing.T) {
	keys, err := newKeyring(testKey)
	if err != nil {
		t.Fatal(err)
	}
	c := newTokenCounter(keys)
	for _, tc := range []struct {
		name     string
		texts    []string
		seen     int32 // o200k_base, by the reference implementation's published examples where short
		repeats  int32
		distinct float64
		cut      bool
	}{
		{"a word twenty times", []string{strings.Repeat(" the", 20)}, 20, 20, 1.0 / 18, false},
		{"two texts do not join", []string{" the", " the"}, 2, 1, 0, false},
		{"spelling of a special token", []string{"<|endoftext|>"}, 7, 1, 1, false}, // cases.md 11
		{"longer than 64 kB", []string{strings.Repeat(" the", 20_000)}, 16_384, 16_384, 1.0 / 16_382, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var texts [][]byte
			for _, text := range tc.texts {
				texts = append(texts, []byte(text))
			}
			got, err := c.count(texts)
			if err != nil {
				t.Fatal(err)
			}
			var sum int32
			for _, n := range got.bins {
				sum += n
			}
			if got.seen != tc.seen || sum != tc.seen || got.maxRepeat != tc.repeats || got.cut != tc.cut {
				t.Errorf("seen %d, in bins %d, repeats %d, cut %v; want %d, %d, %v", got.seen, sum, got.maxRepeat, got.cut, tc.seen, tc.repeats, tc.cut)
			}
			if (got.distinct3 != nil) != (tc.distinct > 0) || got.distinct3 != nil && *got.distinct3 != tc.distinct {
				t.Errorf("distinct trigrams %v, want %v", got.distinct3, tc.distinct)
			}
		})
	}
}

// A keyed share of the answers is counted, the same whatever their order.
func TestShareIsKept(t *testing.T) {
	out := &memory{}
	s := start(t, Config{Key: testKey}, out)
	const n = 3200
	for i := range uint64(n) {
		x := chat(i, int64(i), messages("a"))
		x.Answer = []trace.AnswerText{{Kind: trace.ChunkText, Text: []byte("word")}}
		if err := s.Take(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Window(&trace.CaptureWindow{ExchangesSeen: n}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var counted int
	for _, r := range out.records {
		if r.Features.OutTokensSeen != nil {
			counted++
		}
	}
	// 200 expected; ±4 standard deviations of the binomial.
	if len(out.records) != n || counted < 145 || counted > 255 {
		t.Errorf("%d records, %d counted; want %d and about 200", len(out.records), counted, n)
	}
}

// A record is written as soon as its exchange has ended, whether or not the
// tokenizer has time: what a kill takes along is at most some features.
func TestRecordsDoNotWaitForTokens(t *testing.T) {
	for _, live := range []bool{false, true} {
		out := &memory{}
		s := start(t, Config{Key: testKey, Live: live, FeatureShare: 1}, out)
		x := chat(1, 1, messages("a"))
		x.Answer = []trace.AnswerText{{Kind: trace.ChunkText, Text: []byte(strings.Repeat("slow", 15_000))}}
		if err := s.Take(x); err != nil {
			t.Fatal(err)
		}
		if len(out.records) != 1 {
			t.Fatalf("live %v: %d records after Take, want 1", live, len(out.records))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if f := out.records[0].Features; f == nil || !live && f.OutTokensSeen == nil {
			t.Errorf("live %v: features %+v", live, f)
		}
	}
}

// A live capture never waits: with the worker busy, answers go without.
func TestLiveNeverWaits(t *testing.T) {
	out := &memory{}
	s := start(t, Config{Key: testKey, Live: true, FeatureShare: 1}, out)
	const n = 200
	for i := range uint64(n) {
		x := chat(i, int64(i), messages("a"))
		x.Answer = []trace.AnswerText{{Kind: trace.ChunkText, Text: []byte(strings.Repeat("slow", 15_000))}}
		if err := s.Take(x); err != nil {
			t.Fatal(err)
		}
	}
	w := trace.CaptureWindow{ExchangesSeen: n}
	if err := s.Window(&w); err != nil {
		t.Fatal(err)
	}
	if w.ExchangesWritten != n || len(out.records) != n {
		t.Fatalf("%d written, %d records, want %d", w.ExchangesWritten, len(out.records), n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if len(out.manifest.Warnings) != 1 || !strings.Contains(out.manifest.Warnings[0], "tokenizer was behind") {
		t.Errorf("warnings %q, want the answers that were given up", out.manifest.Warnings)
	}
}
