package llmwire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lambdac/lambdac/internal/sse"
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
	w := c.Kind.String()
	if c.Kind.Generated() {
		w += fmt.Sprint(" ", c.Bytes)
	}
	if c.Tokens != nil {
		w += fmt.Sprint(" t", *c.Tokens)
	}
	for _, m := range []struct {
		on   bool
		name string
	}{
		{c.Counts != c.Kind.Generated(), "counts"},
		{c.Done, "done"},
		{c.Failed, "failed"},
		{c.Late, "late"},
	} {
		if m.on {
			w += " " + m.name
		}
	}
	return w
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
			[]string{"tool_args 1", "tool_args 2", "other", "other", "tool_args 3"},
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

// filled is what Fill writes, for comparing.
type filled struct {
	Usage  trace.Usage
	Times  trace.ServerTimes
	First  *int32
	Said   trace.Said
	Answer []trace.AnswerText
	Ended  bool
	Some   bool // generated
	Error  bool
}

func fill(a *Answer) filled {
	var rec trace.Record
	var x trace.Exchange
	a.Fill(&rec, &x)
	return filled{rec.Usage, rec.ServerTimes, rec.FirstChunkTokens, x.Said, x.Answer, a.Ended(), a.Generated(), a.ErrorSeen()}
}

func text(choice int32, kind trace.ChunkKind, pieces ...string) trace.AnswerText {
	t := trace.AnswerText{Choice: choice, Kind: kind}
	for _, p := range pieces {
		t.Text = append(t.Text, p...)
		t.PieceBytes = append(t.PieceBytes, int32(len(p)))
	}
	return t
}

func tokensUsed(in, out int64) trace.Usage {
	return trace.Usage{InputTokens: &in, OutputTokens: &out, RawInputTokens: &in, RawOutputTokens: &out, TokenSource: trace.TokensUsage}
}

func TestStreamFill(t *testing.T) {
	none := trace.Usage{TokenSource: trace.TokensNone}
	for _, tt := range []struct {
		name   string
		kind   trace.APIKind
		events []string
		want   filled
	}{
		{
			"complete", trace.KindOpenAIChat,
			[]string{delta(`"content":"H"`), delta(`"content":"i"`), finishStop, `{"choices":[],` + usageOf(9, 4) + `}`, done},
			filled{
				Usage: tokensUsed(9, 4), Said: trace.Said{ResponseModel: "m", FinishReasons: []string{"stop"}},
				Answer: []trace.AnswerText{text(0, trace.ChunkText, "H", "i")}, Ended: true, Some: true,
			},
		},
		{ // trace.md §8 case 4
			"cut before the usage", trace.KindOpenAIChat,
			[]string{delta(`"content":"H"`)},
			filled{Usage: none, Said: trace.Said{ResponseModel: "m"}, Answer: []trace.AnswerText{text(0, trace.ChunkText, "H")}, Some: true},
		},
		{ // case 8
			"only the end mark", trace.KindOpenAIChat,
			[]string{done},
			filled{Usage: none, Ended: true},
		},
		{ // case 9
			"error in mid-stream", trace.KindOpenAIChat,
			[]string{delta(`"content":"a"`), `{"error":{"message":"secret","type":"engine","code":500}}`, `{"error":{"type":"second"}}`, done},
			filled{
				Usage: none, Said: trace.Said{ResponseModel: "m", ErrorType: "engine", ErrorCode: "500"},
				Answer: []trace.AnswerText{text(0, trace.ChunkText, "a")}, Ended: true, Some: true, Error: true,
			},
		},
		{
			"a finish reason ends it without a mark", trace.KindOpenAIChat,
			[]string{delta(`"content":"a"`), finishStop},
			filled{
				Usage: none, Said: trace.Said{ResponseModel: "m", FinishReasons: []string{"stop"}},
				Answer: []trace.AnswerText{text(0, trace.ChunkText, "a")}, Ended: true, Some: true,
			},
		},
		{
			"two choices, one ended; index after its text", trace.KindOpenAIChat,
			[]string{
				`{"choices":[{"delta":{"content":"b"},"index":1}]}`, `{"choices":[{"delta":{"content":"a"},"index":0}]}`,
				`{"choices":[{"delta":{"content":"b"},"index":1,"finish_reason":"length"}]}`,
			},
			filled{
				Usage: none, Said: trace.Said{FinishReasons: []string{"length"}},
				Answer: []trace.AnswerText{text(1, trace.ChunkText, "b", "b"), text(0, trace.ChunkText, "a")}, Some: true,
			},
		},
		{
			"finish reasons in order of choice", trace.KindOpenAIChat,
			[]string{
				`{"choices":[{"delta":{},"index":1,"finish_reason":"length"}]}`,
				`{"choices":[{"delta":{},"index":0,"finish_reason":"stop"}]}`,
			},
			filled{Usage: none, Said: trace.Said{FinishReasons: []string{"stop", "length"}}, Ended: true},
		},
		{
			"continuous usage: the last wins", trace.KindOpenAIChat,
			[]string{
				`{"choices":[{"delta":{"content":"ab"}}],` + usageOf(5, 2) + `}`,
				`{"choices":[{"delta":{"content":"c"}}],` + usageOf(5, 3) + `}`,
				`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":0}}}`,
			},
			filled{
				Usage: func() trace.Usage {
					u := tokensUsed(5, 3)
					u.CacheReadTokens, u.ReasoningTokens = new(int64(4)), new(int64(0))
					return u
				}(),
				First:  new(int32(2)),
				Answer: []trace.AnswerText{text(0, trace.ChunkText, "ab", "c")}, Some: true,
			},
		},
		{
			"null and odd counts are not said", trace.KindOpenAIChat,
			[]string{`{"choices":[],"usage":{"prompt_tokens":-1,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":null},"completion_tokens_details":null}}`},
			filled{Usage: trace.Usage{OutputTokens: new(int64(7)), RawOutputTokens: new(int64(7)), TokenSource: trace.TokensUsage}},
		},
		{
			"llama.cpp's timings", trace.KindOpenAIChat,
			[]string{`{"choices":[],"timings":{"cache_n":236,"prompt_n":1,"prompt_ms":30.9,"predicted_n":35,"predicted_ms":661.0}}`},
			filled{Usage: none, Times: trace.ServerTimes{ServerTTFTUs: new(int64(30_900)), ServerTotalUs: new(int64(691_900))}},
		},
		{
			"completions", trace.KindOpenAICompletions,
			[]string{`{"object":"text_completion","model":"m","choices":[{"index":0,"text":"Hi","finish_reason":null}]}`, `{"choices":[{"index":0,"text":"","finish_reason":"stop"}]}`},
			filled{
				Usage: none, Said: trace.Said{ResponseModel: "m", FinishReasons: []string{"stop"}},
				Answer: []trace.AnswerText{text(0, trace.ChunkText, "Hi")}, Ended: true, Some: true,
			},
		},
		{
			"text after the end mark is no part", trace.KindOpenAIChat,
			[]string{done, delta(`"content":"x"`)},
			filled{Usage: none, Said: trace.Said{ResponseModel: "m"}, Ended: true},
		},
		{
			"a cut event leaves nothing", trace.KindOpenAIChat,
			[]string{`{"model":"x","choices":[{"delta":{"content":"abc"},"finish_reason":"stop"}],` + usageOf(1, 2)},
			filled{Usage: none},
		},
		{
			"a kind that is not known", trace.KindOther,
			[]string{`{"response":"x"}`, `{"error":{"type":"t"}}`, done},
			filled{Usage: none, Said: trace.Said{ErrorType: "t"}, Ended: true, Error: true},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, _ := stream(tt.kind, tt.events...)
			if diff := cmp.Diff(tt.want, fill(a)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// cases.md 10
func TestToolCalls(t *testing.T) {
	piece := func(members, args string) string {
		return delta(`"tool_calls":[{` + members + `"type":"function","function":{"name":"find","arguments":"` + args + `"}}]`)
	}
	q := []string{`{\"q\":\"a\"}`, `{\"q\":\"b\"}`, `{\"q\":\"c\"}`}
	for _, tt := range []struct {
		name   string
		events []string
		want   []string
	}{
		{
			"no index",
			[]string{piece(`"id":"t1",`, q[0]), piece(`"id":"t2",`, q[1]), piece(`"id":"t3",`, q[2])},
			[]string{`{"q":"a"}`, `{"q":"b"}`, `{"q":"c"}`},
		},
		{
			"all with index 0",
			[]string{piece(`"index":0,"id":"t1",`, q[0]), piece(`"index":0,"id":"t2",`, q[1]), piece(`"index":0,"id":"t3",`, q[2])},
			[]string{`{"q":"a"}`, `{"q":"b"}`, `{"q":"c"}`},
		},
		{
			"plain OpenAI",
			[]string{
				piece(`"index":0,"id":"t1",`, ""),
				delta(`"tool_calls":[{"index":0,"function":{"arguments":"{\"q\":"}}]`),
				delta(`"tool_calls":[{"index":0,"function":{"arguments":"\"a\"}"}}]`),
			},
			[]string{`{"q":"a"}`},
		},
		{
			"two calls in turns",
			[]string{
				piece(`"index":0,"id":"t1",`, "{"), piece(`"index":1,"id":"t2",`, "["),
				delta(`"tool_calls":[{"index":0,"function":{"arguments":"}"}},{"index":1,"function":{"arguments":"]"}}]`),
			},
			[]string{"{}", "[]"},
		},
		{
			"id with every piece",
			[]string{piece(`"id":"t1",`, "{"), piece(`"id":"t1",`, "}"), piece(`"id":"t2",`, "{}")},
			[]string{"{}", "{}"},
		},
		{
			"no ids",
			[]string{piece(`"index":0,`, "{"), delta(`"tool_calls":[{"index":0,"function":{"arguments":"}"}}]`), piece(`"index":1,`, "[]")},
			[]string{"{}", "[]"},
		},
		{ // as llama-cpp-python streams
			"each piece in both forms",
			[]string{
				delta(`"role":null,"content":null,"function_call":{"name":"f","arguments":"{"},"tool_calls":[{"index":0,"id":"t1","function":{"name":"f","arguments":"{"}}]`),
				delta(`"function_call":{"name":"f","arguments":"}"},"tool_calls":[{"index":0,"id":"t1","function":{"name":"f","arguments":"}"}}]`),
			},
			[]string{"{}"},
		},
		{
			"the older form alone",
			[]string{delta(`"function_call":{"name":"f","arguments":"{"},"tool_calls":null`), delta(`"function_call":{"arguments":"}"}`)},
			[]string{"{}"},
		},
		{
			"no mark at all",
			[]string{piece(``, "{"), delta(`"tool_calls":[{"function":{"arguments":"}"}}]`)},
			[]string{"{}"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, _ := stream(trace.KindOpenAIChat, tt.events...)
			var got []string
			for i, text := range fill(a).Answer {
				if text.Kind != trace.ChunkToolArgs || text.Tool != int32(i) {
					t.Errorf("text %d: kind %s, tool %d", i, text.Kind, text.Tool)
				}
				got = append(got, string(text.Text))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBody(t *testing.T) {
	none := trace.Usage{TokenSource: trace.TokensNone}
	whole := func(choice, tool int32, kind trace.ChunkKind, s string) trace.AnswerText {
		return trace.AnswerText{Choice: choice, Tool: tool, Kind: kind, Text: []byte(s)}
	}
	for _, tt := range []struct {
		name, body string
		kind       trace.APIKind
		want       filled
	}{
		{
			"chat", `{"model":"m","service_tier":"default","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","reasoning_content":"hm","refusal":null},"finish_reason":"stop"},` +
				`{"index":1,"message":{"content":"Yo"},"finish_reason":"length"}],` + usageOf(3, 2) + `,"timings":{"prompt_ms":1,"predicted_ms":2}}`,
			trace.KindOpenAIChat,
			filled{
				Usage: tokensUsed(3, 2), Times: trace.ServerTimes{ServerTTFTUs: new(int64(1000)), ServerTotalUs: new(int64(3000))},
				Said:   trace.Said{ResponseModel: "m", ServiceTier: "default", FinishReasons: []string{"stop", "length"}},
				Answer: []trace.AnswerText{whole(0, 0, trace.ChunkText, "Hi"), whole(0, 0, trace.ChunkReasoning, "hm"), whole(1, 0, trace.ChunkText, "Yo")},
				Ended:  true, Some: true,
			},
		},
		{
			"tool calls, each entry a call", `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"a","function":{"name":"f","arguments":"[]"}}]},"finish_reason":"tool_calls"}]}`,
			trace.KindOpenAIChat,
			filled{
				Usage: none, Said: trace.Said{FinishReasons: []string{"tool_calls"}},
				Answer: []trace.AnswerText{whole(0, 0, trace.ChunkToolArgs, "{}"), whole(0, 1, trace.ChunkToolArgs, "[]")}, Ended: true, Some: true,
			},
		},
		{ // as llama-cpp-python answers
			"tool call in both forms", `{"choices":[{"message":{"content":"a","function_call":{"name":"f","arguments":"{}"},"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}`,
			trace.KindOpenAIChat,
			filled{
				Usage:  none,
				Answer: []trace.AnswerText{whole(0, 0, trace.ChunkText, "a"), whole(0, 0, trace.ChunkToolArgs, "{}")}, Some: true,
			},
		},
		{
			"completions of two prompts", `{"choices":[{"text":"a","index":0,"finish_reason":"stop"},{"text":"b","index":1,"finish_reason":"stop"}]}`,
			trace.KindOpenAICompletions,
			filled{
				Usage: none, Said: trace.Said{FinishReasons: []string{"stop", "stop"}},
				Answer: []trace.AnswerText{whole(0, 0, trace.ChunkText, "a"), whole(1, 0, trace.ChunkText, "b")}, Ended: true, Some: true,
			},
		},
		{
			"embeddings", `{"object":"list","model":"e","data":[{"index":0,"embedding":[0.1,-0.2]}],"usage":{"prompt_tokens":5,"total_tokens":5}}`,
			trace.KindOpenAIEmbeddings,
			filled{
				Usage: trace.Usage{InputTokens: new(int64(5)), RawInputTokens: new(int64(5)), TokenSource: trace.TokensUsage},
				Said:  trace.Said{ResponseModel: "e"},
			},
		},
		{
			"error object", `{"error":{"message":"secret","type":"invalid_request_error","param":null,"code":"context_length_exceeded"}}`, trace.KindOpenAIChat,
			filled{Usage: none, Said: trace.Said{ErrorType: "invalid_request_error", ErrorCode: "context_length_exceeded"}, Error: true},
		},
		{
			"error object of llama.cpp", `{"error":{"code":400,"message":"secret","type":"invalid_request_error","n_ctx":1}}`, trace.KindOpenAIChat,
			filled{Usage: none, Said: trace.Said{ErrorType: "invalid_request_error", ErrorCode: "400"}, Error: true},
		},
		{
			"error text", `{"error":"secret","error_type":"overloaded"}`, trace.KindOpenAIChat,
			filled{Usage: none, Said: trace.Said{ErrorType: "overloaded"}, Error: true},
		},
		{"detail", `{"detail":[{"msg":"secret","type":"missing"}]}`, trace.KindOpenAIChat, filled{Usage: none, Error: true}},
		{
			"error of vLLM", `{"object":"error","message":"secret","type":"BadRequestError","param":null,"code":400}`, trace.KindOpenAIChat,
			filled{Usage: none, Said: trace.Said{ErrorType: "BadRequestError", ErrorCode: "400"}, Error: true},
		},
		{
			"a type that is prose is dropped", `{"error":{"type":"` + strings.Repeat("secret ", 40) + `","code":{}}}`, trace.KindOpenAIChat,
			filled{Usage: none, Error: true},
		},
		{
			"error of a kind that is not known", `{"error":{"type":"t","code":1},"choices":[{"message":{"content":"a"}}]}`, trace.KindOther,
			filled{Usage: none, Said: trace.Said{ErrorType: "t", ErrorCode: "1"}, Error: true},
		},
		{"no error", `{"error":null,"detail":null,"type":"x","code":7,"choices":[]}`, trace.KindOpenAIChat, filled{Usage: none}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := NewAnswer(tt.kind)
			if err := a.Body([]byte(tt.body)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, fill(a), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBodyInvalid(t *testing.T) {
	for _, body := range []string{"", "<html>secret", `{"choices":[{"message":{"content":"secret"}}]`, `{"choices":[]}{}`, strings.Repeat(`{"choices":[`, 20_000)} {
		a := NewAnswer(trace.KindOpenAIChat)
		err := a.Body([]byte(body))
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.20q: error %v", body, err)
		}
		if diff := cmp.Diff(filled{Usage: trace.Usage{TokenSource: trace.TokensNone}}, fill(a)); diff != "" {
			t.Errorf("%.20q (-want +got):\n%s", body, diff)
		}
	}
}

// What is left out of an endless answer is counted.
func TestAnswerBounded(t *testing.T) {
	a := NewAnswer(trace.KindOpenAIChat)
	event := []byte(delta(`"content":"` + strings.Repeat("x", 1<<20) + `"`))
	for range 20 {
		a.Event(nil, event)
	}
	var x trace.Exchange
	a.Fill(new(trace.Record), &x)
	if got := len(x.Answer[0].Text); got != maxAnswerText || x.RespBodyCut != 4<<20 {
		t.Errorf("kept %d, cut %d", got, x.RespBodyCut)
	}
}

// Bodies made to be slow: as many choices, calls and finish reasons as fit.
func TestBodyHostile(t *testing.T) {
	var choices, calls strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&choices, `{"index":%d,"text":"a","finish_reason":"s"},`, 300_000-i)
		fmt.Fprintf(&calls, `{"id":"%d","function":{"arguments":"1"}},`, i)
	}
	body := `{"choices":[` + choices.String() + `{"index":2147483647,"message":{"tool_calls":[` + calls.String() + `{}]}}]}`
	for _, follow := range []func(a *Answer){
		func(a *Answer) {
			if err := a.Body([]byte(body)); err != nil {
				t.Error(err)
			}
		},
		func(a *Answer) { a.Event(nil, []byte(body)) },
	} {
		a := NewAnswer(trace.KindOpenAIChat)
		follow(a)
		var x trace.Exchange
		a.Fill(new(trace.Record), &x)
		kept := int64(0)
		for _, text := range x.Answer {
			kept += int64(len(text.Text))
		}
		if len(x.Answer) != maxParts || kept+x.RespBodyCut != 200_000 {
			t.Errorf("%d texts, %d bytes kept, %d cut", len(x.Answer), kept, x.RespBodyCut)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(uint8(0), []byte("data: "+delta(`"content":"a"`)+"\n\ndata: {\"choices\":[],"+usageOf(1, 2)+"}\n\ndata: [DONE]\n\n"))
	f.Add(uint8(0), []byte("event: error\ndata: "+delta(`"tool_calls":[{"id":"1"},{"index":0,"function":{"arguments":"{"}}],"reasoning":"\ud800"`)+"\n\n"))
	f.Add(uint8(1), []byte(`{"choices":[{"text":"a","finish_reason":"error"},{"index":9,"delta":{"audio":{"transcript":"x"}}}],"error":"x","detail":1}`))
	f.Add(uint8(2), []byte(`{"data":[],"usage":{"prompt_tokens":9223372036854775807,"completion_tokens":1e3}}`))
	f.Add(uint8(3), []byte("data: {\"error\":{\"type\":1,\"code\":\"a\"}}\n\n"))
	f.Fuzz(func(t *testing.T, which uint8, in []byte) {
		kind := trace.KindOther
		if int(which) < len(families) {
			kind = families[which].kind
		}
		var d sse.Decoder
		a := NewAnswer(kind)
		sum := int64(0)
		emit := func(e sse.Event) {
			c := a.Event(e.Name, e.Data)
			if c.Kind.Generated() {
				sum += int64(c.Bytes)
			}
			if c.Bytes < 0 || c.Kind.Generated() && !c.Counts {
				t.Errorf("chunk %+v", c)
			}
		}
		d.Feed(in, emit)
		d.Close(emit)
		checkFilled(t, a, sum)
		whole := NewAnswer(kind)
		if err := whole.Body(in); err == nil {
			checkFilled(t, whole, int64(len(in)))
		}
	})
}

func checkFilled(t *testing.T, a *Answer, most int64) {
	t.Helper()
	got := fill(a)
	sum := int64(0)
	for _, text := range got.Answer {
		sum += int64(len(text.Text))
	}
	// U+FFFD is longer than the byte that it replaces.
	if sum > 3*most {
		t.Errorf("%d bytes of text from %d", sum, most)
	}
	for _, n := range []*int64{got.Usage.InputTokens, got.Usage.OutputTokens, got.Times.ServerTTFTUs, got.Times.ServerTotalUs} {
		if n != nil && *n < 0 {
			t.Errorf("negative number %d", *n)
		}
	}
	if sum > 0 && !got.Some {
		t.Error("text, but nothing generated")
	}
}

func BenchmarkEvent(b *testing.B) {
	for _, tt := range []struct{ name, data string }{
		{"openai", `{"id":"chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxYz","object":"chat.completion.chunk","created":1796044846,"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"aZ3"}`},
		{"vllm", `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1796044846,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}`},
		{"continuous", `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1796044846,"model":"m","choices":[{"index":0,"delta":{"content":" word"}}],"usage":{"prompt_tokens":5,"completion_tokens":5,"total_tokens":10}}`},
	} {
		b.Run(tt.name, func(b *testing.B) {
			data := []byte(tt.data)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			a, n := NewAnswer(trace.KindOpenAIChat), 0
			for b.Loop() {
				// An answer of 512 events, as the recorder makes them.
				if n++; n%512 == 0 {
					a = NewAnswer(trace.KindOpenAIChat)
				}
				a.Event(nil, data)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

func TestEventAllocs(t *testing.T) {
	a := NewAnswer(trace.KindOpenAIChat)
	data := []byte(delta(`"content":""`))
	a.Event(nil, data)
	if n := testing.AllocsPerRun(100, func() { a.Event(nil, data) }); n != 0 {
		t.Errorf("%g allocations an event", n)
	}
}
