package sanitizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

// memory is an Output that keeps everything.
type memory struct {
	records  []*trace.Record
	windows  []trace.CaptureWindow
	manifest trace.Manifest
	fail     error
}

func (m *memory) Write(r *trace.Record) error {
	if m.fail != nil {
		return m.fail
	}
	m.records = append(m.records, r)
	return nil
}

// WriteFeatures puts them where they would have come with the record.
func (m *memory) WriteFeatures(f *trace.Features) error {
	for _, r := range m.records {
		if r.RequestID == f.RequestID {
			r.Features = f
		}
	}
	return m.fail
}

func (m *memory) WriteCapture(w *trace.CaptureWindow) error {
	m.windows = append(m.windows, *w)
	return nil
}

func (m *memory) SetManifest(update func(*trace.Manifest)) error {
	update(&m.manifest)
	return nil
}

var testKey = []byte("0123456789abcdef0123456789abcdef")

// start makes a sanitizer over out that is closed with the test.
func start(tb testing.TB, cfg Config, out Output) *Sanitizer {
	tb.Helper()
	s, err := New(cfg, out)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// one runs a single exchange through the default policy.
func one(t *testing.T, x *trace.Exchange) *trace.Record {
	t.Helper()
	out := &memory{}
	s := start(t, Config{Key: testKey, FeatureShare: 1e-9}, out)
	s.targets.seen = everyTarget()
	if err := s.Take(x); err != nil {
		t.Fatal(err)
	}
	if len(out.records) != 1 {
		t.Fatalf("%d records, want 1", len(out.records))
	}
	return out.records[0]
}

// everyTarget is a full set of targets: with it none is hashed, which takes
// 50 ms each.
func everyTarget() map[hostPort]struct{} {
	seen := make(map[hostPort]struct{})
	for port := range maxTargets {
		seen[hostPort{"", port}] = struct{}{}
	}
	return seen
}

// chat is a complete exchange with a body of the OpenAI chat family.
func chat(ordinal uint64, startNs int64, body string) *trace.Exchange {
	r := &trace.Record{}
	r.StartUnixNs = startNs
	r.TEndUs = new(int64(1000))
	r.APIKind = trace.KindOpenAIChat
	r.Outcome = trace.OutcomeOK
	r.HTTPVersion = "1.1"
	r.ReqComplete, r.RespComplete = true, true
	r.SampledWeight = 1
	r.CaptureSource, r.Vantage = "pcap", trace.VantageServer
	r.TokenSource = trace.TokensNone
	return &trace.Exchange{
		Ordinal: ordinal, Conn: ordinal, Record: r,
		Client: netip.MustParseAddrPort("192.0.2.7:50000"), Server: netip.MustParseAddrPort("192.0.2.1:8000"),
		Method: "POST", Target: "/v1/chat/completions",
		ReqHeader: []trace.Field{{Name: "Host", Value: "llm.example.com:8000"}, {Name: "Content-Type", Value: "application/json"}},
		ReqBody:   []byte(body),
	}
}

func messages(contents ...string) string {
	roles := []string{"user", "assistant"}
	var list []map[string]string
	for i, c := range contents {
		list = append(list, map[string]string{"role": roles[i%2], "content": c})
	}
	body, err := json.Marshal(map[string]any{"model": "m", "messages": list})
	if err != nil {
		panic(err)
	}
	return string(body)
}

func TestRecordOfAChat(t *testing.T) {
	x := chat(1, 5_000, messages("Hello"))
	x.ReqHeader = append(x.ReqHeader,
		trace.Field{Name: "Authorization", Value: "Bearer abc"},
		trace.Field{Name: "User-Agent", Value: "OpenAI/Python 1.99.1"})
	x.RespHeader = []trace.Field{{Name: "Content-Type", Value: "text/event-stream"}, {Name: "Set-Cookie", Value: "a=b"}}
	x.Target = "/v1/chat/completions?api-version=2024-10-21&key=abc"
	x.Said = trace.Said{
		Provider: "openai", Operation: "chat", RequestModel: "gpt-4o-mini", ResponseModel: "gpt-4o-mini-2024-07-18",
		FinishReasons: []string{"stop"}, ServiceTier: "default",
	}
	got := one(t, x)

	type safe struct {
		Path, Method, Request, Response string
		ReqHeaders, RespHeaders         map[string]string
		Finish                          []string
		Blocks                          []int64
		BodyState                       trace.BodyState
		Mode                            trace.Mode
	}
	want := safe{
		Path: "/v1/chat/completions", Method: "POST", Request: "gpt-4o-mini", Response: "gpt-4o-mini-2024-07-18",
		ReqHeaders: map[string]string{
			"host": "len:20", "content-type": "application/json", "authorization": "len:10",
			"user-agent": "OpenAI/Python", "?api-version": "2024-10-21", "?key": "len:3",
		},
		RespHeaders: map[string]string{"content-type": "text/event-stream", "set-cookie": "len:3"},
		Finish:      []string{"stop"}, Blocks: []int64{0},
		BodyState: trace.BodyDroppedPolicy, Mode: trace.ModeShape,
	}
	if diff := cmp.Diff(want, safe{
		got.PathTemplate, got.Method, *got.RequestModel, *got.ResponseModel,
		got.ReqHeaders, got.RespHeaders, got.FinishReasons, got.PrefixBlockIDs, got.BodyState, got.SanitizerMode,
	}); diff != "" {
		t.Error(diff)
	}
	if got.TenantID == nil || got.HostPseudonym == "" || got.ConnID == nil || len(got.RequestID) != 16 {
		t.Errorf("a pseudonym is missing: %q %v %q %v", got.RequestID, got.TenantID, got.HostPseudonym, got.ConnID)
	}
	if got.ServerPort != 0 {
		t.Errorf("server_port was changed to %d", got.ServerPort)
	}
}

// A record in which every string is captured text, as a mistake in the recorder
// might make it, leaves none of it.
func TestNoStringOfTheRecorderIsTrusted(t *testing.T) {
	const canary = "Planted canary; 4111 1111 1111 1111"
	x := chat(1, 0, messages(canary))
	fill(reflect.ValueOf(x.Record).Elem(), canary)
	x.Record.Chunks = nil
	fill(reflect.ValueOf(&x.Said).Elem(), canary)
	got := one(t, x)
	if text := dump(t, got); strings.Contains(text, "anary") || strings.Contains(text, "4111") {
		t.Errorf("the canary is in the record: %s", text)
	}
}

// fill sets every string below v, pointers, lists and maps included.
func fill(v reflect.Value, s string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field, s)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), s)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), s)
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{s: s}))
	}
}

// dump is everything in the record.
func dump(t *testing.T, r *trace.Record) string {
	t.Helper()
	rec, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	features, err := json.Marshal(r.Features)
	if err != nil {
		t.Fatal(err)
	}
	var bodies strings.Builder
	for _, b := range r.Bodies {
		fmt.Fprintf(&bodies, "%s: %s\n", b.Side, b.Body)
	}
	return string(rec) + string(features) + bodies.String()
}

func TestEqualKeyEqualRecords(t *testing.T) {
	run := func(key []byte) []*trace.Record {
		out := &memory{}
		s := start(t, Config{Key: key, FeatureShare: 1}, out)
		for i := range uint64(6) {
			x := chat(i, int64(i)*1e9, messages(strings.Repeat("same prefix ", 20), fmt.Sprint("tail ", i%3)))
			x.ReqHeader = append(x.ReqHeader, trace.Field{Name: "Authorization", Value: "Bearer one"})
			x.Answer = []trace.AnswerText{{Kind: trace.ChunkText, Text: []byte("An answer, an answer, an answer.")}}
			if err := s.Take(x); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Window(&trace.CaptureWindow{ExchangesSeen: 6}); err != nil {
			t.Fatal(err)
		}
		// On a slow machine features may follow their window; Close waits.
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return out.records
	}
	first, again, other := run(testKey), run(testKey), run([]byte("another key of thirty-two bytes!"))
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("equal keys differ: %s", diff)
	}
	if *first[0].TenantID != *first[5].TenantID {
		t.Error("one tenant has two pseudonyms")
	}
	if *first[0].TenantID == *other[0].TenantID || first[0].RequestID == other[0].RequestID {
		t.Error("two keys gave one pseudonym")
	}
	if diff := cmp.Diff(first[3].PrefixBlockIDs, other[3].PrefixBlockIDs); diff != "" {
		t.Errorf("block ids depend on the key: %s", diff)
	}
}

func TestExchangeIsOverwritten(t *testing.T) {
	for _, share := range []float64{1e-9, 1} {
		x := chat(1, 0, messages("secret"))
		x.RespBody = []byte("secret")
		x.Answer = []trace.AnswerText{{Kind: trace.ChunkText, Text: []byte("secret")}, {Kind: trace.ChunkToolArgs, Text: []byte("secret")}}
		x.ReqHeader = append(x.ReqHeader, trace.Field{Name: "Authorization", Value: "secret"})
		raw := [][]byte{x.ReqBody, x.RespBody, x.Answer[0].Text, x.Answer[1].Text}
		s := start(t, Config{FeatureShare: share}, &memory{})
		if err := s.Take(x); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil { // by then the tokenizer is through
			t.Fatal(err)
		}
		for i, b := range raw {
			if strings.Trim(string(b), "\x00") != "" {
				t.Errorf("share %v: text %d is still in memory", share, i)
			}
		}
		if x.ReqHeader != nil || x.Target != "" {
			t.Errorf("share %v: strings are still held", share)
		}
	}
}

// A panic costs one exchange, and is counted; what it says goes nowhere.
func TestPanicDropsTheExchange(t *testing.T) {
	out := &memory{}
	s := start(t, Config{}, out)
	for _, x := range []*trace.Exchange{nil, {Ordinal: 1}, chat(2, 0, messages("a"))} {
		if err := s.Take(x); err != nil {
			t.Fatal(err)
		}
	}
	w := trace.CaptureWindow{ExchangesSeen: 3}
	if err := s.Window(&w); err != nil {
		t.Fatal(err)
	}
	if w.ExchangesWritten != 1 || w.DroppedSanitizer != 2 || len(out.records) != 1 {
		t.Errorf("written %d, dropped %d, records %d; want 1, 2, 1", w.ExchangesWritten, w.DroppedSanitizer, len(out.records))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !out.manifest.Losses.Balanced() {
		t.Errorf("losses do not add up: %+v", out.manifest.Losses)
	}
}

func TestOutputErrorsAreReturned(t *testing.T) {
	full := errors.New("no space left on device")
	out := &memory{fail: full}
	s := start(t, Config{}, out)
	if err := s.Take(chat(1, 0, messages("a"))); !errors.Is(err, full) {
		t.Errorf("Take: %v, want the output's error", err)
	}
	w := trace.CaptureWindow{ExchangesSeen: 1}
	if err := s.Window(&w); err != nil {
		t.Fatal(err)
	}
	if w.DroppedDisk != 1 || w.ExchangesWritten != 0 {
		t.Errorf("disk drops %d, written %d; want 1, 0", w.DroppedDisk, w.ExchangesWritten)
	}
}

func TestAfterClose(t *testing.T) {
	s := start(t, Config{}, &memory{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Take(chat(1, 0, messages("a"))); err == nil {
		t.Error("Take after Close gave no error")
	}
	if err := s.Window(&trace.CaptureWindow{}); err == nil {
		t.Error("Window after Close gave no error")
	}
}

func TestBodyState(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*trace.Exchange)
		want   trace.BodyState
		blocks bool
	}{
		{"whole", func(*trace.Exchange) {}, trace.BodyDroppedPolicy, true},
		{"request cut at the cap", func(x *trace.Exchange) { x.ReqBodyCut = 1 }, trace.BodyDroppedTruncated, false},
		{"request with a hole", func(x *trace.Exchange) { x.Record.ReqComplete = false }, trace.BodyDroppedTruncated, false},
		{"answer with a hole", func(x *trace.Exchange) { x.Record.RespComplete = false }, trace.BodyDroppedTruncated, true},
		{"no JSON", func(x *trace.Exchange) { x.ReqBody = []byte(`{"messages":[{"content":"a`) }, trace.BodyDroppedUnparsable, false},
		{"opaque", func(x *trace.Exchange) { x.Record.APIKind = trace.KindOther }, trace.BodyDroppedPolicy, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := chat(1, 0, messages("some text"))
			tc.change(x)
			got := one(t, x)
			if got.BodyState != tc.want || (got.PrefixBlockIDs != nil) != tc.blocks {
				t.Errorf("%s, blocks %v; want %s, %v", got.BodyState, got.PrefixBlockIDs, tc.want, tc.blocks)
			}
		})
	}
}
