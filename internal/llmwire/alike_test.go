package llmwire

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

// Texts that an event may hold, as JSON writes them: plain ones, escapes,
// invalid UTF-8, and some that look like the rest of an event.
var alikeTexts = []string{
	`"a"`, `" word"`, `""`, `"é"`, `"\n"`, `"\""`, `"\\"`, `"\"abc"`, `"\u0061"`, "\"\xff\"", "\"\x01\"",
	`"]}"`, `"a","role":"x`, `null`, `7`, `["a"]`, `[{"text":"b"}]`, `"[DONE]"`, `"a" `, ` "a"`, `"a"}`,
}

// Whatever event comes after whatever other: one that is like the one before
// but for its text is read as any other is.
func TestAlikeEvents(t *testing.T) {
	for kind, form := range map[trace.APIKind]string{
		trace.KindOpenAIChat:         `{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":TEXT},"finish_reason":null}]}`,
		trace.KindOpenAICompletions:  `{"choices":[{"text":TEXT,"index":1}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`,
		trace.KindOpenAIResponses:    `{"type":"response.output_text.delta","delta":TEXT,"output_index":0}`,
		trace.KindAnthropicMessages:  `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":TEXT}}`,
		trace.KindGemini:             `{"candidates":[{"content":{"parts":[{"text":TEXT}]}}],"modelVersion":"m"}`,
		trace.KindOllamaChat:         `{"model":"q","message":{"role":"assistant","content":TEXT},"done":false}`,
		trace.KindOllamaGenerate:     `{"response":TEXT,"thinking":"t","done":false}`,
		trace.KindBedrockConverse:    `{"contentBlockIndex":0,"delta":{"text":TEXT},"p":"abc"}`,
		trace.KindCohereChat:         `{"type":"content-delta","delta":{"message":{"content":{"text":TEXT}}}}`,
		trace.KindTGIGenerate:        `{"token":{"id":5,"text":TEXT,"special":false},"generated_text":TEXT}`,
		trace.KindTritonGenerate:     `{"model_name":"m","text_output":TEXT}`,
		trace.KindSGLangGenerate:     `{"text":TEXT,"meta_info":{"finish_reason":null,"prompt_tokens":5,"completion_tokens":1}}`,
		trace.KindLlamaCppCompletion: `{"index":0,"content":TEXT,"stop":false,"tokens_predicted":3}`,
		trace.KindBedrockInvoke:      `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":TEXT}}`,
	} {
		event := func(i int) []byte {
			data := strings.ReplaceAll(form, "TEXT", alikeTexts[i])
			if kind == trace.KindBedrockInvoke {
				data = chunkOf(data)
			}
			return []byte(data)
		}
		for i := range alikeTexts {
			for j := range alikeTexts {
				a, anew := NewAnswer(kind), NewAnswer(kind)
				for n, which := range []int{0, i, j, j, 1, i} {
					name := []byte([]string{"", "error"}[n/5])
					got := a.Event(name, event(which))
					anew.before.known = false
					if want := anew.Event(name, event(which)); !reflect.DeepEqual(want, got) {
						t.Errorf("%s, %s after %s: chunk %d: %s", kind, alikeTexts[j], alikeTexts[i], n, cmp.Diff(want, got))
					}
				}
				if want, got := fill(anew), fill(a); !reflect.DeepEqual(want, got) {
					t.Errorf("%s, %s after %s: %s", kind, alikeTexts[j], alikeTexts[i], cmp.Diff(want, got))
				}
			}
		}
	}
}

// An event that differs elsewhere is not taken for the one before, and one that
// does not is.
func TestAlike(t *testing.T) {
	const form = `{"id":"%s","choices":[{"index":0,"delta":{"content":"%s"}}]}`
	a := NewAnswer(trace.KindOpenAIChat)
	a.Event(nil, fmt.Appendf(nil, form, "1", "one"))
	for _, tt := range []struct {
		name, data, want string
	}{
		{"", fmt.Sprintf(form, "1", "two"), "two"},
		{"", fmt.Sprintf(form, "1", "é"), "é"},
		{"", fmt.Sprintf(form, "2", "two"), ""},
		{"x", fmt.Sprintf(form, "1", "two"), ""},
		{"", fmt.Sprintf(form, "1", `\n`), ""},
		{"", fmt.Sprintf(form, "1", ""), ""},
		{"", fmt.Sprintf(form, "1", "\xff"), ""},
		{"", fmt.Sprintf(form, "1", "two") + " ", ""},
	} {
		if got := a.before.text([]byte(tt.name), []byte(tt.data)); string(got) != tt.want {
			t.Errorf("%q %s: %q, want %q", tt.name, tt.data, got, tt.want)
		}
	}
}
