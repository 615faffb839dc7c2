package llmwire

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

// summed is what an answer comes to, in one line: counts and their source,
// finish reasons, model, texts, server times, and how it stands.
func summed(a *Answer) string {
	got := fill(a)
	num := func(p *int64) string {
		if p == nil {
			return "-"
		}
		return fmt.Sprint(*p)
	}
	u := got.Usage
	words := []string{
		fmt.Sprintf("%s+%s+%s=>%s/%s", num(u.RawInputTokens), num(u.CacheReadTokens), num(u.CacheWriteTokens), num(u.InputTokens), num(u.OutputTokens)),
		string(u.TokenSource), fmt.Sprint(got.Said.FinishReasons), got.Said.ResponseModel,
	}
	for _, x := range got.Answer {
		words = append(words, fmt.Sprintf("%s%d.%d:%q", x.Kind, x.Choice, x.Tool, x.Text))
	}
	if t := got.Times; t != (trace.ServerTimes{}) {
		words = append(words, fmt.Sprintf("q%s f%s t%s", num(t.ServerQueueUs), num(t.ServerTTFTUs), num(t.ServerTotalUs)))
	}
	if got.Ended {
		words = append(words, "ended")
	}
	if !got.Some {
		words = append(words, "empty")
	}
	if got.Error {
		words = append(words, "failed", got.Said.ErrorType, got.Said.ErrorCode)
	}
	return strings.Join(words, " ")
}

// chunkOf is Bedrock's wrapping of a vendor's event.
func chunkOf(event string) string {
	return `{"bytes":"` + base64.StdEncoding.EncodeToString([]byte(event)) + `","p":"abc"}`
}

func TestServerStreams(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kind   trace.APIKind
		events []string
		words  []string
		want   string
	}{
		{
			"tgi: one token an event, special ones not shown, details at the end", trace.KindTGIGenerate,
			[]string{
				`{"index":1,"token":{"id":5,"text":"Hi","logprob":-0.2,"special":false},"generated_text":null,"details":null}`,
				`{"index":2,"token":{"id":6,"text":" you","special":false},"top_tokens":[{"text":" me"}],"generated_text":null}`,
				`{"index":3,"token":{"id":2,"text":"</s>","special":true},"generated_text":"Hi you","details":{"finish_reason":"eos_token","generated_tokens":3,"input_length":4,"seed":null}}`,
			},
			[]string{"text 2 t1", "text 4 t1", "done t1 counts done"},
			`4+-+-=>4/3 usage [eos_token]  text0.0:"Hi you" ended`,
		},
		{
			"tgi: without details the whole text is the end mark", trace.KindTGIGenerate,
			[]string{`{"token":{"text":"Hi","special":false},"generated_text":null}`, `{"token":{"text":"!","special":false},"generated_text":"Hi!"}`},
			[]string{"text 2 t1", "text 1 t1 done"},
			`-+-+-=>-/- none []  text0.0:"Hi!" ended`,
		},
		{
			"tgi: an error under 200", trace.KindTGIGenerate,
			[]string{`{"error":"Model is overloaded","error_type":"overloaded"}`},
			[]string{"error failed"},
			`-+-+-=>-/- none []  empty failed overloaded `,
		},
		{
			"triton: no usage, no end mark", trace.KindTritonGenerate,
			[]string{`{"model_name":"m","model_version":"1","text_output":"Hi"}`, `{"model_name":"m","text_output":""}`},
			[]string{"text 2", "other"},
			`-+-+-=>-/- none [] m text0.0:"Hi"`,
		},
		{
			"triton: an error after the first frame", trace.KindTritonGenerate,
			[]string{`{"text_output":"Hi"}`, `{"error":"engine died"}`},
			[]string{"text 2", "error failed"},
			`-+-+-=>-/- none []  text0.0:"Hi" failed  `,
		},
		{
			"triton: the text so far in every event", trace.KindTritonGenerate,
			[]string{`{"text_output":" Par"}`, `{"text_output":" Paris"}`, `{"text_output":" Paris"}`, `{"text_output":" Paris, "}`, `{"text_output":""}`},
			[]string{"text 4", "text 2", "other", "text 2", "other"},
			`-+-+-=>-/- none []  text0.0:" Paris, "`,
		},
		{
			"triton: the second text begins with the first by chance", trace.KindTritonGenerate,
			[]string{`{"text_output":"1"}`, `{"text_output":"10"}`, `{"text_output":"0"}`, `{"text_output":"1100"}`},
			[]string{"text 1", "text 1", "text 1", "text 4"},
			`-+-+-=>-/- none []  text0.0:"11001100"`,
		},
		{
			"triton: only what is new", trace.KindTritonGenerate,
			[]string{`{"text_output":"ab"}`, `{"text_output":"c"}`, `{"text_output":"abcd"}`},
			[]string{"text 2", "text 1", "text 4"},
			`-+-+-=>-/- none []  text0.0:"abcabcd"`,
		},
		{
			"sglang: the text so far in every event", trace.KindSGLangGenerate,
			[]string{
				`{"text":" Par","meta_info":{"finish_reason":null,"prompt_tokens":5,"completion_tokens":1,"cached_tokens":2}}`,
				`{"text":" Paris, ","meta_info":{"finish_reason":null,"prompt_tokens":5,"completion_tokens":3,"cached_tokens":2}}`,
				`{"text":" Paris, ","meta_info":{"finish_reason":{"type":"length","length":4},"prompt_tokens":5,"completion_tokens":4,"cached_tokens":2,"e2e_latency":0.25}}`,
				done,
			},
			[]string{"text 4 t1", "text 4 t2", "usage t1 counts", "done done"},
			`5+2+-=>5/4 usage [length]  text0.0:" Paris, " q- f- t250000 ended`,
		},
		{
			"sglang: parts instead of the whole, and two samples", trace.KindSGLangGenerate,
			[]string{`{"text":"ab","index":0}`, `{"text":"x","index":1}`, `{"text":"cd","index":0}`, `{"text":"xy","index":1}`},
			[]string{"text 2", "text 1", "text 2", "text 1"},
			`-+-+-=>-/- none []  text0.0:"abcd" text1.0:"xy"`,
		},
		{
			"sglang: given up by the scheduler", trace.KindSGLangGenerate,
			[]string{`{"text":"","meta_info":{"finish_reason":{"type":"abort","message":"secret","status_code":503,"err_type":"ServiceUnavailable"},"prompt_tokens":5,"completion_tokens":0}}`},
			[]string{"error failed"},
			`5+-+-=>5/0 usage [abort]  ended empty failed ServiceUnavailable 503`,
		},
		{
			"llama.cpp: counts grow, stop_type at the end", trace.KindLlamaCppCompletion,
			[]string{
				`{"index":0,"content":" ","tokens":[2],"stop":false,"id_slot":-1,"tokens_predicted":1,"tokens_evaluated":6}`,
				`{"index":0,"content":"a","tokens":[5],"stop":false,"id_slot":-1,"tokens_predicted":2,"tokens_evaluated":6}`,
				`{"index":0,"content":"","tokens":[],"stop":true,"model":"m","tokens_predicted":2,"tokens_evaluated":6,"prompt":"secret","stop_type":"limit","stopping_word":"","timings":{"prompt_ms":10.5,"predicted_ms":20}}`,
			},
			[]string{"text 1 t1", "text 1 t1", "usage"},
			`6+-+-=>6/2 usage [limit] m text0.0:" a" q- f10500 t30500 ended`,
		},
		{
			"llama.cpp: older form, and an error", trace.KindLlamaCppCompletion,
			[]string{`{"content":"a","stop":true,"stopped_eos":false,"stopped_limit":true}`, `{"error":{"code":500,"message":"secret","type":"server_error"}}`},
			[]string{"text 1", "error failed"},
			`-+-+-=>-/- none [limit]  text0.0:"a" ended failed server_error 500`,
		},
		{
			"cohere: plan, tools, end mark", trace.KindCohereChat,
			[]string{
				`message-start|{"type":"message-start","id":"1","delta":{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}}`,
				`tool-plan-delta|{"type":"tool-plan-delta","delta":{"message":{"tool_plan":"I will"}}}`,
				`tool-call-start|{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"a","type":"function","function":{"name":"f","arguments":""}}}}}`,
				`tool-call-delta|{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"{}"}}}}}`,
				`tool-call-end|{"type":"tool-call-end","index":0}`,
				`tool-call-start|{"type":"tool-call-start","index":1,"delta":{"message":{"tool_calls":{"id":"b","type":"function","function":{"name":"g","arguments":""}}}}}`,
				`tool-call-delta|{"type":"tool-call-delta","index":1,"delta":{"message":{"tool_calls":{"function":{"arguments":"[]"}}}}}`,
				`message-end|{"type":"message-end","delta":{"finish_reason":"TOOL_CALL","usage":{"billed_units":{"input_tokens":62,"output_tokens":28},"tokens":{"input_tokens":968,"output_tokens":83}}}}`,
				done,
			},
			[]string{"role", "reasoning 6", "other", "tool_args 2", "other", "other", "tool_args 2", "usage", "done done"},
			`968+-+-=>968/83 usage [TOOL_CALL]  reasoning0.0:"I will" tool_args0.0:"{}" tool_args0.1:"[]" ended`,
		},
		{
			"cohere: thinking and text; citations repeat text", trace.KindCohereChat,
			[]string{
				`{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"thinking","thinking":""}}}}`,
				`{"type":"content-delta","index":0,"delta":{"message":{"content":{"thinking":"hm"}}}}`,
				`{"type":"content-delta","index":1,"delta":{"message":{"content":{"text":"Hi"}}}}`,
				`{"type":"citation-start","index":0,"delta":{"message":{"citations":{"start":0,"end":2,"text":"Hi"}}}}`,
				`{"type":"message-end","delta":{"error":"secret","finish_reason":"ERROR","usage":{"tokens":{"input_tokens":1,"output_tokens":2},"cached_tokens":1}}}`,
			},
			[]string{"other", "reasoning 2", "text 2", "other", "error failed"},
			`1+1+-=>1/2 usage [ERROR]  reasoning0.0:"hm" text0.0:"Hi" ended failed ERROR `,
		},
		{
			"cohere: lines of version 1", trace.KindCohereChat,
			[]string{
				`{"is_finished":false,"event_type":"stream-start","generation_id":"1"}`,
				`{"is_finished":false,"event_type":"text-generation","text":"Hi"}`,
				`{"is_finished":true,"event_type":"stream-end","response":{"text":"Hi","chat_history":[{"message":"q"}],"meta":{"tokens":{"input_tokens":6,"output_tokens":1}}},"finish_reason":"COMPLETE"}`,
			},
			[]string{"other", "text 2", "usage"},
			`6+-+-=>6/1 usage [COMPLETE]  text0.0:"Hi" ended`,
		},
		{
			"converse: text, reasoning, tools, masked text, usage apart from the cache", trace.KindBedrockConverse,
			[]string{
				`messageStart|{"p":"abc","role":"assistant"}`,
				`contentBlockDelta|{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"hm"}},"p":"ab"}`,
				`contentBlockDelta|{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"c2ln"}}}`,
				`contentBlockDelta|{"contentBlockIndex":1,"delta":{"text":"Hi"},"p":"abcdefgh"}`,
				`contentBlockStop|{"contentBlockIndex":1}`,
				`contentBlockStart|{"contentBlockIndex":2,"start":{"toolUse":{"name":"f","toolUseId":"t1"}}}`,
				`contentBlockDelta|{"delta":{"toolUse":{"input":"{\"a\":"}},"contentBlockIndex":2}`,
				`contentBlockStart|{"contentBlockIndex":3,"start":{"toolUse":{"name":"f","toolUseId":"t2"}}}`,
				`contentBlockDelta|{"contentBlockIndex":3,"delta":{"toolUse":{"input":"{}"}}}`,
				`contentBlockDelta|{"contentBlockIndex":2,"delta":{"toolUse":{"input":"1}"}}}`,
				`messageStop|{"stopReason":"tool_use"}`,
				`metadata|{"usage":{"inputTokens":3,"outputTokens":12,"totalTokens":935,"cacheReadInputTokens":900,"cacheWriteInputTokens":20},"metrics":{"latencyMs":625},"trace":{"guardrail":{"modelOutput":["secret"]}}}`,
			},
			[]string{"role", "reasoning 2", "other", "text 2", "other", "other", "tool_args 5", "other", "tool_args 2", "tool_args 2", "other", "usage"},
			`3+900+20=>923/12 usage [tool_use]  reasoning0.0:"hm" text0.0:"Hi" tool_args0.0:"{\"a\":1}" tool_args0.1:"{}" q- f- t625000 ended`,
		},
		{
			"invoke: Claude, with Bedrock's own counts", trace.KindBedrockInvoke,
			[]string{
				"chunk|" + chunkOf(`{"type":"message_start","message":{"model":"m","role":"assistant","usage":{"input_tokens":16,"output_tokens":1}}}`),
				"chunk|" + chunkOf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}`),
				"chunk|" + chunkOf(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":21}}`),
				"chunk|" + chunkOf(`{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":16,"outputTokenCount":21,"invocationLatency":738,"firstByteLatency":378}}`),
			},
			[]string{"role", "text 2", "usage", "usage done"},
			`16+-+-=>16/21 usage [end_turn] m text0.0:"Hi" q- f378000 t738000 ended`,
		},
		{
			"invoke: Titan", trace.KindBedrockInvoke,
			[]string{"chunk|" + chunkOf(`{"outputText":"Hi there","index":0,"totalOutputTextTokenCount":2,"completionReason":"FINISH","inputTextTokenCount":5}`)},
			[]string{"text 8 t2"},
			`5+-+-=>5/2 usage [FINISH]  text0.0:"Hi there" ended`,
		},
		{
			"invoke: Llama", trace.KindBedrockInvoke,
			[]string{
				"chunk|" + chunkOf(`{"generation":"Hi","prompt_token_count":8,"generation_token_count":1,"stop_reason":null}`),
				"chunk|" + chunkOf(`{"generation":"","prompt_token_count":null,"generation_token_count":2,"stop_reason":"stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":8,"outputTokenCount":2}}`),
			},
			[]string{"text 2 t1", "usage t1 counts"},
			`8+-+-=>8/2 usage [stop]  text0.0:"Hi" ended`,
		},
		{
			"invoke: Nova", trace.KindBedrockInvoke,
			[]string{
				"chunk|" + chunkOf(`{"messageStart":{"role":"assistant"}}`),
				"chunk|" + chunkOf(`{"contentBlockDelta":{"delta":{"text":"Hi"},"contentBlockIndex":0}}`),
				"chunk|" + chunkOf(`{"messageStop":{"stopReason":"end_turn"}}`),
				"chunk|" + chunkOf(`{"metadata":{"usage":{"inputTokens":2,"outputTokens":1},"metrics":{},"trace":{}}}`),
			},
			[]string{"role", "text 2", "other", "usage"},
			`2+-+-=>2/1 usage [end_turn]  text0.0:"Hi" ended`,
		},
		{
			"invoke: base64 that is none, and JSON that is none in it", trace.KindBedrockInvoke,
			[]string{`chunk|{"bytes":"!!!"}`, "chunk|" + chunkOf(`{"generation":`)},
			[]string{"other", "other"},
			`-+-+-=>-/- none []  empty`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, words := stream(tt.kind, tt.events...)
			if diff := cmp.Diff(tt.words, words); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, summed(a)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestServerBodies(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		kind       trace.APIKind
		header     map[string]string
		want       string
	}{
		{
			"tgi: counts and times in the header", `{"generated_text":"Hi!"}`, trace.KindTGIGenerate,
			map[string]string{"x-prompt-tokens": "9", "x-generated-tokens": "3", "x-queue-time": "1.5", "x-total-time": "35", "x-inference-time": "33"},
			`9+-+-=>9/3 server_header []  text0.0:"Hi!" q1500 f- t35000`,
		},
		{
			"tgi: details, in a list; the header adds the input", `[{"generated_text":"Hi!","details":{"finish_reason":"length","generated_tokens":3,"prefill":[],"tokens":[{"text":"Hi"}]}}]`,
			trace.KindTGIGenerate,
			map[string]string{"x-prompt-tokens": "9", "x-generated-tokens": "4"},
			`9+-+-=>9/3 usage [length]  text0.0:"Hi!" ended`,
		},
		{
			"tgi: numbers that are none", `{"error":"x","error_type":"validation"}`, trace.KindTGIGenerate,
			map[string]string{"x-prompt-tokens": "-9", "x-generated-tokens": "9999999999999999999", "x-queue-time": "NaN", "x-total-time": "1e99"},
			`-+-+-=>-/- none []  empty failed validation `,
		},
		{"triton", `{"model_name":"m","model_version":"1","text_output":"Hi"}`, trace.KindTritonGenerate, nil, `-+-+-=>-/- none [] m text0.0:"Hi"`},
		{
			"sglang: a list", `[{"text":"a","meta_info":{"finish_reason":{"type":"stop"},"prompt_tokens":2,"completion_tokens":1}},{"text":"b","meta_info":{"finish_reason":{"type":"length"},"prompt_tokens":3,"completion_tokens":4}}]`,
			trace.KindSGLangGenerate, nil, `5+-+-=>5/5 usage [stop length]  text0.0:"a" text1.0:"b" ended`,
		},
		{
			"llama.cpp", `{"index":0,"content":"Hi","stop":true,"model":"m","tokens_predicted":1,"tokens_evaluated":6,"stop_type":"eos"}`,
			trace.KindLlamaCppCompletion, nil, `6+-+-=>6/1 usage [eos] m text0.0:"Hi" ended`,
		},
		{
			"cohere", `{"id":"1","finish_reason":"COMPLETE","message":{"role":"assistant","tool_plan":"p","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}],"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"Hi"}]},"usage":{"billed_units":{"input_tokens":1},"tokens":{"input_tokens":7,"output_tokens":2}}}`,
			trace.KindCohereChat, nil, `7+-+-=>7/2 usage [COMPLETE]  reasoning0.0:"phm" tool_args0.0:"{}" text0.0:"Hi" ended`,
		},
		{"cohere: an error", `{"id":"1","message":"secret"}`, trace.KindCohereChat, nil, `-+-+-=>-/- none []  empty failed  `},
		{
			"converse", `{"metrics":{"latencyMs":10},"output":{"message":{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"hm","signature":"s"}}},{"text":"Hi"},{"toolUse":{"toolUseId":"1","name":"f","input":{"a":1}}}]}},"stopReason":"end_turn","usage":{"inputTokens":3,"outputTokens":4,"totalTokens":7}}`,
			trace.KindBedrockConverse, nil, `3+-+-=>3/4 usage [end_turn]  reasoning0.0:"hm" text0.0:"Hi" tool_args0.0:"{\"a\":1}" q- f- t10000 ended`,
		},
		{
			"converse: an error", `{"message":"secret"}`, trace.KindBedrockConverse,
			map[string]string{"x-amzn-errortype": "ThrottlingException:http://x"},
			`-+-+-=>-/- none []  empty failed ThrottlingException `,
		},
		{
			"invoke: counts in the header", `{"outputs":[{"text":"Hi","stop_reason":"stop"}]}`, trace.KindBedrockInvoke,
			map[string]string{"x-amzn-bedrock-input-token-count": "4", "x-amzn-bedrock-output-token-count": "2", "x-amzn-bedrock-invocation-latency": "99", "x-amzn-bedrock-cache-read-input-token-count": "10"},
			`4+10+-=>14/2 server_header [stop]  text0.0:"Hi" q- f- t99000 ended`,
		},
		{
			"invoke: Claude", `{"id":"1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":4,"output_tokens":2}}`,
			trace.KindBedrockInvoke, nil, `4+-+-=>4/2 usage [end_turn] m text0.0:"Hi" ended`,
		},
		{
			"invoke: Titan", `{"inputTextTokenCount":5,"results":[{"tokenCount":2,"outputText":"Hi","completionReason":"FINISH"}]}`,
			trace.KindBedrockInvoke, nil, `5+-+-=>5/2 usage [FINISH]  text0.0:"Hi" ended`,
		},
		{
			"invoke: as OpenAI", `{"choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
			trace.KindBedrockInvoke, nil, `1+-+-=>1/2 usage [stop]  text0.0:"Hi" ended`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := NewAnswer(tt.kind)
			if err := a.Body([]byte(tt.body)); err != nil {
				t.Fatal(err)
			}
			a.Head(func(name string) string { return tt.header[name] })
			if diff := cmp.Diff(tt.want, summed(a)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestException(t *testing.T) {
	a := NewAnswer(trace.KindBedrockConverse)
	a.Event([]byte("contentBlockDelta"), []byte(`{"contentBlockIndex":0,"delta":{"text":"Hi"}}`))
	c := a.Exception([]byte("throttlingException"), []byte(`{"message":"secret"}`))
	if diff := cmp.Diff("error failed", word(c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	a.Exception([]byte(strings.Repeat("x", 1000)), []byte("{"))
	if diff := cmp.Diff(`-+-+-=>-/- none []  text0.0:"Hi" failed throttlingException `, summed(a)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
