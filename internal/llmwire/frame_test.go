package llmwire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

// stream follows data lines and returns one word per event: its kind, bytes
// of generated output, tokens, and marks.
func stream(kind trace.APIKind, events ...string) (*Answer, []string) {
	a := NewAnswer(kind)
	var words []string
	for _, data := range events {
		name, rest, named := strings.Cut(data, "|")
		if !named {
			name, rest = "", data
		}
		words = append(words, word(a.Event([]byte(name), []byte(rest))))
	}
	return a, words
}

func word(c Chunk) string {
	var w strings.Builder
	w.WriteString(c.Kind.String())
	if c.Kind.Generated() {
		w.WriteString(fmt.Sprint(" ", c.Bytes))
	}
	if c.Tokens != nil {
		w.WriteString(fmt.Sprint(" t", *c.Tokens))
	}
	for _, m := range []struct {
		on   bool
		name string
	}{
		{c.Counts && !c.Kind.Generated(), "counts"},
		{!c.Counts && c.Kind.Generated(), "uncounted"},
		{c.Done, "done"},
		{c.Failed, "failed"},
		{c.Late, "late"},
	} {
		if m.on {
			w.WriteString(" " + m.name)
		}
	}
	return w.String()
}

func delta(members string) string {
	return `{"model":"m","choices":[{"index":0,"delta":{` + members + `},"finish_reason":null}]}`
}

func usageOf(in, out int) string {
	return fmt.Sprintf(`"usage":{"prompt_tokens":%d,"completion_tokens":%d}`, in, out)
}

const (
	finishStop = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	done       = "[DONE]"
)

func TestEventKinds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		events []string
		want   []string
	}{
		{ // trace.md §8 case 1
			"role, then text",
			[]string{delta(`"role":"assistant","content":""`), delta(`"content":"Hi"`), finishStop, done},
			[]string{"role", "text 2", "other", "done done"},
		},
		{ // case 2
			"Azure's first frame and filter frames",
			[]string{
				`{"choices":[],"model":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{}}]}`,
				`{"choices":[{"content_filter_offsets":{"check_offset":1},"content_filter_results":{},"finish_reason":null,"index":0}]}`,
				`{"choices":[{"content_filter_results":{},"delta":{"content":"a"},"finish_reason":null,"index":0}]}`,
				`{"choices":[{"content_filter_results":{},"delta":{},"finish_reason":"content_filter","index":0}]}`,
			},
			[]string{"filter", "filter", "text 1", "other"},
		},
		{ // case 3
			"usage at the end",
			[]string{delta(`"content":"a"`), `{"choices":[],` + usageOf(9, 4) + `}`, done},
			[]string{"text 1", "usage", "done done"},
		},
		{
			"null usage in each chunk",
			[]string{`{"choices":[{"delta":{"content":"a"}}],"usage":null}`},
			[]string{"text 1"},
		},
		{
			"null and empty contents",
			[]string{delta(`"content":null`), delta(`"content":""`), delta(``)},
			[]string{"other", "other", "other"},
		},
		{
			"reasoning under either name, and under both",
			[]string{delta(`"reasoning_content":"ab"`), delta(`"reasoning":"abc"`), delta(`"reasoning":"a","reasoning_content":"a"`), delta(`"reasoning":"a","content":"b"`)},
			[]string{"reasoning 2", "reasoning 3", "reasoning 1", "text 2"},
		},
		{
			"refusal, audio, content parts",
			[]string{delta(`"refusal":"no"`), delta(`"audio":{"id":"x","data":"AAAA","transcript":"hey"}`), delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"t"}]},{"type":"text","text":"uv"}]`)},
			[]string{"refusal 2", "audio 3", "text 3"},
		},
		{
			"tool call: name, then arguments",
			[]string{
				delta(`"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}]`),
				delta(`"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]`),
				delta(`"tool_calls":[]`), delta(`"tool_calls":null`),
				delta(`"function_call":{"name":"fn","arguments":"{"}`),
			},
			[]string{"other", "tool_args 2", "other", "other", "tool_args 1"},
		},
		{ // as llama-cpp-python sends it, with one event for each token
			"tool call whose name is in every bit",
			[]string{
				delta(`"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}]`),
				delta(`"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"}"}}]`),
				delta(`"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":""}}]`),
				delta(`"tool_calls":[{"index":1,"id":"d","function":{"name":"f","arguments":""}}]`),
			},
			[]string{"tool_args 1", "tool_args 1", "tool_args 0 uncounted", "other"},
		},
		{ // case 9
			"error in mid-stream",
			[]string{delta(`"content":"a"`), `{"error":{"message":"x","type":"t","code":500}}`, done},
			[]string{"text 1", "error failed", "done done"},
		},
		{
			"errors beside choices",
			[]string{
				`{"error":{"code":502},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`,
				`{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop","native_finish_reason":"error"}]}`,
				`{"choices":[{"index":0,"delta":{"content":"a"},"error":{"code":1}}]}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"error"}],` + usageOf(1, 1) + `}`,
				`{"error":null,"choices":[{"delta":{"content":"a"}}]}`,
			},
			[]string{"error failed", "error failed", "text 1 failed", "error failed", "text 1"},
		},
		{
			"errors of other shapes",
			[]string{`{"error":"x"}`, `{"object":"error","message":"x","type":"T","code":400}`, `{"detail":"x"}`, `error|{}`, `{"x_groq":{"error":"x"}}`},
			[]string{"error failed", "error failed", "error failed", "error failed", "error failed"},
		},
		{ // cases.md 8
			"[DONE] in the text, [DONE] with a blank, events after it",
			[]string{delta(`"content":"write [DONE] here"`), "[DONE] ", delta(`"content":"more"`), `{"choices":[],` + usageOf(1, 2) + `}`, done},
			[]string{"text 17", "done done", "other late", "usage late", "done done late"},
		},
		{
			"continuous usage: tokens per chunk, an empty delta whose usage grew",
			[]string{
				`{"choices":[{"delta":{"role":"assistant","content":""}}],` + usageOf(5, 0) + `}`,
				`{"choices":[{"delta":{"content":"ab"}}],` + usageOf(5, 2) + `}`,
				`{"choices":[{"delta":{"content":""}}],` + usageOf(5, 3) + `}`,
				`{"choices":[{"delta":{"content":"c"}}],` + usageOf(5, 4) + `}`,
				`{"choices":[],` + usageOf(5, 4) + `}`,
			},
			[]string{"role", "text 2 t2", "usage t1 counts", "text 1 t1", "usage"},
		},
		{
			"usage only with the finish says nothing about its chunk",
			[]string{delta(`"content":"a"`), `{"choices":[{"delta":{"content":""},"finish_reason":"stop"}],` + usageOf(5, 9) + `}`},
			[]string{"text 1", "usage"},
		},
		{ // cases.md 15 (c)
			"all tokens in the only event",
			[]string{`{"choices":[{"delta":{"content":"abc"},"finish_reason":"stop"}],` + usageOf(5, 8) + `}`},
			[]string{"text 3 t8"},
		},
		{
			"Groq's usage, llama.cpp's timings",
			[]string{`{"choices":[],"x_groq":{"id":"r","usage":{"prompt_tokens":1,"completion_tokens":2}}}`, `{"choices":[],"timings":{"prompt_ms":1,"predicted_ms":2}}`},
			[]string{"usage", "other"},
		},
		{
			"ping, not JSON, cut JSON, other JSON",
			[]string{`ping|{"type":"ping"}`, "hello", `{"choices":[{"delta":{"content":"a"}}`, "[]", "null", "", `{"choices":[]} x`},
			[]string{"ping", "other", "other", "other", "other", "other", "other"},
		},
		{
			"padding and logprobs are no text",
			[]string{`{"choices":[{"index":0,"delta":{"content":"Hi"},"logprobs":{"content":[{"token":"Hi","bytes":[72,105],"top_logprobs":[]}]}}],"obfuscation":"aZ3"}`},
			[]string{"text 2"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, got := stream(trace.KindOpenAIChat, tt.events...)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
