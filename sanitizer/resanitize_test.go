package sanitizer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

func again(t *testing.T, cfg Config, from trace.Seal) *Resanitizer {
	t.Helper()
	r, err := NewResanitizer(cfg, from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// A mode is never left for a looser one.
func TestResanitizeOnlyStricter(t *testing.T) {
	modes := []trace.Mode{trace.ModeRedact, trace.ModeFiller, trace.ModeShape}
	for i, from := range modes {
		for j, to := range modes {
			_, err := NewResanitizer(Config{Mode: to}, trace.Seal{Mode: from, Version: "1"})
			if (err == nil) != (j >= i) {
				t.Errorf("%s to %s: %v", from, to, err)
			}
		}
	}
	for _, from := range []trace.Mode{"", "lax"} {
		if _, err := NewResanitizer(Config{}, trace.Seal{Mode: from}); err == nil || !strings.Contains(err.Error(), "unknown mode") {
			t.Errorf("from %q: %v", from, err)
		}
	}
	if _, err := NewResanitizer(Config{Mode: trace.ModeFiller}, trace.Seal{Mode: trace.ModeImport}); err == nil {
		t.Error("texts were promised of a trace that never had any")
	}
}

// The same policy changes nothing but the seal.
func TestResanitizeKeepsEverything(t *testing.T) {
	x := chat(1, 5_000, messages("Hello"))
	x.Target = "/v1/chat/completions/swordfish?api-version=2024-10-21&key=abc&swordfish=1"
	x.ReqHeader = append(x.ReqHeader, trace.Field{Name: "Accept", Value: "text/html"}, trace.Field{Name: "Accept", Value: "*/*"},
		trace.Field{Name: "X-Swordfish", Value: "1"}, trace.Field{Name: "Traceparent", Value: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"})
	x.Said = trace.Said{
		Provider: "swordfish", RequestModel: "ft:gpt-4o-mini:acme::x", ResponseModel: "swordfish",
		FinishReasons: []string{"stop", "swordfish"}, ErrorType: "swordfish", ServiceTier: "swordfish",
	}
	rec := one(t, x)
	want := *rec
	want.Redactions = nil
	again(t, Config{}, trace.Seal{Mode: trace.ModeShape, Version: "1"}).Record(rec)
	got := *rec
	got.Redactions, got.SanitizerVersion, got.PolicyHash = nil, want.SanitizerVersion, want.PolicyHash
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestResanitizeByAStricterPolicy(t *testing.T) {
	x := chat(1, 5_000, messages("Hello"))
	x.Target = "/v1/chat/completions?api-version=2024-10-21&key=abc"
	x.ReqHeader = append(x.ReqHeader, trace.Field{Name: "User-Agent", Value: "openai-python/1.0"}, trace.Field{Name: "Authorization", Value: "Bearer x"},
		trace.Field{Name: "X-Session-Id", Value: "one"})
	x.Said = trace.Said{RequestModel: "gpt-4o", ErrorType: "EngineDeadError", FinishReasons: []string{"stop"}}
	rec := one(t, x)
	if rec.TenantID == nil || rec.SessionID == nil || *rec.RequestModel != "gpt-4o" {
		t.Fatalf("the first time: %+v", rec)
	}
	id, start := rec.RequestID, rec.StartUnixNs
	r := again(t, Config{Policy: StrictPolicy(), Key: testKey}, trace.Seal{Mode: trace.ModeRedact, Version: "1"})
	rec.BodyState, rec.Bodies = trace.BodyKept, []trace.Body{{Body: []byte("x")}}
	r.Record(rec)
	if rec.RequestID != id || rec.StartUnixNs != start {
		t.Error("id or time changed")
	}
	if rec.TenantID != nil || rec.SessionID != nil || rec.SessionSource != trace.SessionNone {
		t.Errorf("tenant %v, session %v from %s", rec.TenantID, rec.SessionID, rec.SessionSource)
	}
	if rec.BodyState != trace.BodyDroppedPolicy || rec.Bodies != nil || rec.SanitizerMode != trace.ModeShape || *rec.PolicyHash != r.Seal().PolicyHash {
		t.Errorf("body %s, %d bodies, mode %s", rec.BodyState, len(rec.Bodies), rec.SanitizerMode)
	}
	if !isPseudonym(*rec.RequestModel, "model-") || !isPseudonym(*rec.ErrorType, "other-") || rec.FinishReasons[0] != "stop" {
		t.Errorf("model %s, error %s, reasons %v", *rec.RequestModel, *rec.ErrorType, rec.FinishReasons)
	}
	want := map[string]string{
		"host": "len:20", "content-type": "application/json", "authorization": "len:8",
		"user-agent": "dropped", "x-session-id": "dropped", "?api-version": "dropped", "?key": "len:3",
	}
	if diff := cmp.Diff(want, rec.ReqHeaders); diff != "" {
		t.Error(diff)
	}
}

// Rows of a foreign directory that claims a seal are judged like traffic.
func TestResanitizeTrustsNoRow(t *testing.T) {
	rec := chat(1, 0, "").Record
	rec.PathTemplate = "/v1/anna/swordfish"
	rec.ReqHeaders = map[string]string{"authorization": "swordfish", "x-swordfish": "len:4", "traceparent": "id-swordfish", "accept": "swordfish", "cookie": "len:swordfish"}
	rec.RequestModel, rec.Provider, rec.FinishReasons = new("model-swordfish"), new("other-swordfish"), []string{"swordfish"}
	rec.Adapter, rec.ServiceTier = new("swordfish"), new("swordfish")
	again(t, Config{}, trace.Seal{Mode: trace.ModeShape, Version: "1"}).Record(rec)
	if text := dump(t, rec); strings.Contains(text, "swordfish") || strings.Contains(text, "anna") {
		t.Errorf("it survives: %s", text)
	}
}

func TestResanitizeBodies(t *testing.T) {
	out := &memory{}
	s := start(t, Config{Mode: trace.ModeRedact, Key: testKey}, out)
	s.targets.seen = everyTarget()
	x := chat(1, 0, `{"model":"gpt-4o","messages":[{"role":"user","content":"The swordfish swims in deep waters"}],"wish":"peace"}`)
	x.Said.RequestModel = "gpt-4o"
	x.Answer = []trace.AnswerText{
		{Kind: trace.ChunkText, Text: []byte("It swims indeed"), PieceBytes: []int32{8, 7}},
		{Kind: trace.ChunkToolArgs, Text: []byte(`{"swordfish":"swims"}`), PieceBytes: []int32{10, 11}},
	}
	if err := s.Take(x); err != nil {
		t.Fatal(err)
	}
	rec := out.records[0]
	if len(rec.Bodies) != 3 || !strings.Contains(string(rec.Bodies[0].Body), "swordfish swims") {
		t.Fatalf("redact kept %q", rec.Bodies)
	}
	r := again(t, Config{Mode: trace.ModeFiller, Key: testKey}, s.seal)
	r.Request(rec.RequestID, rec.APIKind, rec.RequestModel)
	for _, b := range rec.Bodies {
		size := len(b.DeltaBytes)
		if !r.Body(&b) {
			t.Fatalf("a body was refused")
		}
		text := string(b.Body)
		for _, word := range []string{"swordfish", "swims", "deep", "waters", "indeed", "peace"} {
			if strings.Contains(text, word) {
				t.Errorf("%q is left in %s", word, text)
			}
		}
		if b.Side == trace.SideRequest && !strings.Contains(text, `"len:5"`) {
			t.Errorf("the length was measured twice: %s", text)
		}
		if len(b.DeltaBytes) != size {
			t.Errorf("%d pieces became %d", size, len(b.DeltaBytes))
		}
	}
	if r.Body(&trace.Body{RequestID: "unknown"}) {
		t.Error("a body without its request was kept")
	}
	broken := trace.Body{RequestID: rec.RequestID, Side: trace.SideRequest, Body: []byte(`{"a":`)}
	if r.Body(&broken) {
		t.Error("a broken body was kept")
	}
	r.Record(rec)
	if rec.BodyState != trace.BodyDroppedUnparsable || rec.TokenizerID == nil {
		t.Errorf("body state %s, tokenizer %v", rec.BodyState, rec.TokenizerID)
	}
}
