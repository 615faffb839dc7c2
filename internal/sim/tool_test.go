package sim

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func TestMustCall(t *testing.T) {
	const openAI = `"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g"}}],`
	const anthropic = `"tools":[{"name":"f"},{"name":"g"}],`
	for _, tt := range []struct{ body, want string }{
		{`{"tool_choice":"required"}`, ""},
		{`{` + openAI + `"tool_choice":"required"}`, "f"},
		{`{` + openAI + `"tool_choice":"auto"}`, ""},
		{`{` + openAI + `"tool_choice":"none"}`, ""},
		{`{` + openAI + `"tool_choice":null}`, ""},
		{`{` + openAI + `"tool_choice":7}`, ""},
		{`{` + openAI + `"tool_choice":{"type":"function","function":{"name":"g"}}}`, "g"},
		{`{` + anthropic + `"tool_choice":{"type":"any"}}`, "f"},
		{`{` + anthropic + `"tool_choice":{"type":"auto"}}`, ""},
		{`{` + anthropic + `"tool_choice":{"type":"none"}}`, ""},
		{`{` + anthropic + `"tool_choice":{"type":"tool","name":"g"}}`, "g"},
	} {
		var q wireRequest
		if err := json.Unmarshal([]byte(tt.body), &q); err != nil {
			t.Fatal(err)
		}
		if got := q.mustCall(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.body, got, tt.want)
		}
	}
}

// TestCallsAreJSON: whatever a tool is called, what is said of it is JSON, and
// its arguments are.
func TestCallsAreJSON(t *testing.T) {
	const name = `a\"%d\u2028\n%s`
	inBubble(t, quick(), func(t *testing.T, b *bench) {
		for _, body := range []string{
			`{"max_tokens":2,"messages":[{"role":"user","content":"x"}],"tools":[{"function":{"name":"` + name + `"}}],"tool_choice":"required"}`,
			`{"stream":true,"max_tokens":2,"messages":[{"role":"user","content":"x"}],"tools":[{"function":{"name":"` + name + `"}}],"tool_choice":"required"}`,
		} {
			resp, got := b.post(t, "/v1/chat/completions", body)
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("status %d: %s", resp.StatusCode, got)
			}
			var name, arguments string
			for line := range strings.Lines(got) {
				line = strings.TrimPrefix(strings.TrimSpace(line), "data: ")
				if line == "" || line == "[DONE]" {
					continue
				}
				type call struct {
					Function struct{ Name, Arguments string }
				}
				var answer struct {
					Choices []struct {
						Message, Delta struct {
							Calls []call `json:"tool_calls"`
						}
					}
				}
				if err := json.Unmarshal([]byte(line), &answer); err != nil {
					t.Fatalf("%v: %s", err, line)
				}
				for _, c := range append(answer.Choices[0].Message.Calls, answer.Choices[0].Delta.Calls...) {
					name += c.Function.Name
					arguments += c.Function.Arguments
				}
			}
			if name != "a\"%d\u2028\n%s" || arguments != `{"text":" the server"}` {
				t.Errorf("name %q, arguments %q", name, arguments)
			}
		}
	})
}
