package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestSolve(t *testing.T) {
	for _, tt := range []struct{ prompt, want string }{
		{"What is 37 + 5? Answer with the number only.", "42"},
		{"What is -3 * 12?", "-36"},
		{"What is 999999999 * 999999999? Answer with the number only.", "999999998000000001"},
		{"Some words.\nWhat is 10 - 3?\n", "7"},
		{"The code of oak is 4711. The code of elm is 815.\nBlah.\nThe code of ash is 9.\nWhat is the code of elm? Answer with the digits only.", "815"},
		{`Reply with exactly this JSON: {"a": 1, "b": ["x"]}`, `{"a": 1, "b": ["x"]}`},
		{"Write the word Lambda backwards. Answer with the word only.", "adbmaL"},
	} {
		if got, ok := solve(tt.prompt); !ok || got != tt.want {
			t.Errorf("%q: %q, %v: want %q", tt.prompt, got, ok, tt.want)
		}
	}
	for _, prompt := range []string{
		"", "What is love?", "What is 3 / 4?", "What is 1 + ?", "What is 12345678901 + 1?", "What is 3 + 4", "What is 3 + 4?\nthanks",
		"What is the code of elm?", "The code of elm is x9.\nWhat is the code of elm?", "The code of elm is 9\nWhat is the code of elm?",
		"What is the code of ?", "Write the word  backwards.", "Write the word a1 backwards.", "Write the word two words backwards.",
		"Reply with exactly this JSON: {", "Reply with exactly this JSON: 3", "please: What is 3 + 4?",
	} {
		if got, ok := solve(prompt); ok {
			t.Errorf("%q is no question, got %q", prompt, got)
		}
	}
}

// FuzzSolve: any prompt is solved or not, and a mistake is as long as the answer,
// in as many tokens, and another.
func FuzzSolve(f *testing.F) {
	for _, seed := range []string{"What is 37 + 5?", "The code of a is 1.\nWhat is the code of a?", `Reply with exactly this JSON: {"ä": "\u00e9 <b>"}`, "Write the word abz backwards."} {
		f.Add(seed, uint64(1))
	}
	f.Fuzz(func(t *testing.T, prompt string, pick uint64) {
		answer, ok := solve(prompt)
		if !ok {
			return
		}
		wrong := mistake(answer, pick)
		if wrong == answer || len(wrong) != len(answer) {
			t.Fatalf("%q: the mistake is %q", answer, wrong)
		}
		pieces := spoken(answer)
		var said string
		if err := json.Unmarshal([]byte(`"`+strings.Join(pieces, "")+`"`), &said); err != nil || said != strings.ToValidUTF8(said, "") {
			t.Fatalf("%q is spoken as %q: %v", answer, pieces, err)
		}
		if strings.ToValidUTF8(answer, "\ufffd") == answer && said != answer {
			t.Fatalf("%q is spoken as %q", answer, said)
		}
	})
}

// ask sends a question and returns the text of the answer and its body.
func ask(t *testing.T, b *bench, path, format, question string) (text, body string) {
	t.Helper()
	_, body = b.post(t, path, fmt.Sprintf(format, question))
	if strings.HasPrefix(body, "data:") || strings.HasPrefix(body, "event:") {
		for line := range strings.Lines(body) {
			data, _ := strings.CutPrefix(line, "data: ")
			text += contentOf([]byte(data))
		}
		return text, body
	}
	return contentOf([]byte(body)), body
}

// contentOf finds the text in a chunk or an answer of any of the families.
func contentOf(raw []byte) string {
	type said struct{ Content, Text string }
	var x struct {
		Choices []struct {
			said
			Delta, Message said
		}
		Delta   said
		Content json.RawMessage
	}
	if json.Unmarshal(raw, &x) != nil {
		return ""
	}
	var out strings.Builder
	out.WriteString(x.Delta.Text)
	for _, c := range x.Choices {
		out.WriteString(c.Text + c.Delta.Content + c.Message.Content)
	}
	var blocks []said
	if json.Unmarshal(x.Content, &blocks) == nil {
		for _, b := range blocks {
			out.WriteString(b.Text)
		}
	}
	return out.String()
}

// TestQuestions: questions are answered in each family, streamed or not, and an
// answer ends by itself.
func TestQuestions(t *testing.T) {
	const question = `Reply with exactly this JSON: {"name": "a<b", "n": [1, 2]}`
	const want = `{"name": "a<b", "n": [1, 2]}`
	inBubble(t, quick(), func(t *testing.T, b *bench) {
		for _, tt := range []struct{ name, path, format string }{
			{"chat", "/v1/chat/completions", `{"max_tokens":64,"messages":[{"role":"system","content":"be brief"},{"role":"user","content":%q}]}`},
			{"chat, parts", "/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":%q}]}]}`},
			{"chat stream", "/v1/chat/completions", `{"stream":true,"max_tokens":64,"messages":[{"role":"user","content":%q}]}`},
			{"completion", "/v1/completions", `{"max_tokens":64,"prompt":%q}`},
			{"completion stream", "/v1/completions", `{"stream":true,"prompt":%q}`},
			{"messages", "/v1/messages", `{"max_tokens":64,"messages":[{"role":"user","content":%q}]}`},
			{"messages stream", "/v1/messages", `{"stream":true,"max_tokens":64,"messages":[{"role":"user","content":%q}]}`},
		} {
			got, body := ask(t, b, tt.path, tt.format, question)
			if got != want || !strings.Contains(body, `"stop"`) && !strings.Contains(body, `"end_turn"`) {
				t.Errorf("%s: %q, %s", tt.name, got, body)
			}
		}
		if got, body := ask(t, b, "/v1/chat/completions", `{"max_tokens":2,"messages":[{"role":"user","content":%q}]}`, question); got != `{"name": "a<b",` || !strings.Contains(body, `"length"`) {
			t.Errorf("with 2 tokens: %q, %s", got, body)
		}
		if _, body := ask(t, b, "/v1/chat/completions", `{"max_tokens":9,"tool_choice":"required","tools":[{"type":"function","function":{"name":"f"}}],"messages":[{"role":"user","content":%q}]}`, question); !strings.Contains(body, "tool_calls") {
			t.Errorf("with a tool: %s", body)
		}
	})
}

// TestWrongAnswers: as many are wrong as the parameters say, streamed or not.
func TestWrongAnswers(t *testing.T) {
	cfg := quick()
	cfg.Params.WrongRate = 0.3
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		for _, stream := range []string{"true", "false"} {
			wrong := 0
			for i := range 200 {
				got, body := ask(t, b, "/v1/chat/completions", `{"stream":`+stream+`,"messages":[{"role":"user","content":%q}]}`, fmt.Sprintf("What is %d + 1? Answer with the number only.", i))
				switch {
				case len(got) != len(fmt.Sprint(i+1)):
					t.Fatalf("%d: %q in %s", i, got, body)
				case got != fmt.Sprint(i+1):
					wrong++
				}
			}
			if wrong < 40 || wrong > 80 {
				t.Errorf("streamed %s: %d of 200 are wrong, want 60", stream, wrong)
			}
		}
	})
}

func TestSpoken(t *testing.T) {
	p := &prompt{}
	for _, text := range []string{"42", "one two  three", strings.Repeat("x", 60) + " y", ""} {
		before := p.tokens
		p.text(text)
		if got := spoken(text); len(got) != p.tokens-before || slices.Contains(got, "") {
			t.Errorf("%q is %d tokens, spoken as %q", text, p.tokens-before, got)
		}
	}
}
