package llmwire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lambdac/lambdac/trace"
)

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
			"choices that do not begin at 0, without a mark", trace.KindOpenAIChat,
			[]string{
				`{"choices":[{"delta":{"content":"b"},"index":1}]}`, `{"choices":[{"delta":{"role":"assistant"},"index":3}]}`,
				`{"choices":[{"delta":{},"index":1,"finish_reason":"stop"}]}`, `{"choices":[{"delta":{},"index":3,"finish_reason":"length"}]}`,
			},
			filled{
				Usage: none, Said: trace.Said{FinishReasons: []string{"stop", "length"}},
				Answer: []trace.AnswerText{text(1, trace.ChunkText, "b")}, Ended: true, Some: true,
			},
		},
		{
			"choices that do not begin at 0, one of which only has its role", trace.KindOpenAIChat,
			[]string{
				`{"choices":[{"delta":{"role":"assistant"},"index":3}]}`, `{"choices":[{"delta":{},"index":1,"finish_reason":"stop"}]}`,
			},
			filled{Usage: none, Said: trace.Said{FinishReasons: []string{"stop"}}},
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
			filled{
				Usage: trace.Usage{
					InputTokens: new(int64(237)), OutputTokens: new(int64(35)), RawInputTokens: new(int64(237)), RawOutputTokens: new(int64(35)),
					CacheReadTokens: new(int64(236)), TokenSource: trace.TokensUsage,
				},
				Times: trace.ServerTimes{ServerTTFTUs: new(int64(30_900)), ServerTotalUs: new(int64(691_900))},
			},
		},
		{ // usage is believed before them, and of two choices each has its own
			"llama.cpp's timings beside other counts", trace.KindOpenAIChat,
			[]string{
				`{"choices":[{"index":1,"delta":{},"finish_reason":"stop"}],"timings":{"cache_n":2,"prompt_n":1,"predicted_n":5}}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"timings":{"cache_n":2,"prompt_n":1,"predicted_n":7}}`,
			},
			filled{Usage: none, Said: trace.Said{FinishReasons: []string{"stop", "stop"}}, Ended: true},
		},
		{
			"llama.cpp's timings before they told the cached part", trace.KindOpenAIChat,
			[]string{`{"choices":[],"timings":{"prompt_n":1,"predicted_n":5}}`},
			filled{Usage: trace.Usage{OutputTokens: new(int64(5)), RawOutputTokens: new(int64(5)), TokenSource: trace.TokensUsage}},
		},
		{ // clients stop at the end mark
			"an error behind the end mark", trace.KindOpenAIChat,
			[]string{delta(`"content":"a"`), finishStop, done, `{"error":{"type":"t"}}`},
			filled{
				Usage: none, Said: trace.Said{ResponseModel: "m", FinishReasons: []string{"stop"}},
				Answer: []trace.AnswerText{text(0, trace.ChunkText, "a")}, Ended: true, Some: true,
			},
		},
		{ // and read on here
			"an error behind message_stop", trace.KindAnthropicMessages,
			[]string{`{"type":"message_stop"}`, `{"type":"error","error":{"type":"overloaded_error"}}`},
			filled{Usage: none, Said: trace.Said{ErrorType: "overloaded_error"}, Ended: true, Error: true},
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
		{
			"arguments that are no text", `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"q": 1}}}]}}]}`, trace.KindOpenAIChat,
			filled{Usage: none, Answer: []trace.AnswerText{whole(0, 0, trace.ChunkToolArgs, `{"q": 1}`)}, Some: true},
		},
		{"a byte order mark before it", "\ufeff" + `{"model":"m"}`, trace.KindOpenAIChat, filled{Usage: none, Said: trace.Said{ResponseModel: "m"}}},
		{"an empty text as error", `{"error":"","choices":[]}`, trace.KindOpenAIChat, filled{Usage: none}},
		{"0 as error", `{"error":0,"choices":[]}`, trace.KindOpenAIChat, filled{Usage: none}},
		{"an empty list as error", `{"error":[],"choices":[]}`, trace.KindOpenAIChat, filled{Usage: none}},
		{"a number as error", `{"error":5}`, trace.KindOpenAIChat, filled{Usage: none, Error: true}},
		{
			"numbers that JSON does not have", `{"choices":[{"logprobs":{"content":[{"logprob":-Infinity,"top":[NaN,Infinity]}]},"message":{"content":"a NaN \"NaN"}}],"usage":{"prompt_tokens":NaN,"completion_tokens":2}}`, trace.KindOpenAIChat,
			filled{
				Usage:  trace.Usage{OutputTokens: new(int64(2)), RawOutputTokens: new(int64(2)), TokenSource: trace.TokensUsage},
				Answer: []trace.AnswerText{whole(0, 0, trace.ChunkText, `a NaN "NaN`)}, Some: true,
			},
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
	for i := range 20_000 {
		fmt.Fprintf(&choices, `{"index":%d,"text":"a","finish_reason":"s"},`, 30_000-i)
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
		if len(x.Answer) != maxParts || kept+x.RespBodyCut != 40_000 {
			t.Errorf("%d texts, %d bytes kept, %d cut", len(x.Answer), kept, x.RespBodyCut)
		}
	}
}
