package sanitizer

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/internal/tokens"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// keep runs one exchange in a mode.
func keep(t *testing.T, mode trace.Mode, x *trace.Exchange) *trace.Record {
	t.Helper()
	rec, _ := keepAndSay(t, mode, x)
	return rec
}

// keepAndSay is keep, with the manifest's warnings.
func keepAndSay(t *testing.T, mode trace.Mode, x *trace.Exchange) (*trace.Record, string) {
	t.Helper()
	out := &memory{}
	s := start(t, Config{Key: testKey, FeatureShare: 1e-9, Mode: mode}, out)
	s.targets.seen = everyTarget()
	if err := s.Take(x); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if len(out.records) != 1 {
		t.Fatalf("%d records, want 1", len(out.records))
	}
	return out.records[0], strings.Join(out.manifest.Warnings, "\n")
}

// bodyOf is the body of a side, "" where there is none.
func bodyOf(rec *trace.Record, side trace.BodySide) string {
	for _, b := range rec.Bodies {
		if b.Side == side {
			return string(b.Body)
		}
	}
	return ""
}

// streamed is an exchange whose answer came as a stream of these pieces.
func streamed(body string, kind trace.ChunkKind, pieces ...string) *trace.Exchange {
	x := chat(1, 1e9, body)
	text := trace.AnswerText{Kind: kind, Text: []byte(strings.Join(pieces, ""))}
	for _, p := range pieces {
		text.PieceBytes = append(text.PieceBytes, int32(len(p)))
	}
	x.Answer = []trace.AnswerText{text}
	return x
}

const secretKey = "sk-ant-api03-Zq3vT9xLw2mNb7RkYc5hUe8JdPfGs4aVoX1iKtMzQyWrBn6EuHl0DjOgCpSFvIxTqZkLmNwRbYcHeUJdPfGsAA"

// trace.md §8 cases 17 to 21.
func TestRedactRequests(t *testing.T) {
	ghp := "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
	quoted := func(v string) string { return string(mustJSON(v)) }
	for _, row := range []struct {
		name, body string
		gone, left []string
	}{
		{"a key in a sentence", messages("my key is " + secretKey + ", thanks"), []string{secretKey}, []string{"my key is ", ", thanks"}},
		{"named by its neighbour", messages(`{"env":[{"name":"DB_PASSWORD","value":"hunter22!"},{"name":"COLOUR","value":"green22!"}]}`), []string{"hunter22"}, []string{"DB_PASSWORD", "green22!"}},
		{"an allow comment", messages("key " + secretKey + " # gitleaks:allow"), []string{secretKey}, []string{"gitleaks:allow"}},
		{"in tool arguments", `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"get","arguments":` +
			quoted(`{"path":"/a","note":"use `+secretKey+`"}`) + `}}]}]}`, []string{secretKey, "c1"}, []string{"/a", "use "}},
		{"escaped in tool arguments", `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"get","arguments":` +
			quoted(`{"note":"\u0073\u006b`+secretKey[2:]+`"}`) + `}}]}]}`, []string{secretKey, secretKey[4:]}, nil},
		{"in base64 in a text", messages("decode eyJub3RlIjoi" + "a2V5" + " " + base64Of("the key "+secretKey+" is old")), []string{base64Of("the key " + secretKey + " is old")}, []string{"decode "}},
		{"in tools' headers", `{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"mcp","server_url":"https://mcp.example.com/x","headers":{"Authorization":"Bearer ` + ghp + `"}}],"mcp_servers":[{"authorization_token":"` + ghp + `"}]}`, []string{ghp, "mcp.example.com"}, []string{"hi"}},
		{"a card as a number", `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"pay","arguments":` + quoted(`{"card":4111111111111111}`) + `}}]}]}`, []string{"4111111111111111"}, nil},
		{"mail", messages("write to katherine@example.com today"), []string{"katherine@example.com"}, []string{"write to ", " today"}},
		{"epoch milliseconds", messages(`at 1789000000007 it was`), nil, []string{"1789000000007"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			rec := keep(t, trace.ModeRedact, chat(1, 1, row.body))
			got := bodyOf(rec, trace.SideRequest)
			if !json.Valid([]byte(got)) || shapeOf(t, got) != shapeOf(t, row.body) {
				t.Errorf("of\n%s\ncame\n%s", row.body, got)
			}
			for _, v := range row.gone {
				if strings.Contains(got, v) {
					t.Errorf("%q is left in %s", v, got)
				}
			}
			for _, v := range row.left {
				if !strings.Contains(got, v) {
					t.Errorf("%q is gone from %s", v, got)
				}
			}
			if rec.BodyState != trace.BodyKept || rec.SanitizerMode != trace.ModeRedact {
				t.Errorf("body state %s, mode %s", rec.BodyState, rec.SanitizerMode)
			}
		})
	}
}

// The words for a value have its tokens, are the same wherever it stands, and
// others under another key.
func TestRedactSurrogates(t *testing.T) {
	rec := keep(t, trace.ModeRedact, chat(1, 1, messages("a "+secretKey+" b", "c "+secretKey+" d")))
	texts := textsOf(t, bodyOf(rec, trace.SideRequest))
	first := strings.TrimSuffix(strings.TrimPrefix(texts[0], "a "), " b")
	if second := strings.TrimSuffix(strings.TrimPrefix(texts[1], "c "), " d"); first != second {
		t.Errorf("%q, then %q", first, second)
	}
	voc, err := tokens.Load(tokens.O200K)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := voc.Count([]byte(first)), voc.Count([]byte(secretKey)); got != want {
		t.Errorf("%d tokens for %d", got, want)
	}
	out := &memory{}
	s := start(t, Config{Mode: trace.ModeRedact}, out)
	if err := s.Take(chat(1, 1, messages("a "+secretKey+" b"))); err != nil {
		t.Fatal(err)
	}
	if other := textsOf(t, bodyOf(out.records[0], trace.SideRequest))[0]; strings.Contains(other, first) {
		t.Errorf("the same words in another trace: %q", other)
	}
}

// What is put in the place of a finding has its tokens, under both
// vocabularies; the sentence around has them but for the two borders, where
// tokens join or part.
func TestRedactKeepsTheLoad(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s := start(t, Config{Key: testKey, Mode: trace.ModeRedact}, &memory{})
	around := []string{"my key is %s, thanks", "key=%s;", `"%s"`, "(%s)", "see %s", "%s\n", "<%s>", "Bearer %s", " mail %s today", "password: %s"}
	for _, name := range []string{tokens.CL100K, tokens.O200K} {
		voc, err := tokens.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		s.bodies.redactor.voc = voc
		var n, exact, drift, all int
		for _, kind := range plantedKinds() {
			for _, format := range around {
				text := fmt.Appendf(nil, format, kind.make(r))
				found := slices.Clone(s.bodies.redactor.find(nil, text))
				if len(found) == 0 {
					continue
				}
				span := text[found[0].Start:found[0].End]
				words := s.bodies.redactor.wordsOf(span).append(nil, voc.Count(span), ' ')
				if got, want := voc.Count(words), voc.Count(span); got != want {
					t.Fatalf("%s: %q has %d tokens, its words %d", name, span, want, got)
				}
				was := voc.Count(text)
				d := voc.Count([]byte(textIn(t, s.bodies.redactor, string(text)))) - was
				if d < -2*len(found) || d > 2*len(found) {
					t.Errorf("%s: %q is %d tokens off", name, text, d)
				}
				n, drift, all = n+1, drift+d, all+was
				if d == 0 {
					exact++
				}
			}
		}
		if n < 200 || exact*10 < n*6 || drift*200 > all || drift*200 < -all {
			t.Errorf("%s: %d of %d sentences are exact, all together %d of %d tokens off", name, exact, n, drift, all)
		}
	}
}

// trace.md §8 case 18: a secret over any number of deltas is found, and what
// came around it in the same deltas stays in them.
func TestRedactOverDeltas(t *testing.T) {
	text := "Your token: " + secretKey + ". Keep it safe, Katherine."
	r := rand.New(rand.NewPCG(2, 3))
	for n := range 300 {
		var pieces []string
		switch rest := text; {
		case n == 0:
			pieces = strings.Split(text, "")
		default:
			for rest != "" {
				size := min(len(rest), 1+r.IntN(1+n%40))
				pieces, rest = append(pieces, rest[:size]), rest[size:]
			}
		}
		rec := keep(t, trace.ModeRedact, streamed(messages("hi"), trace.ChunkText, pieces...))
		row := rec.Bodies[1]
		got := string(row.Body)
		if strings.Contains(got, secretKey) || !strings.HasPrefix(got, "Your token: ") || !strings.HasSuffix(got, ". Keep it safe, Katherine.") {
			t.Fatalf("%q", got)
		}
		if len(row.DeltaBytes) != len(pieces) || sum(row.DeltaBytes) != len(got) {
			t.Fatalf("%d pieces became %v of %d bytes", len(pieces), row.DeltaBytes, len(got))
		}
		at, seen := 0, 0
		for i, p := range pieces { // what lies wholly before or after the secret is cut as it was
			part := got[at : at+int(row.DeltaBytes[i])]
			before := seen+len(p) <= len("Your token: ")
			after := seen >= len("Your token: ")+len(secretKey)
			if (before || after) && part != p {
				t.Fatalf("piece %d of %q became %q", i, p, part)
			}
			at, seen = at+int(row.DeltaBytes[i]), seen+len(p)
		}
	}
}

// cases.md 10: the arguments of each call are one JSON text.
func TestToolArgumentsOfStreams(t *testing.T) {
	for _, mode := range []trace.Mode{trace.ModeRedact, trace.ModeFiller} {
		a := llmwire.NewAnswer(trace.KindOpenAIChat)
		for _, arguments := range []string{`{"q":"weather"}`, `{"q":"` + secretKey + `"}`, `{"q":"c"}`} {
			a.Event(nil, fmt.Appendf(nil, `{"choices":[{"index":0,"delta":{"tool_calls":[{"id":"t%d","type":"function","function":{"name":"find","arguments":%s}}]}}]}`, len(arguments), mustJSON(arguments)))
		}
		x := chat(1, 1, messages("hi"))
		a.Fill(x.Record, x)
		x.Record.TokenSource = trace.TokensNone
		rec := keep(t, mode, x)
		var calls []string
		for _, b := range rec.Bodies {
			if b.Kind == trace.ChunkToolArgs {
				calls = append(calls, string(b.Body))
				if !json.Valid(b.Body) || bytes.Contains(b.Body, []byte(secretKey)) || sum(b.DeltaBytes) != len(b.Body) {
					t.Errorf("%s: %s, pieces %v", mode, b.Body, b.DeltaBytes)
				}
			}
		}
		if len(calls) != 3 {
			t.Errorf("%s: calls %q, want 3", mode, calls)
		}
		if mode == trace.ModeRedact && (len(calls) < 1 || calls[0] != `{"q":"weather"}`) {
			t.Errorf("a call without a finding became %q", calls)
		}
	}
}

// trace.md §8 case 22: what repeats the text of an answer is not kept.
func TestAnswersKeepNoRepeats(t *testing.T) {
	x := chat(1, 1, messages("hi"))
	text := "the key is " + secretKey
	x.RespBody = fmt.Appendf(nil, `{"id":"chatcmpl-1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%[1]s},"logprobs":{"content":[{"token":%[1]s,"bytes":[115,107],"logprob":-0.1,"top_logprobs":[]}]},"finish_reason":"stop","token_ids":[1,2,3]}],"generated_text":%[1]s,"context":[7,8,9],"prompt_token_ids":[4,5],"data":[{"embedding":[0.25,-0.5]}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`, mustJSON(text))
	want := shapeOf(t, string(x.RespBody))
	rec := keep(t, trace.ModeRedact, x)
	got := bodyOf(rec, trace.SideResponse)
	if shapeOf(t, got) != want {
		t.Errorf("shape of %s", got)
	}
	if n := strings.Count(got, "the key is "); n != 1 {
		t.Errorf("the text stands there %d times: %s", n, got)
	}
	for _, v := range []string{secretKey, "115", "0.25", "[1,2,3]", "[7,8,9]", "[4,5]"} {
		if strings.Contains(got, v) {
			t.Errorf("%s is left in %s", v, got)
		}
	}
}

// What cannot be read is dropped, and its size stays.
func TestBodiesFailClosed(t *testing.T) {
	for _, mode := range []trace.Mode{trace.ModeRedact, trace.ModeFiller} {
		for _, row := range []struct {
			name string
			x    *trace.Exchange
			want trace.BodyState
			rows int
		}{
			{"no JSON", chat(1, 1, `{"messages":[{"role":"user","content":"x"`), trace.BodyDroppedUnparsable, 0},
			{"NaN", chat(1, 1, `{"messages":[{"role":"user","content":"x"}],"temperature":NaN}`), trace.BodyDroppedUnparsable, 0},
			{"deep", chat(1, 1, `{"messages":`+strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000)+`}`), trace.BodyDroppedUnparsable, 0},
			{"cut arguments", streamed(messages("hi"), trace.ChunkToolArgs, `{"q":"`, "abc"), trace.BodyDroppedUnparsable, 1},
			{"cut answer", func() *trace.Exchange {
				x := streamed(messages("hi"), trace.ChunkText, "sk-ant-api03-", "Zq3vT9xLw2mN")
				x.Record.RespComplete = false
				return x
			}(), trace.BodyDroppedTruncated, 1},
			{"cut request", func() *trace.Exchange {
				x := streamed(messages("my key is sk-ant-api03-Zq3vT9xL"), trace.ChunkText, "a")
				x.ReqBodyCut = 100
				return x
			}(), trace.BodyDroppedTruncated, 1},
			{"whole", streamed(messages("hi"), trace.ChunkText, "a", "b"), map[trace.Mode]trace.BodyState{trace.ModeRedact: trace.BodyKept, trace.ModeFiller: trace.BodyFiller}[mode], 2},
			{"opaque", func() *trace.Exchange {
				x := chat(1, 1, messages("hi"))
				x.Record.APIKind = trace.KindOther
				return x
			}(), trace.BodyDroppedPolicy, 0},
		} {
			row.x.Record.ReqBodyBytes = 1234
			cut := row.want == trace.BodyDroppedTruncated
			rec, said := keepAndSay(t, mode, row.x)
			if strings.Contains(said, "1 requests and answers did not come whole") != cut || strings.Contains(dump(t, rec), `"cut"`) != cut {
				t.Errorf("%s, %s: %v, warnings %q", mode, row.name, rec.Redactions, said)
			}
			if rec.BodyState != row.want || len(rec.Bodies) != row.rows || rec.ReqBodyBytes != 1234 {
				t.Errorf("%s, %s: %s with %d rows of %d bytes, want %s with %d", mode, row.name, rec.BodyState, len(rec.Bodies), rec.ReqBodyBytes, row.want, row.rows)
			}
		}
	}
}

// A filler body can be sent again: its texts have the tokens of the recorded
// ones and its names fit together.
func TestFillerBodies(t *testing.T) {
	body := `{"model":"gpt-4o","messages":[{"role":"system","content":"You are Katherine's assistant."},{"role":"user","content":[{"type":"text","text":"What is the weather in Hamburg?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]},` +
		`{"role":"assistant","tool_calls":[{"id":"call_9","type":"function","function":{"name":"lookup_katherine","arguments":"{\"katherine_city\":\"Hamburg\",\"invoice\":48213}"}}]},{"role":"tool","tool_call_id":"call_9","content":"rainy"}],` +
		`"tools":[{"type":"function","function":{"name":"lookup_katherine","description":"Looks up Katherine","parameters":{"type":"object","properties":{"katherine_city":{"type":"string"}},"required":["katherine_city"]}}}],"temperature":0.7,"max_tokens":100,"stream":true,"user":"katherine@example.com"}`
	x := streamed(body, trace.ChunkText, "It rains ", "in Hamburg.")
	x.Said.RequestModel = "gpt-4o"
	x.Record.InputTokens = new(int64(200))
	rec := keep(t, trace.ModeFiller, x)
	got := bodyOf(rec, trace.SideRequest)
	if shapeOf(t, got) != shapeOf(t, body) {
		t.Errorf("of\n%s\ncame\n%s", body, got)
	}
	for _, word := range []string{"atherine", "Hamburg", "weather", "rain", "48213", "call_9", "example", "data:"} {
		if strings.Contains(got+string(rec.Bodies[1].Body), word) {
			t.Errorf("%q is left in %s", word, got)
		}
	}
	for _, part := range []string{`"model":"gpt-4o"`, `"role":"tool"`, `"type":"object"`, `"temperature":0.7`, `"stream":true`} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is gone from %s", part, got)
		}
	}
	voc, err := tokens.Load(tokens.O200K)
	if err != nil {
		t.Fatal(err)
	}
	was, is := countsOf(t, voc, body), countsOf(t, voc, got)
	if diff := cmp.Diff(slices.Concat(was[:2], was[3:]), slices.Concat(is[:2], is[3:])); diff != "" { // 2 are arguments, which stay JSON
		t.Errorf("tokens (-recorded +filler):\n%s", diff)
	}
	total := 0
	for _, n := range was {
		total += n
	}
	if *rec.PrefixBlockSize != 16 || *rec.PrefixBlockUnit != trace.UnitToken || *rec.TokenizerID != tokens.O200K ||
		len(rec.PrefixBlockIDs) != (total+15)/16 || *rec.TemplateOverheadTokens != int32(200-total) {
		t.Errorf("prefix %+v, tokenizer %v, overhead %v of %d tokens", rec.Prefix, *rec.TokenizerID, *rec.TemplateOverheadTokens, total)
	}
	name := jsonAt(t, got, "tools", 0, "function", "name")
	if name != jsonAt(t, got, "messages", 2, "tool_calls", 0, "function", "name") {
		t.Errorf("the call does not name the tool: %s", got)
	}
	required, ok := jsonAt(t, got, "tools", 0, "function", "parameters", "required", 0).(string)
	properties, _ := jsonAt(t, got, "tools", 0, "function", "parameters", "properties").(map[string]any)
	if _, there := properties[required]; !ok || !there {
		t.Errorf("required %q is none of the properties %v", required, properties)
	}
}

// Live traffic that comes too fast is kept as shape, counted, and blocks of
// bytes are none of the blocks of tokens.
func TestBodiesOfFastTraffic(t *testing.T) {
	out := &memory{}
	s, err := New(Config{Key: testKey, Mode: trace.ModeFiller, Live: true, FeatureShare: 1e-9}, out)
	if err != nil {
		t.Fatal(err)
	}
	s.targets.seen = everyTarget()
	body := messages(strings.Repeat("some words of a prompt ", 20))
	for n := range uint64(3) {
		if n == 1 {
			s.bodies.pace.spent = time.Hour
		}
		if n == 2 {
			s.bodies.pace.from = time.Time{} // long ago
		}
		if err := s.Take(chat(n, int64(n), body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for n, want := range []trace.BodyState{trace.BodyFiller, trace.BodyDroppedPolicy, trace.BodyFiller} {
		rec := out.records[n]
		if kept := want == trace.BodyFiller; rec.BodyState != want || (len(rec.Bodies) > 0) != kept || (rec.PrefixBlockIDs[0] < firstByteBlock) != kept {
			t.Errorf("%d: %s, %d bodies, blocks %v", n, rec.BodyState, len(rec.Bodies), rec.PrefixBlockIDs)
		}
	}
	if all := strings.Join(out.manifest.Warnings, "\n"); !strings.Contains(all, "1 of 3 exchanges came too fast for the mode filler and were kept as shape") {
		t.Errorf("warnings %q", all)
	}
	if _, said := out.manifest.NullReasons["tokenizer_id"]; said {
		t.Error("a reason why there is no tokenizer")
	}
}

// Base64 in base64 is opened, and what has more layers is not kept.
func TestRedactOpensBase64(t *testing.T) {
	deep := "the key " + secretKey + " is old"
	for layer := range 6 {
		got := bodyOf(keep(t, trace.ModeRedact, chat(1, 1, messages("x "+deep+" y"))), trace.SideRequest)
		if layer > 0 && strings.Contains(got, deep) || strings.Contains(got, secretKey) {
			t.Errorf("%d layers: %s", layer, got)
		}
		deep = base64Of(deep)
	}
}

// TestCapturesInModes records every capture of a real server with its texts
// kept, and searches for what was planted.
func TestCapturesInModes(t *testing.T) {
	testenv.Long(t)
	files, err := filepath.Glob(captures + "/*.pcap*")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d captures, %v", len(files), err)
	}
	for _, mode := range []trace.Mode{trace.ModeFiller, trace.ModeRedact} {
		t.Run(string(mode), func(t *testing.T) {
			cfg := Config{Key: testKey, Mode: mode}
			root := t.TempDir()
			rows := 0
			for _, file := range files {
				name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
				dir := filepath.Join(root, name)
				w := create(t, dir, cfg)
				s := start(t, cfg, w)
				record(t, file, s)
				closeAll(t, s, w)
				rows += checkBodies(t, name, dir, mode)
			}
			if rows < 100 {
				t.Errorf("%d bodies", rows)
			}
			searchFor(t, root, append(plantedInCaptures(t), secretsOfCaptures(t)...))
		})
	}
}

// checkBodies reads a trace back: whole exchanges of known families have their
// bodies, and requests can be read again.
func checkBodies(t *testing.T, name, dir string, mode trace.Mode) (rows int) {
	t.Helper()
	d, err := tracedir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	kinds, states := make(map[string]trace.APIKind), make(map[string]trace.BodyState)
	for r, err := range tracedir.Rows[trace.Record](d) {
		if err != nil {
			t.Fatal(err)
		}
		kinds[r.RequestID], states[r.RequestID] = r.APIKind, r.BodyState
		if r.Outcome == trace.OutcomeOK && r.APIKind != trace.KindOther && r.BodyState != trace.BodyKept && r.BodyState != trace.BodyFiller {
			t.Errorf("%s: the bodies of a whole %s are %s: %v", name, r.APIKind, r.BodyState, r.Redactions)
		}
	}
	for b, err := range tracedir.Rows[trace.Body](d) {
		if err != nil {
			t.Fatal(err)
		}
		rows++
		if b.Kind == 0 && !json.Valid(b.Body) {
			t.Errorf("%s: a %s is no JSON", name, b.Side)
		}
		if b.Side == trace.SideRequest {
			err := llmwire.VisitText(kinds[b.RequestID], b.Body, func(_ trace.Role, text []byte) {
				if mode == trace.ModeFiller && !looksLikeJSON(text) && longWord.Match(text) {
					t.Errorf("%s: the filler of a %s has a long word: %.80q", name, kinds[b.RequestID], text)
				}
			})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if mode == trace.ModeFiller && b.Kind != 0 && b.Kind != trace.ChunkToolArgs && longWord.Match(b.Body) {
			t.Errorf("%s: a filler answer has a long word", name)
		}
	}
	return rows
}

// shapeOf is a JSON text with its values, and names that are no known words,
// reduced to their kinds; JSON in strings is not opened.
func shapeOf(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	var shape func(v any) string
	shape = func(v any) string {
		switch v := v.(type) {
		case map[string]any:
			parts := make([]string, 0, len(v))
			for _, inner := range v {
				parts = append(parts, shape(inner))
			}
			slices.Sort(parts)
			return "{" + strings.Join(parts, ",") + "}"
		case []any:
			parts := make([]string, 0, len(v))
			for _, inner := range v {
				parts = append(parts, shape(inner))
			}
			return "[" + strings.Join(parts, ",") + "]"
		}
		return fmt.Sprintf("%T", v)
	}
	return shape(v)
}

// textsOf are the content texts of a chat.
func textsOf(t *testing.T, body string) (texts []string) {
	t.Helper()
	err := llmwire.VisitText(trace.KindOpenAIChat, []byte(body), func(_ trace.Role, text []byte) { texts = append(texts, string(text)) })
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

func countsOf(t *testing.T, voc *tokens.Vocabulary, body string) (counts []int) {
	t.Helper()
	for _, text := range textsOf(t, body) {
		counts = append(counts, voc.Count([]byte(text)))
	}
	return counts
}

// jsonAt is a value inside a JSON text, nil where there is none.
func jsonAt(t *testing.T, text string, path ...any) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := v.(map[string]any)
			v = object[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

func base64Of(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
