package sim

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/internal/tokens"
	"github.com/lambdac/lambdac/internal/twin"
)

func TestCountWords(t *testing.T) {
	tests := []struct {
		text string
		want int
	}{
		{"", 0},
		{" \n\t ", 0},
		{"one", 1},
		{" one two\nthree ", 3},
		{strings.Repeat("x", 24), 1},
		{strings.Repeat("x", 25), 2},
		{"数え切れない", 1},
	}
	for _, tt := range tests {
		p := &prompt{}
		p.text(tt.text)
		if p.tokens != tt.want {
			t.Errorf("%q: %d tokens, want %d", tt.text, p.tokens, tt.want)
		}
	}
}

// TestFillerWords: the replayer's filler is counted as intended.
func TestFillerWords(t *testing.T) {
	words := tokens.Words()
	p := &prompt{}
	p.text(strings.Join(words, ""))
	if p.tokens != len(words) {
		t.Errorf("%d filler words count as %d tokens", len(words), p.tokens)
	}
	for _, w := range words {
		one := &prompt{}
		if one.text(w); one.tokens != 1 {
			t.Errorf("filler word %q counts as %d tokens", w, one.tokens)
		}
	}
}

// TestPromptBlocks: keys are chained; a later message leaves those before it.
func TestPromptBlocks(t *testing.T) {
	keys := func(messages ...wireMessage) []int64 {
		p := &prompt{}
		for _, m := range messages {
			if err := p.message(m, 4); err != nil {
				t.Fatal(err)
			}
		}
		return p.keys
	}
	say := func(role, text string) wireMessage {
		return wireMessage{Role: role, Content: []byte(`"` + text + `"`)}
	}
	first := keys(say("user", filler(28)))                               // 32 tokens
	longer := keys(say("user", filler(28)), say("assistant", "x y z w")) // and 8
	longest := keys(say("user", filler(28)), say("assistant", filler(12)))
	other := keys(say("system", filler(28)))
	if len(first) != 2 || !slices.Equal(first, longer) || !slices.Equal(first, longest[:2]) || len(longest) != 3 {
		t.Errorf("a longer conversation does not keep its prefix: %v, %v, %v", first, longer, longest)
	}
	if first[0] == other[0] || first[1] == other[1] {
		t.Error("another role has the same blocks")
	}
}

// FuzzRequest: whatever the body, the server answers, and never with a panic.
func FuzzRequest(f *testing.F) {
	for _, body := range []string{
		`{"messages":[{"role":"user","content":"a b"}],"max_tokens":2,"stream":true}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"}]}],"max_completion_tokens":1}`,
		`{"messages":[{"content":null}],"max_tokens":1}`,
		`{"prompt":["a"],"max_tokens":1}`, `{"prompt":[[1,2]],"max_tokens":1}`, `{"prompt":[1,2],"stream":true,"stream_options":{"include_usage":true}}`,
		`{"input":["a","b"],"encoding_format":"base64"}`, `{"input":"a","dimensions":4}`,
		`{`, `[]`, `null`, `"x"`, `{"messages":{}}`, `{"prompt":{},"input":{}}`, "{\"prompt\":\"\xff\\ud800\"}",
		`{"max_tokens":-1,"prompt":""}`, `{"max_tokens":1e400}`, `{"prompt":" ","max_tokens":99999999999}`,
	} {
		f.Add([]byte(body))
	}
	p := twin.DefaultParams()
	p.StepFixed, p.PerSequence, p.PerPrefillToken = 0, 1, 0
	s, err := New(Config{Params: p, MaxOutputTokens: 4, MaxBodyBytes: 1 << 16})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range []string{"/v1/chat/completions", "/v1/completions", "/v1/embeddings"} {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(string(body))))
			if w.Code != 200 && w.Code != 400 && w.Code != 413 {
				t.Errorf("%s: status %d", path, w.Code)
			}
			if w.Code == 200 && strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") && !strings.HasSuffix(w.Body.String(), "data: [DONE]\n\n") {
				t.Errorf("%s: the stream does not end with its mark", path)
			}
		}
	})
}
