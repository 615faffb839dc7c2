package sanitizer

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lambdac/lambdac/trace"
)

// FuzzTake puts arbitrary strings everywhere an exchange has strings. A secret
// beside them never survives, nothing panics, and nothing is dropped.
func FuzzTake(f *testing.F) {
	f.Add("POST", "/v1/chat/completions?key=a", "Authorization", "Bearer a", `{"model":"m","messages":[{"role":"user","content":"%s"}]}`, "gpt-4o", "stop")
	f.Add("", "http://u:p@h/a?b;c=d#e", "x-amzn-trace-id", "Root=1-2;Self=", `{"metadata":{"session_id":`, "ft:a:b::c", "é")
	f.Add("GET", "*", "content-type", "a/b; charset=\"", `{"cache_salt":"\"`, "arn:aws:x/", "a@b.c")
	f.Add("\x00", "//%00/..;/v1", "\xff", "\xff\xfe", "\xff{", "/home/x/", "\n")
	const secret = "sk-proj-4fGh7JkL9mNpQ2rStUv5WxYz8AbCdE1f"
	out := &memory{}
	s := start(f, Config{Key: testKey, FeatureShare: 1e-9}, out)
	// Work beside the fuzzed code would look like new coverage: no target is
	// ever new.
	s.targets.seen = everyTarget()
	var n uint64
	f.Fuzz(func(t *testing.T, method, target, name, value, body, model, word string) {
		n++
		x := chat(n, 0, body+secret)
		x.Method, x.Target = method, target+secret
		fields := []trace.Field{{Name: name, Value: value}, {Name: name + secret, Value: secret}, {Name: name, Value: value + secret}}
		x.ReqHeader, x.RespHeader, x.RespTrailer = fields, fields, fields
		x.Said = trace.Said{
			RequestModel: model + " " + secret, ResponseModel: model, Provider: word, ErrorType: word + "." + secret,
			ErrorCode: word, FinishReasons: []string{word, secret},
		}
		x.Answer = []trace.AnswerText{{Kind: trace.ChunkText, Text: []byte(value + secret)}}
		if err := s.Take(x); err != nil {
			t.Fatal(err)
		}
		w := trace.CaptureWindow{ExchangesSeen: 1}
		if err := s.Window(&w); err != nil {
			t.Fatal(err)
		}
		if len(out.records) != 1 || w.DroppedSanitizer != 0 {
			t.Fatalf("%d records, %d dropped", len(out.records), w.DroppedSanitizer)
		}
		text, err := json.Marshal(out.records[0])
		if err != nil {
			t.Fatal(err)
		}
		out.records, out.windows = out.records[:0], nil
		for _, form := range spellings(secret) {
			if bytes.Contains(bytes.ToLower(text), bytes.ToLower(form)) {
				t.Fatalf("the secret survives: %s", text)
			}
		}
	})
}

// FuzzGrammars: what a grammar keeps is short and holds no byte that the value
// did not have, but for the marks of the grammar itself.
func FuzzGrammars(f *testing.F) {
	for _, v := range []string{"application/json; charset=utf-8", "1.25", "a;dur=1e400", "Mon, 30 Nov 2026 10:00:00 GMT", "a/1.0 (b)", "2024-10-01-preview"} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v string) {
		for name, read := range newVocabulary(DefaultPolicy()).grammars() {
			got, ok := read(v)
			if ok && (len(got) > 512 || suspectLong(got)) {
				t.Errorf("%s keeps %q of %q", name, got, v)
			}
		}
	})
}

// suspectLong reports a key in what was kept.
func suspectLong(s string) bool { return hasKeyFormat(s) || hasMail(s) }

// FuzzMembers: of any JSON object the scan yields the members that
// encoding/json finds, and of anything else only parts of it.
func FuzzMembers(f *testing.F) {
	for _, body := range []string{`{"a":1,"b":{"c":[1,"}"]}}`, `{"a":"\\","b":"\""}`, `{"a`, `{"a":]`, `[`, "{\"a\":\"\\"} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got := make(map[string]string)
		for name, value := range members(body) {
			got[string(name)] = string(value)
		}
		var want map[string]json.RawMessage
		if json.Unmarshal(body, &want) != nil || bytes.ContainsAny(body, "\\") || !utf8.Valid(body) {
			return
		}
		for name, value := range want {
			if strings.TrimSpace(got[name]) != string(value) {
				t.Errorf("member %q is %q, want %q", name, got[name], value)
			}
		}
	})
}
