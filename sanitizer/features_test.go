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
