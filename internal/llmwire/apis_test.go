package llmwire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

// Answers of the Responses, Anthropic, Gemini and Ollama APIs, byte for byte as
// the services send them (shortened; their names and numbers are made up).

func anthropicStart3(in, read, written, out int) string {
	return fmt.Sprintf(`message_start|{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":%d}}}`, in, read, written, out)
}

func anthropicText(text string) string {
	return `content_block_delta|{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + text + `"}}`
}

func responsesText3(text string) string {
	return `response.output_text.delta|{"type":"response.output_text.delta","sequence_number":4,"output_index":0,"content_index":0,"delta":"` + text + `","obfuscation":"aZ3"}`
}

const (
	anthropicStop    = `message_stop|{"type":"message_stop"            }`
	responsesUsed    = `"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":2,"output_tokens_details":{"reasoning_tokens":1}}`
	responsesCreated = `response.created|{"type":"response.created","response":{"id":"resp_1","model":"m","status":"in_progress","service_tier":"default","error":null,"incomplete_details":null,"output":[],"usage":null},"sequence_number":0}`
)

func TestAPIStreams(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kind   trace.APIKind
		events []string
		words  []string
		want   string
	}{
		{
			"responses: only deltas are chunks; what is repeated is not", trace.KindOpenAIResponses,
			[]string{
				responsesCreated,
				`response.output_item.added|{"type":"response.output_item.added","item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"},"output_index":0}`,
				`response.content_part.added|{"type":"response.content_part.added","part":{"type":"output_text","text":""}}`,
				responsesText3("H"), responsesText3("i"),
				`response.output_text.done|{"type":"response.output_text.done","text":"Hi"}`,
				`response.content_part.done|{"type":"response.content_part.done","part":{"type":"output_text","text":"Hi"}}`,
				`response.output_item.done|{"type":"response.output_item.done","item":{"id":"msg_1","type":"message","content":[{"type":"output_text","text":"Hi"}]}}`,
				`response.completed|{"type":"response.completed","response":{"model":"m2","status":"completed","incomplete_details":null,"output":[{"type":"message","content":[{"type":"output_text","text":"Hi"}]}],` + responsesUsed + `}}`,
			},
			[]string{"other", "other", "other", "text 1", "text 1", "other", "other", "other", "usage done"},
			`9+4+-=>9/2 usage [completed] m2 text0.0:"Hi" ended`,
		},
		{
			"responses: details that are left out", trace.KindOpenAIResponses,
			[]string{responsesText3("a"), `response.completed|{"type":"response.completed","response":{"status":"completed","model":"m"},"model":"proxy","timings":{"prompt_ms":1.5,"predicted_ms":2}}`},
			[]string{"text 1", "other done"},
			`-+-+-=>-/- none [completed] m text0.0:"a" q- f1500 t3500 ended`,
		},
		{
			"responses: incomplete", trace.KindOpenAIResponses,
			[]string{responsesText3("a"), `response.incomplete|{"response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":null},"type":"response.incomplete"}`},
			[]string{"text 1", "other done"},
			`-+-+-=>-/- none [max_output_tokens]  text0.0:"a" ended`,
		},
		{
			"responses: reasoning, refusal, two calls, the type last", trace.KindOpenAIResponses,
			[]string{
				`x|{"delta":"hm","output_index":0,"type":"response.reasoning_summary_text.delta"}`,
				`x|{"type":"response.reasoning_text.delta","delta":"mm"}`,
				`x|{"type":"response.refusal.delta","delta":"no"}`,
				`x|{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"find","arguments":""}}`,
				`x|{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":1,"delta":"{\"q\":"}`,
				`x|{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"fc_2","call_id":"call_2","name":"find","arguments":""}}`,
				`x|{"type":"response.function_call_arguments.delta","item_id":"fc_2","output_index":2,"delta":"{}"}`,
				`x|{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":1,"delta":"1}"}`,
				`x|{"type":"response.function_call_arguments.done","item_id":"fc_1","output_index":1,"arguments":"{\"q\":1}"}`,
				`x|{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc_1","name":"find","arguments":"{\"q\":1}"}}`,
			},
			[]string{"reasoning 2", "reasoning 2", "refusal 2", "other", "tool_args 5", "other", "tool_args 2", "tool_args 2", "other", "other"},
			`-+-+-=>-/- none []  reasoning0.0:"hmmm" refusal0.0:"no" tool_args0.0:"{\"q\":1}" tool_args0.1:"{}"`,
		},
		{
			"responses: no delta, all of it in the last event", trace.KindOpenAIResponses,
			[]string{responsesCreated, `response.completed|{"type":"response.completed","response":{"status":"completed","incomplete_details":null,"output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},{"content":[{"annotations":[],"text":"Hi","type":"output_text"}],"type":"message"}],` + responsesUsed + `}}`},
			[]string{"other", "text 4 t2 done"},
			`9+4+-=>9/2 usage [completed] m reasoning0.0:"hm" text0.0:"Hi" ended`,
		},
		{
			"responses: failed", trace.KindOpenAIResponses,
			[]string{responsesText3("a"), `response.failed|{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"secret"},"usage":null}}`},
			[]string{"text 1", "error done failed"},
			`-+-+-=>-/- none []  text0.0:"a" ended failed rate_limit_exceeded rate_limit_exceeded`,
		},
		{
			"responses: error event, in either form", trace.KindOpenAIResponses,
			[]string{`error|{"type":"error","code":"server_error","message":"secret","param":null,"sequence_number":1}`, `error|{"type":"error","error":{"type":"t","code":"c","message":"secret"}}`},
			[]string{"error failed", "error failed"},
			`-+-+-=>-/- none []  empty failed server_error server_error`,
		},
		{ // trace.md §8 case 10
			"anthropic: usage is cumulative", trace.KindAnthropicMessages,
			[]string{
				anthropicStart3(3, 900, 20, 1), `content_block_start|{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
				`ping|{"type":"ping"}`, anthropicText("Hi"),
				`message_delta|{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":5}}`,
				`message_delta|{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":12}}`, anthropicStop,
			},
			[]string{"role", "other", "ping", "text 2", "usage", "usage", "other done"},
			`3+900+20=>923/12 usage [end_turn] m text0.0:"Hi" ended`,
		},
		{
			"anthropic: without a delta the output is not known", trace.KindAnthropicMessages,
			[]string{anthropicStart3(3, 0, 0, 1), anthropicText("Hi")},
			[]string{"role", "text 2"},
			`3+0+0=>3/- usage [] m text0.0:"Hi"`,
		},
		{
			"anthropic: a second start replaces the first; nulls replace nothing", trace.KindAnthropicMessages,
			[]string{
				anthropicStart3(3, 900, 20, 1),
				`message_start|{"type":"message_start","message":{"model":"m","usage":{"input_tokens":7,"output_tokens":1}}}`,
				`message_delta|{"type":"message_delta","delta":{},"usage":{"input_tokens":null,"cache_read_input_tokens":2,"output_tokens":4}}`,
			},
			[]string{"role", "usage", "usage"},
			`7+2+-=>9/4 usage [] m empty`,
		},
		{ // as LiteLLM sends it
			"anthropic: input only at the end", trace.KindAnthropicMessages,
			[]string{
				anthropicStart3(0, 0, 0, 0), anthropicText("a"),
				`message_delta|{"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 5, "output_tokens": 20, "cache_read_input_tokens": 22}}`,
			},
			[]string{"role", "text 1", "usage"},
			`5+22+0=>27/20 usage [end_turn] m text0.0:"a" ended`,
		},
		{
			"anthropic: thinking, signature, two calls, one without arguments", trace.KindAnthropicMessages,
			[]string{
				`x|{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
				`x|{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
				`x|{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"ErUB"}}`,
				`x|{"type":"content_block_stop","index":0}`,
				`x|{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"find","input":{}}}`,
				`x|{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}`,
				`x|{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"q\":1}"}}`,
				`x|{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_2","name":"now","input":{}}}`,
				`x|{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_3","name":"all","input":{"a":2}}}`,
			},
			[]string{"other", "reasoning 2", "other", "other", "other", "tool_args 0 uncounted", "tool_args 7", "other", "tool_args 7"},
			`-+-+-=>-/- none []  reasoning0.0:"hm" tool_args0.0:"{\"q\":1}" tool_args0.1:"" tool_args0.2:"{\"a\":2}"`,
		},
		{
			"anthropic: overloaded in mid-stream", trace.KindAnthropicMessages,
			[]string{anthropicText("a"), `error|{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
			[]string{"text 1", "error failed"},
			`-+-+-=>-/- none []  text0.0:"a" failed overloaded_error `,
		},
		{ // trace.md §8 case 11
			"gemini: thoughts beside the candidates", trace.KindGemini,
			[]string{`{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":1,"thoughtsTokenCount":7,"totalTokenCount":12},"modelVersion":"m"}`},
			[]string{"text 2 t1"},
			`4+-+-=>4/8 usage [STOP] m text0.0:"Hi" ended`,
		},
		{
			"gemini: thoughts in the candidates", trace.KindGemini,
			[]string{`{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":1,"thoughtsTokenCount":1,"totalTokenCount":5}}`},
			[]string{"text 2 t1"},
			`4+-+-=>4/1 usage []  text0.0:"Hi"`,
		},
		{
			"gemini: usage in every chunk, the last wins; prompt of tools; cache", trace.KindGemini,
			[]string{
				`{"candidates":[{"content":{"parts":[{"text":"hm","thought":true}]}}],"usageMetadata":{"promptTokenCount":4,"thoughtsTokenCount":7,"totalTokenCount":11}}`,
				`{"candidates":[{"content":{"parts":[{"thought":true,"text":"m"},{"text":"Hi"}]},"index":0}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":3,"totalTokenCount":14}}`,
				`{"candidates":[{"content":{"parts":[]},"finishReason":"MAX_TOKENS","index":0}],"usageMetadata":{"promptTokenCount":4,"cachedContentTokenCount":2,"candidatesTokenCount":5,"thoughtsTokenCount":7,"toolUsePromptTokenCount":10,"totalTokenCount":26}}`,
			},
			[]string{"reasoning 2", "text 3", "usage t2 counts"},
			`4+2+-=>14/12 usage [MAX_TOKENS]  reasoning0.0:"hmm" text0.0:"Hi" ended`,
		},
		{
			"gemini: prompt refused; no usage but its kind", trace.KindGemini,
			[]string{`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"trafficType":"ON_DEMAND"}}`},
			[]string{"other"},
			`-+-+-=>-/- none [PROHIBITED_CONTENT]  ended empty`,
		},
		{
			"gemini: calls, each whole, and code; two candidates", trace.KindGemini,
			[]string{
				`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"find","args":{"q":1}}},{"functionCall":{"name":"find","args":{}}}]}},{"content":{"parts":[{"text":"b"}]},"index":1}]}`,
				`{"candidates":[{"content":{"parts":[{"executableCode":{"language":"PYTHON","code":"1+1"}},{"functionCall":{"name":"now"}}]},"finishReason":"STOP"}]}`,
			},
			[]string{"tool_args 10", "tool_args 3"},
			`-+-+-=>-/- none [STOP]  tool_args0.0:"{\"q\":1}" tool_args0.1:"{}" text1.0:"b" tool_args0.2:"1+1" tool_args0.3:""`,
		},
		{
			"gemini: error", trace.KindGemini,
			[]string{`{"error":{"code":429,"message":"secret","status":"RESOURCE_EXHAUSTED","details":[{"@type":"x"}]}}`},
			[]string{"error failed"},
			`-+-+-=>-/- none []  empty failed RESOURCE_EXHAUSTED 429`,
		},
		{ // trace.md §8 case 13; durations in ns
			"ollama: chat", trace.KindOllamaChat,
			[]string{
				`{"model":"q","created_at":"2024-05-24T20:26:46Z","message":{"role":"assistant","content":"","thinking":"hm"},"done":false}`,
				`{"model":"q","message":{"role":"assistant","content":"Hi"},"done":false}`,
				`{"model":"q","message":{"content":""},"done":true,"done_reason":"stop","total_duration":5000999,"load_duration":1000,"prompt_eval_duration":3000,"eval_count":2,"eval_duration":9000}`,
			},
			[]string{"reasoning 2", "text 2", "done done"},
			`-+-+-=>-/2 usage [stop] q reasoning0.0:"hm" text0.0:"Hi" q- f4 t5000 ended`,
		},
		{
			"ollama: calls, each whole, none with an index", trace.KindOllamaChat,
			[]string{
				`{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"find","arguments":{"q":"a"}}}]},"done":false}`,
				`{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"find","arguments":{"q":"b"}}}]},"done":false}`,
			},
			[]string{"tool_args 9", "tool_args 9"},
			`-+-+-=>-/- none []  tool_args0.0:"{\"q\":\"a\"}" tool_args0.1:"{\"q\":\"b\"}"`,
		},
		{ // cases.md 9
			"ollama: the model was loaded, and no more", trace.KindOllamaChat,
			[]string{`{"model":"q","message":{"role":"assistant","content":""},"done":true,"done_reason":"load"}`},
			[]string{"done done"},
			`-+-+-=>-/- none [load] q ended empty`,
		},
		{
			"ollama: generate, error in mid-stream", trace.KindOllamaGenerate,
			[]string{`{"model":"q","response":"Hi","done":false}`, `{"error":"secret"}`},
			[]string{"text 2", "error failed"},
			`-+-+-=>-/- none [] q text0.0:"Hi" failed  `,
		},
		{
			"ollama: generate, the whole of it in the last line", trace.KindOllamaGenerate,
			[]string{`{"model":"q","response":"Hi","done":true,"done_reason":"length","context":[1,2],"prompt_eval_count":26,"eval_count":3}`},
			[]string{"text 2 t3 done"},
			`26+-+-=>26/3 usage [length] q text0.0:"Hi" ended`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, words := stream(tt.kind, tt.events...)
			if diff := cmp.Diff(tt.words, words); diff != "" {
				t.Errorf("chunks (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, summed(a)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPIBodies(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		kind       trace.APIKind
		want       string
	}{
		{
			"responses", `{"id":"resp_1","model":"m","status":"completed","error":null,"incomplete_details":null,"output":[{"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}],"summary":[]},` +
				`{"type":"message","content":[{"type":"output_text","text":"Hi"},{"type":"refusal","refusal":"no"}]},{"type":"function_call","id":"fc","name":"find","arguments":"{}"}],` + responsesUsed + `}`,
			trace.KindOpenAIResponses,
			`9+4+-=>9/2 usage [completed] m reasoning0.0:"hm" text0.0:"Hi" refusal0.0:"no" tool_args0.0:"{}" ended`,
		},
		{
			"responses, incomplete", `{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]}`, trace.KindOpenAIResponses,
			`-+-+-=>-/- none [content_filter]  ended empty`,
		},
		{
			"responses, the details before the status", `{"incomplete_details":{"reason":"content_filter"},"status":"incomplete","output":[]}`, trace.KindOpenAIResponses,
			`-+-+-=>-/- none [content_filter]  ended empty`,
		},
		{
			"responses, error", `{"error":{"message":"secret","type":"invalid_request_error","param":"input","code":null}}`, trace.KindOpenAIResponses,
			`-+-+-=>-/- none []  empty failed invalid_request_error `,
		},
		{
			"anthropic", `{"type":"message","model":"m","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":"Hi","citations":null},{"type":"tool_use","id":"t","name":"find","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":5,"cache_read_input_tokens":101,"output_tokens":16,"service_tier":"standard"}}`,
			trace.KindAnthropicMessages,
			`5+101+-=>106/16 usage [tool_use] m reasoning0.0:"hm" text0.0:"Hi" tool_args0.0:"{}" ended`,
		},
		{
			"anthropic, error", `{"type":"error","error":{"type":"rate_limit_error","message":"secret"}}`, trace.KindAnthropicMessages,
			`-+-+-=>-/- none []  empty failed rate_limit_error `,
		},
		{
			"gemini", `{"candidates":[{"content":{"parts":[{"text":"Hi"}],"role":"model"},"finishReason":"MAX_TOKENS","index":0}],"usageMetadata":{"promptTokenCount":37,"candidatesTokenCount":10,"totalTokenCount":47}}`,
			trace.KindGemini,
			`37+-+-=>37/10 usage [MAX_TOKENS]  text0.0:"Hi" ended`,
		},
		{
			"gemini, an array that came whole", `[{"error":{"code":400,"status":"INVALID_ARGUMENT"}}]`, trace.KindGemini,
			`-+-+-=>-/- none []  empty failed INVALID_ARGUMENT 400`,
		},
		{
			"ollama", `{"model":"q","message":{"role":"assistant","content":"Hi"},"done":true,"done_reason":"stop","prompt_eval_count":1,"eval_count":2}`, trace.KindOllamaChat,
			`1+-+-=>1/2 usage [stop] q text0.0:"Hi" ended`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := NewAnswer(tt.kind)
			if err := a.Body([]byte(tt.body)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, summed(a)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// requested is what a request comes to, in one line: model, stream, parameters, and
// its texts by role.
func requested(t *testing.T, kind trace.APIKind, path, body string) string {
	t.Helper()
	var rec trace.Record
	var said trace.Said
	if err := ParseRequest(kind, path, []byte(body), &rec, &said); err != nil {
		t.Fatal(err)
	}
	q := &rec.Request
	var s strings.Builder
	fmt.Fprintf(&s, "%s %s %s stream=%v max=%s n=%s seed=%s temp=%s p=%s k=%s", said.Operation, said.Provider, said.RequestModel, q.Stream,
		show(q.MaxTokens), show(q.N), show(q.Seed), show(q.Temperature), show(q.TopP), show(q.TopK))
	if said.ReasoningLevel+said.OutputType != "" {
		s.WriteString(" " + said.ReasoningLevel + "," + said.OutputType)
	}
	fmt.Fprintf(&s, " | %s messages %s tools %s images", show(q.MessageCount), show(q.ToolDefCount), show(q.ImageCount))
	for _, m := range q.Messages {
		fmt.Fprintf(&s, " %s:%d", m.Role, m.Bytes)
	}
	s.WriteString(" |")
	err := VisitText(kind, []byte(body), func(role trace.Role, text []byte) { fmt.Fprintf(&s, " %s:%q", role, text) })
	if err != nil {
		t.Fatal(err)
	}
	return s.String()
}

func TestAPIRequests(t *testing.T) {
	for _, tt := range []struct {
		name, path, body string
		kind             trace.APIKind
		want             string
	}{
		{
			"responses, a text", "", `{"model":"m","input":"Hi","max_output_tokens":8,"stream":true,"reasoning":{"effort":"low"},"text":{"format":{"type":"json_schema"}}}`, trace.KindOpenAIResponses,
			`chat  m stream=true max=8 n=- seed=- temp=- p=- k=- low,json | 1 messages 0 tools 0 images user:2 | user:"Hi"`,
		},
		{
			"responses, items; instructions come first", "", `{"input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"data:x"}]},` +
				`{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"xx"},{"type":"function_call","name":"f","arguments":"{\"q\":1}","call_id":"c"},` +
				`{"type":"function_call_output","call_id":"c","output":"out"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok"}]}],"instructions":"be","tools":[{},{}],"temperature":0.5}`,
			trace.KindOpenAIResponses,
			`chat   stream=false max=- n=- seed=- temp=0.5 p=- k=- | 6 messages 2 tools 1 images system:2 user:1 assistant:2 assistant:7 tool:3 assistant:2 | system:"be" user:"a" assistant:"hm" assistant:"{\"q\":1}" tool:"out" assistant:"ok"`,
		},
		{
			"responses, an item by reference", "", `{"input":[{"type":"item_reference","id":"msg_1"},{"role":"user","content":"a"}]}`, trace.KindOpenAIResponses,
			`chat   stream=false max=- n=- seed=- temp=- p=- k=- | 2 messages 0 tools 0 images | user:"a"`,
		},
		{
			"anthropic; the system prompt comes first", "/v1/messages", `{"model":"m","max_tokens":16,"messages":[{"role":"user","content":"Hi"},{"content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":"ok"},{"type":"tool_use","id":"t","name":"f","input":{"q":1}}],"role":"assistant"},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"out"},{"type":"image","source":{"type":"base64","data":"AAAA"}}]}]},` +
				`{"role":"user","content":[{"type":"document","source":{"data":"doc","type":"text"}},{"type":"text","text":"say \"tool_result\""}]}],"system":[{"type":"text","text":"be","cache_control":{"type":"ephemeral"}}],"top_k":5,"tools":[{"name":"f"}],"output_config":{"effort":"high"}}`,
			trace.KindAnthropicMessages,
			`chat  m stream=false max=16 n=- seed=- temp=- p=- k=5 high, | 5 messages 1 tools 1 images system:2 user:2 assistant:11 tool:3 user:20 | system:"be" user:"Hi" assistant:"hm" assistant:"ok" assistant:"{\"q\":1}" tool:"out" user:"doc" user:"say \"tool_result\""`,
		},
		{
			"anthropic on Vertex AI", "/v1/projects/p/locations/l/publishers/anthropic/models/claude-x@2:streamRawPredict", `{"anthropic_version":"v","system":"be","messages":[]}`, trace.KindAnthropicMessages,
			`chat gcp.vertex_ai claude-x@2 stream=true max=- n=- seed=- temp=- p=- k=- | 1 messages 0 tools 0 images system:2 | system:"be"`,
		},
		{
			"gemini; the system instruction comes first", "/v1beta/models/gemini-x:generateContent", `{"contents":[{"role":"user","parts":[{"text":"a"},{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{"q":1}}}]},` +
				`{"role":"function","parts":[{"functionResponse":{"name":"f","response":{"r":2}}}]},{"parts":{"text":"b"}}],"systemInstruction":{"role":"user","parts":[{"text":"be"}]},` +
				`"tools":[{"functionDeclarations":[{},{}]},{"googleSearch":{}}],"generationConfig":{"maxOutputTokens":10,"candidateCount":2,"seed":3,"temperature":0.1,"topP":0.9,"topK":40,"responseMimeType":"application/json","thinkingConfig":{"thinkingLevel":"low"}}}`,
			trace.KindGemini,
			`generate_content  gemini-x stream=false max=10 n=2 seed=3 temp=0.1 p=0.9 k=40 low,json | 5 messages 3 tools 1 images system:2 user:1 assistant:7 tool:7 user:1 | system:"be" user:"a" assistant:"{\"q\":1}" tool:"{\"r\":2}" user:"b"`,
		},
		{
			"gemini in snake case on Vertex AI, streamed", "/v1/projects/p/locations/l/publishers/google/models/gemini%2Dx:streamGenerateContent", `{"system_instruction":{"parts":[{"text":"be"}]},"contents":{"parts":[{"text":"a"}]},"generation_config":{"max_output_tokens":10}}`,
			trace.KindGemini,
			`generate_content gcp.vertex_ai gemini-x stream=true max=10 n=- seed=- temp=- p=- k=- | 2 messages 0 tools 0 images system:2 user:1 | system:"be" user:"a"`,
		},
		{ // trace.md §8 case 13
			"ollama streams unless told not to", "/api/chat", `{"model":"q","messages":[{"role":"user","content":"Hi","images":["AAAA"]},{"role":"assistant","content":"","thinking":"hm","tool_calls":[{"function":{"name":"f","arguments":{"q":1}}}]},{"role":"tool","content":"out","tool_name":"f"}],"tools":[{}],"think":"low","format":"json","options":{"num_predict":5,"seed":1,"temperature":0,"top_k":20}}`,
			trace.KindOllamaChat,
			`chat  q stream=true max=5 n=- seed=1 temp=0 p=- k=20 low,json | 3 messages 1 tools 1 images user:2 assistant:9 tool:3 | user:"Hi" assistant:"hm" assistant:"{\"q\":1}" tool:"out"`,
		},
		{
			"ollama generate", "/api/generate", `{"model":"q","prompt":"Hi","system":"be","stream":false,"think":true,"format":{"type":"object"},"options":{"num_predict":-1}}`, trace.KindOllamaGenerate,
			`text_completion  q stream=false max=- n=- seed=- temp=- p=- k=- ,json | 2 messages 0 tools 0 images system:2 prompt:2 | system:"be" prompt:"Hi"`,
		},
		{
			"ollama, only to load", "/api/generate", `{"model":"q"}`, trace.KindOllamaGenerate,
			`text_completion  q stream=true max=- n=- seed=- temp=- p=- k=- | - messages - tools - images |`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, requested(t, tt.kind, tt.path, tt.body)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := Recognize("POST", tt.path, []byte(tt.body)); tt.path != "" && got != tt.kind {
				t.Errorf("recognized as %s", got)
			}
		})
	}
}

// Bodies that are bad in any way give an error, or nothing; the path still says
// what it says.
func TestAPIBadBodies(t *testing.T) {
	for _, kind := range []trace.APIKind{trace.KindOpenAIResponses, trace.KindAnthropicMessages, trace.KindGemini, trace.KindOllamaChat, trace.KindOllamaGenerate} {
		for name, body := range map[string]string{
			"deep":         strings.Repeat(`{"content":[`, 10_000),
			"deep, closed": `{"messages":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + "}",
			"cut":          `{"model":"secret","input":[{"content":"secret`,
			"not JSON":     "secret",
		} {
			var rec trace.Record
			err := ParseRequest(kind, "/v1beta/models/m:streamGenerateContent", []byte(body), &rec, new(trace.Said))
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s, %s: error %v", kind, name, err)
			}
			a := NewAnswer(kind)
			a.Event(nil, []byte(body))
			if err := a.Body([]byte(body)); err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s, %s: error %v", kind, name, err)
			}
			if got := fill(a); got.Some || got.Error || len(got.Answer) > 0 {
				t.Errorf("%s, %s: took %+v", kind, name, got)
			}
		}
		// Nested as deep as is read, and of the wrong types all through.
		for _, member := range []string{"messages", "input", "contents", "system", "content", "candidates", "output", "message", "delta", "response", "item", "error", "usage", "options"} {
			for _, v := range []string{`7`, `"\ud800"`, `null`, `[7,[],{"content":7,"parts":"x","role":{}}]`, `{"content":[[]],"parts":[7,"x"],"tool_calls":{}}`, strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000)} {
				body := []byte(`{"` + member + `":` + v + `}`)
				if err := ParseRequest(kind, "", body, new(trace.Record), new(trace.Said)); err != nil {
					t.Errorf("%s, %.40s: %v", kind, body, err)
				}
				a := NewAnswer(kind)
				a.Event(nil, body)
				if err := a.Body(body); err != nil {
					t.Errorf("%s, %.40s: %v", kind, body, err)
				}
			}
		}
	}
}

func TestBuildAPIs(t *testing.T) {
	spec := Spec{
		Model: "m/1", Stream: true, IncludeUsage: true, MaxTokens: new(int32(5)), Seed: new(int64(-1)), N: new(int32(2)), Temperature: new(0.5), TopP: new(1.0),
		Messages: []Message{{trace.RoleSystem, "be"}, {trace.RoleUser, `"a"`}, {trace.RoleAssistant, "b"}, {trace.RoleSystem, "c"}},
	}
	least := Spec{Messages: []Message{{trace.RoleSystem, "a"}}}
	for _, tt := range []struct {
		name       string
		kind       trace.APIKind
		spec       Spec
		path, body string
	}{
		{
			"responses", trace.KindOpenAIResponses, spec, "/v1/responses",
			`{"model":"m/1","instructions":"be","input":[{"role":"user","content":"\"a\""},{"role":"assistant","content":"b"},{"role":"system","content":"c"}],"store":false,"stream":true,"max_output_tokens":5,"temperature":0.5,"top_p":1}`,
		},
		{"responses, least", trace.KindOpenAIResponses, least, "/v1/responses", `{"input":[{"role":"system","content":"a"}],"store":false}`},
		{
			"anthropic", trace.KindAnthropicMessages, spec, "/v1/messages",
			`{"model":"m/1","system":"be","messages":[{"role":"user","content":"\"a\""},{"role":"assistant","content":"b"},{"role":"user","content":"c"}],"max_tokens":5,"stream":true,"temperature":0.5,"top_p":1}`,
		},
		{"anthropic, least", trace.KindAnthropicMessages, least, "/v1/messages", `{"messages":[{"role":"user","content":"a"}],"max_tokens":4096}`},
		{
			"gemini", trace.KindGemini, spec, "/v1beta/models/m%2F1:streamGenerateContent?alt=sse",
			`{"systemInstruction":{"parts":[{"text":"be"}]},"contents":[{"role":"user","parts":[{"text":"\"a\""}]},{"role":"model","parts":[{"text":"b"}]},{"role":"user","parts":[{"text":"c"}]}],"generationConfig":{"maxOutputTokens":5,"candidateCount":2,"seed":-1,"temperature":0.5,"topP":1}}`,
		},
		{"gemini, least", trace.KindGemini, Spec{Model: "m", Messages: least.Messages}, "/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"a"}]}],"generationConfig":{}}`},
		{
			"ollama chat", trace.KindOllamaChat, spec, "/api/chat",
			`{"model":"m/1","messages":[{"role":"system","content":"be"},{"role":"user","content":"\"a\""},{"role":"assistant","content":"b"},{"role":"system","content":"c"}],"stream":true,"options":{"num_predict":5,"seed":-1,"temperature":0.5,"top_p":1}}`,
		},
		{"ollama generate", trace.KindOllamaGenerate, Spec{Model: "m", Messages: spec.Messages[:2]}, "/api/generate", `{"model":"m","system":"be","prompt":"\"a\"","stream":false,"options":{}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.spec.Kind = tt.kind
			path, body, err := Build(tt.spec)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.path+" "+tt.body, path+" "+string(body)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			path, _, _ = strings.Cut(path, "?")
			if got := Recognize("POST", path, body); got != tt.kind {
				t.Errorf("recognized as %s", got)
			}
			var rec trace.Record
			if err := ParseRequest(tt.kind, path, body, &rec, new(trace.Said)); err != nil || rec.Stream != tt.spec.Stream || len(rec.Messages) != len(tt.spec.Messages) {
				t.Errorf("read again: stream %v, %d messages, error %v", rec.Stream, len(rec.Messages), err)
			}
		})
	}
}
