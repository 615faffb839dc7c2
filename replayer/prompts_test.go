package replayer

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/internal/tokens"
	"github.com/lambdac/lambdac/trace"
)

// chainTrace has chats that share prefixes: each of n conversations has a
// system prompt that all share, and turns that grow. Blocks are 64 bytes.
func chainTrace(conversations, turns int, perToken float64) []*trace.Record {
	const system = 640 // bytes, 10 blocks
	next := int64(10)
	var recs []*trace.Record
	for c := range conversations {
		ids := []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
		messages := []trace.Message{{Role: trace.RoleSystem, Bytes: system}}
		bytes := int64(system)
		for turn := range turns {
			add := int64(128 + 64*(c%3))
			messages = append(messages, trace.Message{Role: trace.RoleUser, Bytes: int32(add)})
			for range add / 64 {
				ids = append(ids, next)
				next++
			}
			bytes += add
			r := chatRecord(c*turns+turn, time.Duration(c*turns+turn)*time.Second)
			r.SessionID = new(fmt.Sprintf("s%d", c))
			r.Messages = append([]trace.Message(nil), messages...)
			r.PrefixBlockSize, r.PrefixBlockUnit = new(int32(64)), new(trace.UnitByte)
			r.PrefixBlockIDs = append([]int64(nil), ids...)
			r.InputTokens = new(int64(float64(bytes)/perToken) + int64(c%5))
			recs = append(recs, r)
		}
	}
	return recs
}

func testPrompter(recs []*trace.Record, cache Cache) *prompter {
	return newPrompter(recs, tokens.Words(), &Config{Seed: 1, Cache: cache})
}

// content joins the messages of a made prompt.
func content(t *testing.T, p *prompter, r *trace.Record, key copyKey) []string {
	t.Helper()
	texts, total := p.write(r, p.layout(r, key, p.ledger.inputTokens(r)))
	if n := len(strings.Fields(strings.Join(texts, ""))); int64(n) != total {
		t.Fatalf("%d words written, %d counted", n, total)
	}
	return texts
}

// Totals are the recorded ones, whatever the shape; there are as many
// messages, and each turn begins with the one before it.
func TestPromptTotalsAndPrefixes(t *testing.T) {
	recs := chainTrace(7, 5, 4.3)
	p := testPrompter(recs, CacheAsTrace)
	key := copyKey{level: 9, instance: 2}
	for i, r := range recs {
		texts := content(t, p, r, key)
		if n := len(strings.Fields(strings.Join(texts, ""))); int64(n) != *r.InputTokens {
			t.Errorf("record %d: %d words, %d tokens recorded", i, n, *r.InputTokens)
		}
		if len(texts) != len(r.Messages) {
			t.Fatalf("record %d: %d messages, %d recorded", i, len(texts), len(r.Messages))
		}
		if i%5 == 0 {
			continue
		}
		before := content(t, p, recs[i-1], key)
		for m := range len(before) - 1 {
			if texts[m] != before[m] {
				t.Errorf("record %d: message %d is not that of the turn before", i, m)
			}
		}
		if last := len(before) - 1; texts[last][:len(before[last])/2] != before[last][:len(before[last])/2] {
			t.Errorf("record %d: message %d does not begin as in the turn before", i, last)
		}
	}
}

// What is equal across copies, levels and the warm-up.
func TestPromptSharing(t *testing.T) {
	recs := chainTrace(4, 2, 4)
	base := copyKey{level: 1}
	rows := []struct {
		name         string
		cache        Cache
		key          copyKey
		system, user bool // equal to base's
	}{
		{"same", CacheAsTrace, base, true, true},
		{"other copy", CacheAsTrace, copyKey{level: 1, instance: 1}, true, false},
		{"other level", CacheAsTrace, copyKey{level: 2}, true, false},
		{"warm-up", CacheAsTrace, copyKey{level: 1, warm: true}, false, false},
		{"cold, same level", CacheCold, copyKey{level: 1, instance: 1}, true, false},
		{"cold, other level", CacheCold, copyKey{level: 2}, false, false},
		{"primed, other level", CachePrimed, copyKey{level: 2}, true, true},
		{"primed, warm-up", CachePrimed, copyKey{level: 1, warm: true}, false, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			p := testPrompter(recs, row.cache)
			a, b := content(t, p, recs[3], base), content(t, p, recs[3], row.key)
			if got := [2]bool{a[0] == b[0], a[1] == b[1]}; got != [2]bool{row.system, row.user} {
				t.Errorf("system and user prompt equal: %v, want %v and %v", got, row.system, row.user)
			}
			if strings.Fields(a[1])[0] == strings.Fields(b[1])[0] != row.user && !row.user {
				t.Log("first words happen to be equal") // 1 in the number of words
			}
		})
	}
	p := testPrompter(recs, CacheAsTrace)
	if content(t, p, recs[0], base)[1] == content(t, p, recs[2], base)[1] {
		t.Error("two conversations say the same")
	}
}

// Shapes as importers and odd traces have them: the total is always exact.
func TestPromptShapes(t *testing.T) {
	blocks := func(unit trace.BlockUnit, size int32, ids ...int64) func(*trace.Record) {
		return func(r *trace.Record) {
			r.PrefixBlockSize, r.PrefixBlockUnit, r.PrefixBlockIDs, r.Messages = &size, &unit, ids, nil
		}
	}
	rows := []struct {
		name   string
		tokens int64
		shape  func(*trace.Record)
		want   int64
	}{
		{"no blocks, no messages", 77, func(r *trace.Record) { r.Messages = nil }, 77},
		{"one word", 1, func(*trace.Record) {}, 1},
		{"token blocks, last one partial", 1000, blocks(trace.UnitToken, 512, 100, 101), 1000},
		{"token blocks, too many", 20, blocks(trace.UnitToken, 512, 100, 102, 103), 20},
		{"token blocks, too few", 5000, blocks(trace.UnitToken, 512, 100, 104), 5000},
		{"known blocks only, fewer tokens", 600, blocks(trace.UnitToken, 512, 100, 101), 600},
		{"more blocks than tokens", 2, blocks(trace.UnitByte, 64, 200, 201, 202, 203), 2},
		{"blocks of an absurd size", 50, blocks(trace.UnitByte, -5, 300, 301), 50},
		{"the same block twice", 40, blocks(trace.UnitByte, 64, 400, 400), 40},
		{"messages without a byte", 12, func(r *trace.Record) {
			r.Messages = []trace.Message{{Role: trace.RoleUser}, {Role: trace.RoleTool}}
		}, 12},
		{"negative sizes", 12, func(r *trace.Record) {
			r.Messages = []trace.Message{{Bytes: -9}, {Bytes: 5}}
		}, 12},
		{"no usage: 80 bytes at the trace's 4 a token", 0, func(r *trace.Record) { r.InputTokens = nil }, 20},
	}
	var recs []*trace.Record
	for i, row := range rows {
		r := chatRecord(i, time.Duration(i))
		r.InputTokens = new(row.tokens)
		row.shape(r)
		recs = append(recs, r)
	}
	recs[len(recs)-1].RequestModel = new("counted")
	counted := chatRecord(99, time.Hour)
	counted.RequestModel = new("counted")
	p := testPrompter(append(recs, counted), CacheAsTrace)
	for i, row := range rows {
		texts := content(t, p, recs[i], copyKey{})
		if n := len(strings.Fields(strings.Join(texts, ""))); int64(n) != row.want {
			t.Errorf("%s: %d words, want %d", row.name, n, row.want)
		}
		if _, err := p.make(recs[i], copyKey{}); err != nil {
			t.Errorf("%s: %v", row.name, err)
		}
	}
	// A block of tokens has just its tokens, so that what shares it agrees.
	if b := p.ledger.blocks[100]; b.tokens != 512 || !b.shared {
		t.Errorf("token block: %+v", b)
	}
	if b := p.ledger.blocks[101]; b.tokens != 488 {
		t.Errorf("last token block: %+v", b)
	}
}

// Where the recording has no counts.
func TestPromptsWithoutUsage(t *testing.T) {
	bare := chatRecord(0, 0)
	bare.InputTokens, bare.OutputTokens, bare.RequestModel = nil, nil, nil
	l := newLedger([]*trace.Record{bare}, func(*trace.Record) int64 { return 0 })
	if n := l.inputTokens(bare); n != 20 { // 80 bytes, 4 a token
		t.Errorf("%d tokens of 80 bytes", n)
	}
	if n, guessed := l.outputTokens(bare); n != nil || !guessed {
		t.Errorf("answer of %v tokens", n)
	}
	bare.MaxTokens = new(int32(9))
	if n, _ := l.outputTokens(bare); *n != 9 {
		t.Errorf("answer of %d tokens, limit 9", *n)
	}
	bare.ChunkCount = new(int32(7))
	if n, _ := l.outputTokens(bare); *n != 7 {
		t.Errorf("answer of %d tokens, 7 chunks", *n)
	}
	bare.OutputTokens = new(int64(11))
	if n, guessed := l.outputTokens(bare); *n != 11 || guessed {
		t.Errorf("answer of %d tokens, 11 counted", *n)
	}
}

// Several choices share the counted tokens.
func TestPinByChoice(t *testing.T) {
	r := chatRecord(0, 0)
	r.N = new(int32(4))
	if n := testPrompter([]*trace.Record{r}, CacheAsTrace).pin(r); *n != 3 { // 10 over 4
		t.Errorf("max_tokens %d, want 3", *n)
	}
}

// A fit changes later prompts: template and vocabulary are taken out.
func TestPromptsAfterAFit(t *testing.T) {
	recs := chainTrace(5, 4, 4)
	p := testPrompter(recs, CacheAsTrace)
	p.refit("m", promptFit{overhead: 12, scale: 1 / 1.25})
	for range 2 {
		for i, r := range recs {
			words := len(strings.Fields(strings.Join(content(t, p, r, copyKey{}), "")))
			if reported := 12 + 1.25*float64(words); reported < float64(*r.InputTokens)-1 || reported > float64(*r.InputTokens)+1 {
				t.Errorf("record %d: %v tokens would be reported, %d were recorded", i, reported, *r.InputTokens)
			}
		}
		p.renew()
	}
}

func TestFitPrompts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	rows := []struct {
		name     string
		lo, hi   float64 // lengths of prompts
		overhead float64
		slope    float64
		want     promptFit
	}{
		{"nothing", 20, 2000, 0, 1, promptFit{0, 1}},
		{"template", 20, 2000, 31, 1, promptFit{31, 1}},
		{"vocabulary", 20, 2000, 0, 1.25, promptFit{0, 0.8}},
		{"both", 20, 2000, 31, 1.25, promptFit{31, 0.8}},
		{"one length, template", 1000, 1001, 31, 1, promptFit{31, 1}},
		{"one length, vocabulary", 1000, 1001, 0, 1.25, promptFit{0, 0.8}},
	}
	for _, row := range rows {
		var words, reported []float64
		for i := range calibrateAfter {
			w := float64(int(row.lo + rng.Float64()*(row.hi-row.lo)))
			words, reported = append(words, w), append(reported, row.overhead+row.slope*w)
			if i%10 == 0 { // an odd answer
				reported[i] *= 3
			}
		}
		if got := fitPrompts(words, reported); cmp.Diff(row.want, got, cmp.AllowUnexported(promptFit{}), approx(1e-6)) != "" {
			t.Errorf("%s: %+v, want %+v", row.name, got, row.want)
		}
	}
}

func approx(eps float64) cmp.Option {
	return cmp.Comparer(func(a, b float64) bool { return a-b < eps && b-a < eps })
}
