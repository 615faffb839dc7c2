package sanitizer

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/internal/testenv"
)

// counting is a mode for tests: of a text stays its length, of a name the first
// letter, of a number a seven.
type counting struct{ open bool }

func (counting) text(dst, _, text []byte) ([]byte, bool) {
	return fmt.Appendf(dst, "text %d", len(text)), false
}
func (counting) name(dst, name []byte) []byte     { return fmt.Appendf(dst, "n%d", len(name)) }
func (counting) number(dst, _, raw []byte) []byte { return append(dst, '7') }
func (c counting) opens() bool                    { return c.open }

// textIn is what a mode makes of a text, unescaped.
func textIn(t *testing.T, mode texts, text string) string {
	t.Helper()
	quoted, same := mode.text([]byte{'"'}, nil, []byte(text))
	if same {
		return text
	}
	var out string
	if err := json.Unmarshal(append(quoted, '"'), &out); err != nil {
		t.Fatalf("%v in %s", err, quoted)
	}
	return out
}

const jsonType = "application/json"

func walked(t *testing.T, s *Sanitizer, body string, open bool) string {
	t.Helper()
	out, err := s.rewrite(nil, []byte(body), jsonType, counting{open})
	if err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return string(out)
}

func TestRewrite(t *testing.T) {
	s := start(t, Config{Key: testKey}, &memory{})
	id := func(v string) string { return "id-" + s.keys.name("body", v) }
	name := func(v string) string { return "name-" + s.keys.name("name", v) }
	model := func(v string) string { return "model-" + s.keys.name("model", v) }
	for _, tc := range []struct{ name, body, want string }{
		{
			"chat", `{"model":"gpt-4o-mini","messages":[{"role":"system","content":"Hello"},{"role":"user","content":[{"type":"text","text":"Hello you"}]}],"max_tokens":64,"temperature":0.7,"stream":true}`,
			`{"model":"gpt-4o-mini","messages":[{"role":"system","content":"text 5"},{"role":"user","content":[{"type":"text","text":"text 9"}]}],"max_tokens":64,"temperature":0.7,"stream":true}`,
		},
		{
			"an unknown field keeps its length", `{"wish":"peace","a":[1,2.5,true,null,"x"]}`,
			`{"` + name("wish") + `":"len:5","a":[0,0,false,null,"len:1"]}`,
		},
		{
			"a conversation", `{"conversation":{"id":"c1","note":"x"},"previous_response_id":"c1"}`,
			`{"conversation":{"id":"` + id("c1") + `","` + name("note") + `":"len:1"},"previous_response_id":"` + id("c1") + `"}`,
		},
		{
			"words of the API as those of a text", `{"messages":[{"content":[{"type":"tool_use","input":{"type":"journey","role":"guest","status":"failed"}}]}]}`,
			`{"messages":[{"content":[{"type":"tool_use","input":{"type":"text 7","role":"text 5","status":"failed"}}]}]}`,
		},
		{"an unknown model", `{"model":"acme-chat"}`, `{"model":"` + model("acme-chat") + `"}`},
		{"an unknown word", `{"service_tier":"swordfish","tools":[{"type":"anna"}]}`, `{"service_tier":"len:9","tools":[{"type":"len:4"}]}`},
		{
			"a card as a number", `{"max_tokens":4111111111111111,"seed":4111111111111111,"order_id":4111111111111111,"temperature":4111111111111111}`,
			`{"max_tokens":0,"seed":0,"order_id":0,"temperature":0}`,
		},
		{
			"identity", `{"user":"anna","metadata":{"user_id":"anna","session_id":"s","team":"red"},"safety_identifier":5}`,
			`{"user":"` + id("anna") + `","metadata":{"user_id":"` + id("anna") + `","session_id":"` + id("s") + `","team":"len:3"},"safety_identifier":0}`,
		},
		{
			"credentials", `{"api_key":"a","tools":[{"type":"mcp","server_url":"https://h","headers":{"Authorization":"Bearer x","n":1},"authorization":"t"}],"mcp_servers":[{"authorization_token":"q","name":"b"}]}`,
			`{"api_key":"len:1","tools":[{"type":"mcp","server_url":"len:9","headers":{"Authorization":"len:8","n":0},"authorization":"len:1"}],"mcp_servers":[{"authorization_token":"len:1","name":"len:1"}]}`,
		},
		{
			"credentials under other names", `{"x":{"secretAccessKey":"a","aws_session_token":"b","Api-Key":"c"}}`,
			`{"x":{"secretAccessKey":"len:1","aws_session_token":"len:1","Api-Key":"len:1"}}`,
		},
		{
			"tool arguments", `{"messages":[{"tool_calls":[{"id":"c1","type":"function","function":{"name":"find_anna","arguments":"{\"city\":\"Rome\",\"n\":3,\"password\":\"p\",\"deep\":[true,\"{\\\"k\\\":\\\"v\\\"}\"]}"}}]}]}`,
			`{"messages":[{"tool_calls":[{"id":"` + id("c1") + `","type":"function","function":{"name":"n9","arguments":"{\"city\":\"text 4\",\"n\":7,\"n8\":\"len:1\",\"n4\":[true,\"text 9\"]}"}}]}]}`,
		},
		{"arguments that are no JSON", `{"messages":[{"function_call":{"arguments":"{\"a"}}]}`, `{"messages":[{"function_call":{"arguments":"text 3"}}]}`},
		{
			"a schema", `{"tools":[{"type":"function","function":{"name":"search","description":"Find it","parameters":{"type":"object","properties":{"swordfish":{"type":"string"}},"required":["swordfish"]}}}]}`,
			`{"tools":[{"type":"function","function":{"name":"search","description":"text 7","parameters":{"type":"object","properties":{"n9":{"type":"string"}},"required":["n9"]}}}]}`,
		},
		{"token ids", `{"prompt":[464,995],"input_ids":[[1,2]]}`, `{"prompt":[0,0],"input_ids":[[0,0]]}`},
		{
			"media", `{"messages":[{"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}],"prompt":"data:image/png;base64,AAAA"}`,
			`{"messages":[{"content":[{"type":"image_url","image_url":{"url":"len:26"}}]}],"prompt":"len:26"}`,
		},
		{
			"what repeats the text", `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"logprobs":{"content":[{"token":"Hi","logprob":-0.1,"bytes":[72,105]}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens_details":{"reasoning_tokens":2}},"context":[1,2,3]}`,
			`{"choices":[{"index":0,"message":{"role":"assistant","content":"text 2"},"logprobs":{"content":[{"token":"len:2","logprob":0,"bytes":[0,0]}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens_details":{"reasoning_tokens":2}},"context":[0,0,0]}`,
		},
		{
			"embeddings", `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,-2e-3]}],"usage":{"total_tokens":5}}`,
			`{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0,0]}],"usage":{"total_tokens":5}}`,
		},
		{"generated text", `[{"generated_text":"Hi!"}]`, `[{"generated_text":"len:3"}]`},
		{
			"an error that echoes", `{"error":{"message":"Incorrect API key provided: sk-a","type":"invalid_request_error","code":"invalid_api_key"}}`,
			`{"error":{"message":"len:32","type":"invalid_request_error","code":"invalid_api_key"}}`,
		},
		{
			"gemini", `{"contents":[{"role":"user","parts":[{"text":"Hi"},{"inlineData":{"mimeType":"image/png","data":"AA=="}},{"functionCall":{"name":"search","args":{"q":"Hi"}}}]}],"generationConfig":{"topK":3}}`,
			`{"contents":[{"role":"user","parts":[{"text":"text 2"},{"inlineData":{"mimeType":"len:9","data":"len:4"}},{"functionCall":{"name":"search","args":{"q":"text 2"}}}]}],"generationConfig":{"topK":3}}`,
		},
		{
			"anthropic", `{"system":[{"type":"text","text":"Be kind","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"Hm","signature":"Eq"},{"type":"tool_use","id":"t","name":"search","input":{"q":"Rome"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"Found"}]}]}`,
			`{"system":[{"type":"text","text":"text 7","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"text 2","signature":"len:2"},{"type":"tool_use","id":"` + id("t") + `","name":"search","input":{"q":"text 4"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id("t") + `","content":"text 5"}]}]}`,
		},
		{"lines", "{\"response\":\"a\"}\n{\"response\":\"bc\",\"done\":true}\n", "{\"response\":\"text 1\"}\n{\"response\":\"text 2\",\"done\":true}"},
		{"half an emoji", `{"prompt":"\ud83d"}`, `{"prompt":"text 3"}`},
		{"spaces go", " {\"prompt\" : \"a\" ,\n \"stream\" : false } ", `{"prompt":"text 1","stream":false}`},
	} {
		if diff := cmp.Diff(tc.want, walked(t, s, tc.body, false)); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}

// A mode that looks into texts gets those inside JSON, and the text stays JSON.
func TestRewriteOpensTexts(t *testing.T) {
	s := start(t, Config{Key: testKey}, &memory{})
	nested := `{"q":"Rome","api_key":"k","user":"anna","inner":"[\"a\",5]"}`
	quoted, _ := json.Marshal(nested)
	body := `{"messages":[{"role":"user","content":` + string(quoted) + `}]}`
	got := walked(t, s, body, true)
	want := `{"messages":[{"role":"user","content":"{\"q\":\"text 4\",\"api_key\":\"len:1\",\"user\":\"text 4\",\"n5\":\"[\\\"text 1\\\",7]\"}"}]}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// Deeper than it looks, only the length stays.
	deep := `{"k":"v"}`
	for range maxOpened + 2 {
		q, _ := json.Marshal(deep)
		deep = `{"k":` + string(q) + `}`
	}
	q, _ := json.Marshal(deep)
	if got := walked(t, s, `{"prompt":`+string(q)+`}`, true); !strings.Contains(got, "len:") || strings.Contains(got, `"v`) {
		t.Errorf("strings in strings: %s", got)
	}
}

// What cannot be read is refused, and where is said without showing it.
func TestRewriteRefuses(t *testing.T) {
	const secret = "swordfish"
	deep := strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)
	for _, tc := range []struct {
		name, media, body string
		reason            refusal
		offset            int64
	}{
		{"NaN", jsonType, `{"temperature":NaN,"a":"` + secret + `"}`, refusedSyntax, 15},
		{"cut", jsonType, `{"prompt":"` + secret, refusedSyntax, 20},
		{"nothing", jsonType, ``, refusedSyntax, 0},
		{"one name twice", jsonType, `{"prompt":"a","prompt":"` + secret + `"}`, refusedDuplicate, 14},
		{"one name twice, escaped", jsonType, `{"prompt":"a","\u0070rompt":"` + secret + `"}`, refusedDuplicate, 14},
		{"10,000 deep", jsonType, deep, refusedDepth, maxDepth},
		{"10,000 deep in text", jsonType, `{"messages":` + deep + `}`, refusedDepth, 12 + maxDepth - 1},
		{"something after", jsonType, `{"a":1}` + secret, refusedSyntax, 7},
		{"no JSON", "text/plain", secret, refusedMedia, 0},
		{"an unknown coding", "", "\x1f\x8b\x08" + secret, refusedMedia, 0},
		{"a form without its end", "multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\n" + secret, refusedMultipart, 63},
		{"a form without a boundary", "multipart/form-data", "--b--", refusedMultipart, 0},
	} {
		s := start(t, Config{Key: testKey}, &memory{})
		out, err := s.rewrite(nil, []byte(tc.body), tc.media, counting{true})
		refused, ok := errors.AsType[*bodyError](err)
		if !ok || out != nil || refused.reason != tc.reason || refused.offset != tc.offset {
			t.Errorf("%s: %q, %v; want %s at byte %d", tc.name, out, err, tc.reason, tc.offset)
		}
		if warnings := fmt.Sprint(s.warnings(), err); strings.Contains(warnings, secret) || !strings.Contains(warnings, string(tc.reason)) {
			t.Errorf("%s: warnings %s", tc.name, warnings)
		}
	}
}

func TestRewriteForm(t *testing.T) {
	s := start(t, Config{Key: testKey}, &memory{})
	form := "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\nHello\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"swordfish\"\r\n\r\nHello\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"anna.wav\"\r\nContent-Type: audio/wav\r\n\r\nRIFF....\r\n--b--\r\n"
	out, err := s.rewrite(nil, []byte(form), "multipart/form-data; boundary=b", counting{})
	if err != nil {
		t.Fatal(err)
	}
	want := "--lambdac-part\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n" +
		"--lambdac-part\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\ntext 5\r\n" +
		"--lambdac-part\r\nContent-Disposition: form-data; name=\"name-" + s.keys.name("name", "swordfish") + "\"\r\n\r\nlen:5\r\n" +
		"--lambdac-part\r\nContent-Disposition: form-data; name=\"file\"; filename=\"len:8\"\r\n\r\nlen:8\r\n--lambdac-part--\r\n"
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Error(diff)
	}
}

func TestEncodedRuns(t *testing.T) {
	secret := "the key is swordfish"
	std := base64.StdEncoding.EncodeToString([]byte(secret + "?"))
	url := base64.RawURLEncoding.EncodeToString([]byte("ü~>?" + secret))
	twice := base64.StdEncoding.EncodeToString([]byte(std + std))
	text := "a " + std + ", (" + url + ") \"" + twice + "\" abcdefghijklmnopqrstuvwxyz0123456789"
	var got []string
	for at, decoded := range encodedRuns([]byte(text)) {
		got = append(got, fmt.Sprintf("%s=%s", text[at.start:at.end], decoded))
	}
	want := []string{std + "=" + secret + "?", url + "=ü~>?" + secret, twice + "=" + std + std}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A body of 100 MB takes time in proportion, and is walked.
func TestRewriteOfALargeBody(t *testing.T) {
	testenv.Long(t)
	s := start(t, Config{Key: testKey}, &memory{})
	const size = 100 << 20
	text := strings.Repeat("all work and no play makes a dull log, ", size/39)
	out, err := s.rewrite(nil, []byte(`{"wish":"`+text+`","messages":[{"role":"user","content":"`+text[:1000]+`"}]}`), jsonType, counting{})
	if want := fmt.Sprintf(`"len:%d","messages":[{"role":"user","content":"text 1000"}]}`, len(text)); err != nil || !strings.HasSuffix(string(out), want) {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

// FuzzRewrite: any JSON gives valid JSON of equal shape, in which no text is
// left.
func FuzzRewrite(f *testing.F) {
	for _, body := range []string{
		`{"messages":[{"role":"user","content":"%"}],"tools":[{"function":{"parameters":{"%":["%"]}}}]}`,
		`{"messages":[{"tool_calls":[{"function":{"arguments":"{\"a\":\"%\"}"}}]}]}`,
		`[[],{},"%",1e9,true,null]`, `{"":{"":"%"}}`, "{\"a\":1}\n{\"b\":\"%\"}", `"%"`, `{"a":"\ud800"}`,
	} {
		f.Add(body, true)
		f.Add(body, false)
	}
	const secret = "Zq7swordfish4Xw"
	s := start(f, Config{Key: testKey}, &memory{})
	f.Fuzz(func(t *testing.T, body string, open bool) {
		s.tally.list = nil
		body = strings.ReplaceAll(body, "%", secret)
		out, err := s.rewrite(nil, []byte(body), jsonType, counting{open})
		if err != nil {
			return
		}
		if bytes.Contains(out, []byte(secret)) {
			t.Fatalf("the secret survives: %s", out)
		}
		before, after := json.NewDecoder(strings.NewReader(body)), json.NewDecoder(bytes.NewReader(out))
		for {
			var a, b any
			if before.Decode(&a) != nil {
				break
			}
			if err := after.Decode(&b); err != nil {
				t.Fatalf("no JSON: %v in %s", err, out)
			}
			if !sameShape(a, b) {
				t.Fatalf("%s is not of the shape of %s", out, body)
			}
		}
	})
}

// sameShape compares objects by their number of members, lists by their
// elements, and values by their kind.
func sameShape(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && len(a) == len(b)
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !sameShape(a[i], b[i]) {
				return false
			}
		}
		return true
	}
	return reflect.TypeOf(a) == reflect.TypeOf(b)
}
