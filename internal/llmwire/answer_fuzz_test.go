package llmwire

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/internal/sse"
	"github.com/lambdac/lambdac/trace"
)

func FuzzAnswer(f *testing.F) {
	f.Add(uint8(0), []byte("data: "+delta(`"content":"a"`)+"\n\ndata: {\"choices\":[],"+usageOf(1, 2)+"}\n\ndata: [DONE]\n\n"))
	f.Add(uint8(0), []byte("event: error\ndata: "+delta(`"tool_calls":[{"id":"1"},{"index":0,"function":{"arguments":"{"}}],"reasoning":"\ud800"`)+"\n\n"))
	f.Add(uint8(1), []byte(`{"choices":[{"text":"a","finish_reason":"error"},{"index":9,"delta":{"audio":{"transcript":"x"}}}],"error":"x","detail":1}`))
	f.Add(uint8(2), []byte(`{"data":[],"usage":{"prompt_tokens":9223372036854775807,"completion_tokens":1e3}}`))
	f.Add(uint8(3), []byte("data: {\"error\":{\"type\":1,\"code\":\"a\"}}\n\n"))
	f.Add(uint8(3), []byte("event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"status\":\"in_progress\"}}\n\ndata: {\"delta\":\"a\",\"output_index\":1,\"type\":\"response.function_call_arguments.delta\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[{\"name\":\"f\",\"content\":[{\"text\":\"a\",\"type\":\"reasoning_text\"}]}],\"usage\":{\"input_tokens\":1}}}\n\n"))
	f.Add(uint8(4), []byte("data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9007199254740991,\"cache_read_input_tokens\":9007199254740991}}}\n\ndata: {\"index\":1,\"content_block\":{\"name\":\"f\",\"input\":{\"a\":1}}}\n\ndata: {\"index\":1,\"delta\":{\"partial_json\":\"x\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"))
	f.Add(uint8(5), []byte("data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\",\"thought\":true},{\"functionCall\":{\"args\":{}}}]},\"finishReason\":\"STOP\",\"index\":3}],\"usageMetadata\":{\"promptTokenCount\":1,\"thoughtsTokenCount\":2,\"totalTokenCount\":3}}\n\n"))
	f.Add(uint8(6), []byte(`{"message":{"content":"a","tool_calls":[{"function":{"name":"f","arguments":[1]}}]},"done":true,"done_reason":"stop","total_duration":9223372036854775807,"prompt_eval_duration":-1,"eval_count":2}`))
	f.Add(uint8(7), []byte(`{"response":"a","thinking":"b","done":true,"done_reason":"load","load_duration":1}`))
	for which, data := range map[uint8]string{
		8:  `{"token":{"text":"a","special":false},"generated_text":"a","details":{"finish_reason":"length","generated_tokens":1,"input_length":4}}`,
		9:  `{"text":"ab","index":1,"meta_info":{"finish_reason":{"type":"abort","err_type":"x"},"prompt_tokens":5,"completion_tokens":3}}`,
		10: `{"model_name":"m","text_output":["a",{"text":"b"}],"error":null}`,
		11: `{"index":2,"content":"a","stop":true,"stop_type":"","tokens_predicted":2,"timings":{"prompt_ms":-1,"predicted_ms":1e99}}`,
		12: `{"delta":{"toolUse":{"input":{"a":1}},"reasoningContent":{"reasoningText":{"text":"b"}}},"message":{"message":"x"},"usage":{"inputTokens":9223372036854775806,"cacheReadInputTokens":9223372036854775806}}`,
		13: chunkOf(`{"outputs":[{"text":"a","stop_reason":"stop"}],"type":"message","amazon-bedrock-invocationMetrics":{"inputTokenCount":1,"firstByteLatency":1}}`),
		14: `{"message":"x","delta":{"message":{"tool_plan":"p","tool_calls":{"function":{"arguments":"a"}},"content":{"thinking":"t"}},"finish_reason":"ERROR_LIMIT"},"index":3}`,
	} {
		f.Add(which, []byte("data: "+data+"\n\n"+"data: "+data+"\n\n"))
		f.Add(which, []byte(data))
		f.Add(which, []byte("["+data+","+data+"]"))
	}
	f.Fuzz(func(t *testing.T, which uint8, in []byte) {
		kind := trace.KindOther
		if int(which) < len(families) {
			kind = families[which].kind
		}
		var d sse.Decoder
		a, anew := NewAnswer(kind), NewAnswer(kind)
		sum := int64(0)
		emit := func(e sse.Event) {
			c := a.Event(e.Name, e.Data)
			anew.before.known = false
			if d := cmp.Diff(anew.Event(e.Name, e.Data), c); d != "" {
				t.Errorf("read anew (-) and by what it has in common with the event before (+): %s", d)
			}
			if c.Kind.Generated() {
				sum += int64(c.Bytes)
			}
			if c.Bytes < 0 || c.Kind.Generated() && c.Bytes > 0 && !c.Counts {
				t.Errorf("chunk %+v", c)
			}
		}
		d.Feed(in, emit)
		d.Close(emit)
		checkFilled(t, a, sum)
		if d := cmp.Diff(fill(anew), fill(a)); d != "" {
			t.Errorf("answer read anew (-) and by what its events have in common (+): %s", d)
		}
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
