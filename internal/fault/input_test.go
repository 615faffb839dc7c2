package fault

import (
	"encoding/base64"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/trace"
)

// sentBody is what a service is sent of a request past a fault.
func sentBody(t *testing.T, flag string, kind trace.APIKind, path, body string) (string, *Exchange) {
	t.Helper()
	in, err := New(t.Context(), Config{Faults: parseAll(t, flag), Seed: 1, Base: &http.Transport{}})
	if err != nil {
		t.Fatal(err)
	}
	var sent string
	in.base = seeing(func(req *http.Request) {
		text, _ := io.ReadAll(req.Body)
		sent = string(text)
		if int64(len(text)) != req.ContentLength {
			t.Errorf("%s: %d bytes, said to be %d", flag, len(text), req.ContentLength)
		}
	})
	req, err := http.NewRequest(http.MethodPost, "http://service"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	x := &Exchange{ID: "1", Kind: kind, Path: path}
	if _, err := in.Do(req, x); err != nil {
		t.Fatal(err)
	}
	return sent, x
}

// seeing is a service that looks at requests.
type seeing func(req *http.Request)

func (s seeing) RoundTrip(req *http.Request) (*http.Response, error) {
	s(req)
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}, nil
}

// TestPromptsOfEachFamily: in whatever way a family writes a prompt, the user's
// last text is what changes, and all else stays byte for byte.
func TestPromptsOfEachFamily(t *testing.T) {
	for _, name := range llmwire.Kinds() {
		kind := trace.APIKind(name)
		path, body, err := llmwire.Build(llmwire.Spec{
			Kind: kind, Model: "m", Messages: []llmwire.Message{{Role: trace.RoleUser, Text: `first "text"`}, {Role: trace.RoleAssistant, Text: "answer"}, {Role: trace.RoleUser, Text: "abcdefghij"}},
		})
		if err != nil {
			continue // opaque
		}
		before := string(body)
		last := "abcdefghij"
		if !strings.Contains(before, last) || strings.Contains(before, `answer`+last) {
			t.Fatalf("%s: %s", kind, before)
		}
		path, _, _ = strings.Cut(path, "?")
		sent, x := sentBody(t, "truncate,keep=30%", kind, path, before)
		texts := visited(t, kind, before)
		whole := texts[len(texts)-1] // a family may join the turns to one text
		want := string([]rune(whole)[:int(float64(len([]rune(whole)))*0.3)])
		if got := visited(t, kind, sent); got[len(got)-1] != want || len(x.Faults()) != 1 {
			t.Errorf("%s: %s became %s, want the last text to be %q", kind, before, sent, want)
		}
		if quoted := fmt.Sprintf("%q", whole); strings.Replace(before, quoted, fmt.Sprintf("%q", want), 1) != sent {
			t.Errorf("%s: more than the text changed: %s became %s", kind, before, sent)
		}
	}
}

func visited(t *testing.T, kind trace.APIKind, body string) (texts []string) {
	t.Helper()
	if err := llmwire.VisitText(kind, []byte(body), func(_ trace.Role, text []byte) { texts = append(texts, string(text)) }); err != nil {
		t.Fatal(err)
	}
	return texts
}

// TestPromptsThatCannotBeChanged pass as they are, and are not said to be
// faulted.
func TestPromptsThatCannotBeChanged(t *testing.T) {
	for _, body := range []string{"", "no json", `{"messages":[]}`, `{"messages":[{"role":"user","content":""}]}`, `{"messages":`, `[1,2]`, `{"prompt":5}`} {
		for _, flag := range []string{"truncate", "insert", "token-noise,ratio=100%", "base64-wrap"} {
			if sent, x := sentBody(t, flag, trace.KindOpenAIChat, "/v1/chat/completions", body); sent != body || len(x.Faults()) != 0 {
				t.Errorf("%s: %q became %q, faults %v", flag, body, sent, x.Faults())
			}
		}
	}
}

func TestBase64Wrap(t *testing.T) {
	sent, _ := sentBody(t, "base64-wrap", trace.KindOpenAIChat, "/v1/chat/completions", chatBody(7))
	texts := visited(t, trace.KindOpenAIChat, sent)
	fields := strings.Fields(texts[len(texts)-1])
	plain, err := base64.StdEncoding.DecodeString(fields[len(fields)-1])
	if want := visited(t, trace.KindOpenAIChat, chatBody(7)); err != nil || string(plain) != want[len(want)-1] {
		t.Errorf("%q, %v", plain, err)
	}
}

// TestTokenNoise: of 20,000 tokens 5 % are hit, 70 % of those become unknown;
// the others, as ids, are 1 to 5 further, and as text another word.
func TestTokenNoise(t *testing.T) {
	const n = 20000
	var ids, words strings.Builder
	for i := range n {
		fmt.Fprintf(&ids, ",%d", i%31999+1)
		fmt.Fprintf(&words, " w%d", i)
	}
	sent, _ := sentBody(t, "token-noise", trace.KindOpenAICompletions, "/v1/completions", `{"model":"m","prompt":[`+ids.String()[1:]+`]}`)
	root, err := parseJSON([]byte(sent))
	if err != nil {
		t.Fatal(err)
	}
	unknown, near := 0, 0
	for i, id := range root.members[1].value.items {
		was := float64(i%31999 + 1)
		switch is, _ := id.number(); {
		case is == was:
		case is == 0:
			unknown++
		case math.Mod(is-was+32000, 32000) <= 5:
			near++
		default:
			t.Errorf("id %v became %v", was, is)
		}
	}
	checkNoise(t, "ids", unknown, near, n)

	sent, _ = sentBody(t, "token-noise", trace.KindOpenAIChat, "/v1/chat/completions", `{"messages":[{"role":"user","content":"`+words.String()[1:]+`"}]}`)
	unknown, near = 0, 0
	for i, word := range strings.Fields(visited(t, trace.KindOpenAIChat, sent)[0]) {
		switch {
		case word == fmt.Sprintf("w%d", i):
		case word == unknownText:
			unknown++
		case word[0] == 'w':
			near++
		default:
			t.Errorf("word %d became %q", i, word)
		}
	}
	checkNoise(t, "words", unknown, near, n)
}

// checkNoise: 1,000 ± 30.8 hit, 700 ± 26 of them unknown; four sigma.
func checkNoise(t *testing.T, what string, unknown, near, n int) {
	t.Helper()
	if hit := unknown + near; hit < 877 || hit > 1123 || unknown < 596 || unknown > 804 {
		t.Errorf("%s: %d of %d hit, %d of them unknown; want about 1000 and 700", what, hit, n, unknown)
	}
}
