package replayer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/trace"
)

// fillerRecord is a chat of a filler trace: its body, of the given words, and
// token blocks, those of the first share shared with other sessions.
func fillerRecord(n int, session string, blocks []int64, texts ...string) *trace.Record {
	r := chatRecord(n, time.Duration(n)*time.Second)
	spec := llmwire.Spec{Kind: trace.KindOpenAIChat, Model: "m"}
	words := 0
	for i, text := range texts {
		role := []trace.Role{trace.RoleSystem, trace.RoleUser, trace.RoleAssistant, trace.RoleTool}[i%4]
		spec.Messages = append(spec.Messages, llmwire.Message{Role: role, Text: text})
		words += len(strings.Fields(text))
	}
	_, body, err := llmwire.Build(spec)
	if err != nil {
		panic(err)
	}
	r.Bodies = []trace.Body{{RequestID: r.RequestID, Side: trace.SideRequest, Body: body}}
	r.SanitizerMode = trace.ModeFiller
	r.SessionID = &session
	r.PrefixBlockSize, r.PrefixBlockUnit, r.PrefixBlockIDs = new(int32(16)), new(trace.UnitToken), blocks
	r.InputTokens = new(int64(words + 9))
	r.TemplateOverheadTokens = new(int32(9))
	return r
}

func told(p *prompter, r *trace.Record, key copyKey) (texts []string, words int64) {
	messages, words, _ := p.tell(r, key, p.layout(r, key, p.ledger.inputTokens(r)))
	for _, m := range messages {
		texts = append(texts, m.Text)
	}
	return texts, words
}

func wordRun(word string, n int) string { return strings.TrimSuffix(strings.Repeat(word+" ", n), " ") }

// A trace that kept its bodies is replayed with them: message for message, and
// with words of its own where another copy must not find them in the cache.
func TestRecordedTextsAreSent(t *testing.T) {
	system := wordRun("sys", 32) // two blocks, which two sessions share
	recs := []*trace.Record{
		fillerRecord(0, "a", []int64{0, 1, 2}, system, wordRun("one", 10)),
		fillerRecord(1, "a", []int64{0, 1, 3, 4}, system, wordRun("one", 10), wordRun("ans", 6), wordRun("two", 12)),
		fillerRecord(2, "b", []int64{0, 1, 5}, system, wordRun("oth", 9)),
	}
	p := testPrompter(recs, CachePrimed)
	texts, words := told(p, recs[1], copyKey{level: 3})
	if diff := cmp.Diff([]string{system, wordRun("one", 10), wordRun("ans", 6), wordRun("two", 12)}, texts); diff != "" || words != 60 {
		t.Errorf("%d words (-recorded +sent):\n%s", words, diff)
	}
	first, _ := told(p, recs[0], copyKey{level: 3, instance: 1})
	second, n := told(p, recs[1], copyKey{level: 3, instance: 1})
	third, _ := told(p, recs[2], copyKey{level: 3, instance: 1})
	if first[0] != system || second[0] != system || third[0] != system {
		t.Errorf("the shared prompt changed: %q", first[0])
	}
	if first[1] == wordRun("one", 10) || first[1] != second[1] || !strings.HasSuffix(first[1], wordRun("one", 8)) || n != 60 {
		t.Errorf("a copy's turns begin with %q and %q, %d words", first[1], second[1], n)
	}
	for _, cache := range []Cache{CacheCold, CacheAsTrace, CachePrimed} {
		q := testPrompter(recs, cache)
		warm, _ := told(q, recs[0], copyKey{level: 3, warm: true})
		if warm[0] == system || len(strings.Fields(warm[0])) != 32 {
			t.Errorf("%s: the warm-up sends the window's prompt: %q", cache, warm[0])
		}
		one, _ := told(q, recs[0], copyKey{level: 1})
		two, _ := told(q, recs[0], copyKey{level: 2})
		if same := one[0] == two[0]; same != (cache != CacheCold) {
			t.Errorf("%s: system prompts of two levels equal: %v", cache, same)
		}
		if same := one[1] == two[1]; same != (cache == CachePrimed) {
			t.Errorf("%s: user prompts of two levels equal: %v", cache, same)
		}
	}
}

// What is sent is what the service can take: roles as for a shape, the model
// asked for.
func TestRecordedRequests(t *testing.T) {
	r := fillerRecord(0, "a", nil, "sys", "one", "ans", "res")
	p := newPrompter([]*trace.Record{r}, []string{" w"}, &Config{Seed: 1, Cache: CachePrimed, Model: "target-model"})
	got, err := p.make(r, copyKey{})
	if err != nil {
		t.Fatal(err)
	}
	want := `"messages":[{"role":"system","content":"sys"},{"role":"user","content":"one"},{"role":"assistant","content":"ans"},{"role":"user","content":"res"}]`
	if !strings.Contains(string(got.body), want) || !strings.Contains(string(got.body), `"model":"target-model"`) {
		t.Errorf("%s", got.body)
	}
	if got.intended != 13 || got.words != 4 {
		t.Errorf("intended %d, words %d", got.intended, got.words)
	}
	if knob := promptKnob([]*trace.Record{r}, &trace.Seal{Mode: trace.ModeFiller}); knob != "prompts=recorded (filler) for 1 of 1" {
		t.Errorf("knob %q", knob)
	}
}

// The tokens of tools that are not sent, and of a template that the target has
// not, come as words at the end; what would be too much is left out there.
func TestRecordedPromptsAreOfTheMeantLength(t *testing.T) {
	for _, row := range []struct {
		name                      string
		tools                     int32
		input, overhead, template int64 // template: learned; −1 = nothing was
		words                     int64
	}{
		{"as recorded", 0, 40, 10, -1, 30},
		{"tools", 2, 140, 110, -1, 140 - 12},
		{"no template here", 0, 40, 10, 0, 40},
		{"a longer template here", 0, 40, 10, 25, 15},
		{"a template beyond the last message", 0, 40, 10, 39, 11},
	} {
		r := fillerRecord(0, "a", nil, wordRun("sys", 10), wordRun("one", 20))
		r.ToolDefCount = &row.tools
		r.InputTokens, r.TemplateOverheadTokens = &row.input, new(int32(row.overhead))
		p := testPrompter([]*trace.Record{r}, CachePrimed)
		if row.template >= 0 {
			p.refit(p.sentModel(r), promptFit{overhead: row.template, scale: 1})
		}
		texts, words := told(p, r, copyKey{})
		if n := len(strings.Fields(strings.Join(texts, " "))); int64(n) != words || words != row.words || texts[0] != wordRun("sys", 10) || !strings.HasPrefix(texts[1], "one") {
			t.Errorf("%s: %d words, %d said, want %d: %q", row.name, n, words, row.words, texts)
		}
	}
}

// Redacted text keeps all its bytes; copies get two words more.
func TestRedactedTextsAreSent(t *testing.T) {
	text := "Grüße aus Köln, sagt Katherine, und fragt nach dem Wetter."
	r := fillerRecord(0, "a", []int64{0}, "sys", text)
	r.SanitizerMode, r.PrefixBlockUnit, r.PrefixBlockSize = trace.ModeRedact, new(trace.UnitByte), new(int32(64))
	r.TemplateOverheadTokens = nil
	p := testPrompter([]*trace.Record{r}, CachePrimed)
	if texts, _ := told(p, r, copyKey{}); texts[1] != text {
		t.Errorf("%q", texts[1])
	}
	seen := map[string]bool{}
	for instance := range int64(20) {
		texts, _ := told(p, r, copyKey{instance: instance})
		joined := strings.Join(texts, "|")
		if seen[joined] {
			t.Errorf("copy %d is sent twice", instance)
		}
		seen[joined] = true
	}
	for from := range len(text) {
		got := p.insertWords(text, from, 7)
		if fields, was := len(strings.Fields(got)), len(strings.Fields(text)); !strings.HasSuffix(got, "Wetter.") && fields < was+partWords-1 || strings.ContainsRune(got, '�') {
			t.Errorf("at %d: %q", from, got)
		}
	}
}

// A body without texts, or that cannot be read, is replayed by its shape.
func TestBodiesWithoutTexts(t *testing.T) {
	for _, body := range []string{`{"model":"m","messages":[]}`, `{"model":"m","prompt":[1,2,3]}`, `{"messages":`, ``} {
		r := chatRecord(0, 0)
		r.Bodies = []trace.Body{{Side: trace.SideRequest, Body: []byte(body)}}
		if got := recordedTexts(r); got != nil {
			t.Errorf("%s: %v", body, got)
		}
		r.Bodies = []trace.Body{{Side: trace.SideResponse, Body: fmt.Appendf(nil, `{"messages":[{"role":"user","content":"hi"}]}`)}}
		if got := recordedTexts(r); got != nil {
			t.Errorf("an answer is sent: %v", got)
		}
	}
}
