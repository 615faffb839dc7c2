package llmwire

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

func TestRecognize(t *testing.T) {
	const (
		chat   = `{"model":"m","messages":[]}`
		prompt = `{"model":"m","prompt":"x"}`
		input  = `{"model":"m","input":"x"}`
		vertex = "/v1/projects/p/locations/l/publishers/"
	)
	for _, tt := range []struct {
		name, method, path, body string
		want                     trace.APIKind
	}{
		{"chat", "POST", "/v1/chat/completions", chat, trace.KindOpenAIChat},
		{"chat under a prefix", "POST", "/openai/v1/chat/completions", chat, trace.KindOpenAIChat},
		{"chat of OpenRouter", "POST", "/api/v1/chat/completions", chat, trace.KindOpenAIChat},
		{"chat, bare", "POST", "/chat/completions", chat, trace.KindOpenAIChat},
		{"chat, final slash", "POST", "/v1/chat/completions/", chat, trace.KindOpenAIChat},
		{"chat of Azure", "POST", "/openai/deployments/d/chat/completions", chat, trace.KindOpenAIChat},
		{"chat, body cut", "POST", "/v1/chat/completions", `{"model":`, trace.KindOpenAIChat},
		{"chat, no body", "POST", "/v1/chat/completions", "", trace.KindOpenAIChat},
		{"chat, no messages", "POST", "/v1/chat/completions", `{"model":"m"}`, trace.KindOpenAIChat},
		{"chat path, other shape", "POST", "/v1/chat/completions", input, trace.KindOther},
		{"chat at the older path", "POST", "/v1/completions", chat, trace.KindOpenAIChat},
		{"completions", "POST", "/v1/completions", prompt, trace.KindOpenAICompletions},
		{"completions of Azure", "POST", "/openai/deployments/d/completions", prompt, trace.KindOpenAICompletions},
		{"completions, body cut", "POST", "/v1/completions", `{"prompt":"`, trace.KindOpenAICompletions},
		{"embeddings", "POST", "/v1/embeddings", input, trace.KindOpenAIEmbeddings},
		{"embeddings of Ollama", "POST", "/api/embeddings", prompt, trace.KindOther},
		{"llama.cpp", "POST", "/completion", prompt, trace.KindLlamaCppCompletion},
		{"responses", "POST", "/v1/responses", input, trace.KindOpenAIResponses},
		{"responses, instructions only", "POST", "/v1/responses", `{"instructions":"x"}`, trace.KindOpenAIResponses},
		{"responses path, other shape", "POST", "/v1/responses", chat, trace.KindOther},
		{"a response", "POST", "/v1/responses/resp_1/cancel", "", trace.KindOther},
		{"messages", "POST", "/v1/messages", chat, trace.KindAnthropicMessages},
		{"messages, body cut", "POST", "/v1/messages", `{"model":`, trace.KindAnthropicMessages},
		{"messages, no body", "POST", "/v1/messages", "", trace.KindAnthropicMessages},
		{"tokens counted", "POST", "/v1/messages/count_tokens", chat, trace.KindOther},
		{"batches", "POST", "/v1/messages/batches", `{"requests":[]}`, trace.KindOther},
		{"message of a thread", "POST", "/v1/threads/t/messages", `{"role":"user","content":"x"}`, trace.KindOther},
		{"messages on Vertex AI", "POST", vertex + "anthropic/models/claude-x@1:streamRawPredict", `{"anthropic_version":"v","messages":[]}`, trace.KindAnthropicMessages},
		{"another model on Vertex AI", "POST", vertex + "mistralai/models/x:rawPredict", chat, trace.KindOther},
		{"gemini", "POST", "/v1beta/models/gemini-x:generateContent", `{"contents":[]}`, trace.KindGemini},
		{"gemini, streamed", "POST", "/v1beta/models/gemini-x:streamGenerateContent", "", trace.KindGemini},
		{"gemini on Vertex AI", "POST", vertex + "google/models/gemini-x:streamGenerateContent", "", trace.KindGemini},
		{"gemini, tokens counted", "POST", "/v1beta/models/gemini-x:countTokens", `{"contents":[]}`, trace.KindOther},
		{"gemini, as OpenAI", "POST", "/v1beta/openai/chat/completions", chat, trace.KindOpenAIChat},
		{"chat of Ollama", "POST", "/api/chat", chat, trace.KindOllamaChat},
		{"chat of Ollama, only to load", "POST", "/api/chat", `{"model":"q"}`, trace.KindOllamaChat},
		{"chat of an application", "POST", "/api/chat", `{"messages":[]}`, trace.KindOther},
		{"generate of Ollama", "POST", "/api/generate", prompt, trace.KindOllamaGenerate},
		{"models", "GET", "/v1/models", "", trace.KindOther},
		{"stored chats", "GET", "/v1/chat/completions", "", trace.KindOther},
		{"preflight", "OPTIONS", "/v1/chat/completions", "", trace.KindOther},
		{"word with the same end", "POST", "/v1/autocompletions", prompt, trace.KindOther},
		{"name in escapes", "POST", "/v1/embeddings", `{"\u0069nput":"x","prompt":""}`, trace.KindOpenAIEmbeddings},
	} {
		if got := Recognize(tt.method, tt.path, []byte(tt.body)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestParseRequest(t *testing.T) {
	type want struct {
		Request trace.Request
		Said    trace.Said
		Texts   []string
	}
	for _, tt := range []struct {
		name, path, body string
		kind             trace.APIKind
		want             want
	}{
		{
			name: "chat, every parameter", kind: trace.KindOpenAIChat,
			body: `{"model":"m","stream":true,"max_tokens":5,"max_completion_tokens":7,"n":2,"seed":-9,"top_k":40,
				"temperature":0.7,"top_p":1,"frequency_penalty":-0.5,"presence_penalty":2e-1,"service_tier":"flex",
				"reasoning_effort":"low","response_format":{"json_schema":{"type":"x"},"type":"json_schema"},
				"tools":[{"type":"function"},{}],"stop":["a"],
				"messages":[{"role":"system","content":"be"},{"role":"user","content":"h\u00e4\n"},
				{"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"a\":1}"}},{"function":{"arguments":"{}"}}]},
				{"role":"tool","content":"12","tool_call_id":"1"}]}`,
			want: want{
				Request: trace.Request{
					Stream: true, MaxTokens: new(int32(7)), N: new(int32(2)), Seed: new(int64(-9)), TopK: new(int32(40)),
					Temperature: new(0.7), TopP: new(1.0), FrequencyPenalty: new(-0.5), PresencePenalty: new(0.2),
					MessageCount: new(int32(4)), ToolDefCount: new(int32(2)), ImageCount: new(int32(0)),
					Messages: []trace.Message{{Role: trace.RoleSystem, Bytes: 2}, {Role: trace.RoleUser, Bytes: 4}, {Role: trace.RoleAssistant, Bytes: 9}, {Role: trace.RoleTool, Bytes: 2}},
				},
				Said:  trace.Said{Operation: "chat", RequestModel: "m", ServiceTier: "flex", ReasoningLevel: "low", OutputType: "json", JSONAsked: true},
				Texts: []string{"system:be", "user:hä\n", `assistant:{"a":1}`, "assistant:{}", "tool:12"},
			},
		},
		{
			name: "chat, parts, roles after contents", kind: trace.KindOpenAIChat,
			body: `{"messages":[{"content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:x"}},
				{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}},{"text":"bc","type":"text"},"d"],"role":"user"},
				{"tool_calls":[{"function":{"arguments":"{}"}}],"content":[{"type":"refusal","refusal":"no"}],"role":"assistant"},
				{"role":"developer"},{"role":"x","content":7}]}`,
			want: want{
				Request: trace.Request{
					MessageCount: new(int32(4)), ToolDefCount: new(int32(0)), ImageCount: new(int32(1)),
					Messages: []trace.Message{{Role: trace.RoleUser, Bytes: 4}, {Role: trace.RoleAssistant, Bytes: 4}, {Role: trace.RoleSystem}, {}},
				},
				Said:  trace.Said{Operation: "chat"},
				Texts: []string{"user:a", "user:bc", "user:d", "assistant:no", "assistant:{}"},
			},
		},
		{
			name: "wrong types and numbers out of range", kind: trace.KindOpenAIChat,
			body: `{"model":{},"stream":"yes","max_tokens":"5","n":0,"seed":1e30,"top_k":2147483648,"temperature":"warm",
				"top_p":1e999,"frequency_penalty":[],"presence_penalty":null,"response_format":"json","messages":{},"max_completion_tokens":-1}`,
			want: want{Said: trace.Said{Operation: "chat"}},
		},
		{
			name: "whole numbers as floats", kind: trace.KindOpenAIChat,
			body: `{"max_tokens":16.0,"n":1e0,"seed":1.5}`,
			want: want{Request: trace.Request{MaxTokens: new(int32(16)), N: new(int32(1))}, Said: trace.Said{Operation: "chat"}},
		},
		{
			name: "reasoning of OpenRouter, text asked for", kind: trace.KindOpenAIChat,
			body: `{"reasoning":{"max_tokens":1,"effort":"high"},"response_format":{"type":"text"}}`,
			want: want{Said: trace.Said{Operation: "chat", ReasoningLevel: "high", OutputType: "text"}},
		},
		{
			name: "deployment of Azure", kind: trace.KindOpenAIChat, path: "/openai/deployments/my-dep/chat/completions",
			body: `{}`,
			want: want{Said: trace.Said{Operation: "chat", Provider: "azure.ai.openai", RequestModel: "my-dep"}},
		},
		{
			name: "invalid UTF-8 and lone surrogates", kind: trace.KindOpenAIChat,
			body: "{\"messages\":[{\"role\":\"user\",\"content\":\"a\xffb\"},{\"role\":\"user\",\"content\":\"\\ud800\"}]}",
			want: want{
				Request: trace.Request{
					MessageCount: new(int32(2)), ToolDefCount: new(int32(0)), ImageCount: new(int32(0)),
					Messages: []trace.Message{{Role: trace.RoleUser, Bytes: 5}, {Role: trace.RoleUser, Bytes: 3}},
				},
				Said:  trace.Said{Operation: "chat"},
				Texts: []string{"user:a\ufffdb", "user:\ufffd"},
			},
		},
		{
			name: "prompt", kind: trace.KindOpenAICompletions, body: `{"prompt":"abc","max_tokens":0}`,
			want: want{
				Request: trace.Request{
					MaxTokens: new(int32(0)), MessageCount: new(int32(1)), ToolDefCount: new(int32(0)), ImageCount: new(int32(0)),
					Messages: []trace.Message{{Role: trace.RolePrompt, Bytes: 3}},
				},
				Said:  trace.Said{Operation: "text_completion"},
				Texts: []string{"prompt:abc"},
			},
		},
		{
			name: "prompts", kind: trace.KindOpenAICompletions, body: `{"prompt":["a","bc"]}`,
			want: want{
				Request: trace.Request{
					MessageCount: new(int32(2)), ToolDefCount: new(int32(0)), ImageCount: new(int32(0)),
					Messages: []trace.Message{{Role: trace.RolePrompt, Bytes: 1}, {Role: trace.RolePrompt, Bytes: 2}},
				},
				Said:  trace.Said{Operation: "text_completion"},
				Texts: []string{"prompt:a", "prompt:bc"},
			},
		},
		{
			name: "token ids", kind: trace.KindOpenAICompletions, body: `{"prompt":[1,2,3]}`,
			want: want{
				Request: trace.Request{MessageCount: new(int32(1)), ToolDefCount: new(int32(0)), ImageCount: new(int32(0))},
				Said:    trace.Said{Operation: "text_completion"},
			},
		},
		{
			name: "lists of token ids", kind: trace.KindOpenAICompletions, body: `{"prompt":[[1,2],[3]]}`,
			want: want{
				Request: trace.Request{MessageCount: new(int32(2)), ToolDefCount: new(int32(0)), ImageCount: new(int32(0))},
				Said:    trace.Said{Operation: "text_completion"},
			},
		},
		{
			name: "no prompt", kind: trace.KindOpenAICompletions, body: `{"prompt":null}`,
			want: want{Said: trace.Said{Operation: "text_completion"}},
		},
		{
			name: "inputs", kind: trace.KindOpenAIEmbeddings, body: `{"input":["ab","c"],"model":"e"}`,
			want: want{
				Request: trace.Request{
					MessageCount: new(int32(2)), ToolDefCount: new(int32(0)), ImageCount: new(int32(0)),
					Messages: []trace.Message{{Role: trace.RoleEmbeddingInput, Bytes: 2}, {Role: trace.RoleEmbeddingInput, Bytes: 1}},
				},
				Said:  trace.Said{Operation: "embeddings", RequestModel: "e"},
				Texts: []string{"embedding_input:ab", "embedding_input:c"},
			},
		},
		{name: "other kinds are not read", kind: trace.KindOther, body: "not JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var rec trace.Record
			var got want
			if err := ParseRequest(tt.kind, tt.path, []byte(tt.body), &rec, &got.Said); err != nil {
				t.Fatal(err)
			}
			got.Request = rec.Request
			err := VisitText(tt.kind, []byte(tt.body), func(role trace.Role, text []byte) {
				got.Texts = append(got.Texts, role.String()+":"+string(text))
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRequestInvalid(t *testing.T) {
	for _, tt := range []struct{ name, body string }{
		{"empty", ""},
		{"cut", `{"model":"secret-model","messages":[{"role":"user","content":"secret`},
		{"not JSON", "secret"},
		{"list", `["secret"]`},
		{"text after it", `{"messages":[]} secret`},
		{"NaN", `{"model":"secret","temperature":NaN}`},
		{"deep objects", strings.Repeat(`{"a":`, 20_000)},
		{"deep contents", `{"messages":[{"content":` + strings.Repeat("[", 20_000)},
		{"deep and closed", `{"messages":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}"},
		{"bad name", `{"a":1,secret:2}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var rec trace.Record
			var said trace.Said
			err := ParseRequest(trace.KindOpenAIChat, "/v1/chat/completions", []byte(tt.body), &rec, &said)
			if _, ok := errors.AsType[*SyntaxError](err); !ok {
				t.Fatalf("error %v, want a SyntaxError", err)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("error repeats the body: %v", err)
			}
			if diff := cmp.Diff(trace.Request{}, rec.Request); diff != "" {
				t.Errorf("filled (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(trace.Said{Operation: "chat"}, said); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
		})
	}
}

// A text of any size is one message.
func TestParseRequestLong(t *testing.T) {
	body := `{"messages":[{"role":"user","content":"` + strings.Repeat("a", 16<<20) + `\n"}]}`
	var rec trace.Record
	if err := ParseRequest(trace.KindOpenAIChat, "", []byte(body), &rec, new(trace.Said)); err != nil {
		t.Fatal(err)
	}
	if got := rec.Messages[0].Bytes; got != 16<<20+1 {
		t.Errorf("%d bytes, want %d", got, 16<<20+1)
	}
}

// VisitText hands out what stands before the place where a body breaks off.
func TestVisitTextCut(t *testing.T) {
	var got []string
	err := VisitText(trace.KindOpenAIChat, []byte(`{"messages":[{"role":"user","content":"a"},{"role":"user","con`),
		func(_ trace.Role, text []byte) { got = append(got, string(text)) })
	if err == nil {
		t.Error("no error")
	}
	if diff := cmp.Diff([]string{"a"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnswerFraming(t *testing.T) {
	const streamPath = "/v1beta/models/m:streamGenerateContent"
	for _, tt := range []struct {
		kind        trace.APIKind
		contentType string
		want        Framing
		path        string
	}{
		{trace.KindOpenAIChat, "text/event-stream; charset=utf-8", FramingSSE, ""},
		{trace.KindOpenAIChat, "Text/Event-Stream", FramingSSE, ""},
		{trace.KindOther, "text/event-stream", FramingSSE, ""},
		{trace.KindOpenAIChat, "text/event-stream, text/event-stream", FramingSSE, ""},
		{trace.KindOpenAIChat, " text/event-stream;charset=utf-8; charset=utf-8", FramingSSE, ""},
		{trace.KindOpenAIChat, "text/event-stream charset=utf-8", FramingSSE, ""},
		{trace.KindOther, "application/x-ndjson", FramingLines, ""},
		{trace.KindOpenAIChat, "application/json", FramingJSON, ""},
		{trace.KindOpenAIChat, "application/problem+json", FramingJSON, ""},
		{trace.KindOpenAIChat, "", FramingJSON, ""},
		{trace.KindOther, "", FramingOpaque, ""},
		{trace.KindOpenAIChat, "text/html", FramingOpaque, ""},
		{trace.KindGemini, "text/event-stream", FramingSSE, streamPath},
		{trace.KindGemini, "application/json; charset=UTF-8", FramingArray, streamPath},
		{trace.KindGemini, "", FramingArray, streamPath + "/"},
		{trace.KindGemini, "application/json", FramingJSON, "/v1beta/models/m:generateContent"},
		{trace.KindOpenAIChat, "application/json", FramingJSON, streamPath},
		{trace.KindOllamaChat, "application/x-ndjson", FramingLines, ""},
	} {
		if got := AnswerFraming(tt.kind, tt.path, tt.contentType); got != tt.want {
			t.Errorf("%s %q: %d, want %d", tt.kind, tt.contentType, got, tt.want)
		}
	}
}

func FuzzRequest(f *testing.F) {
	f.Add(uint8(0), []byte(`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a\ud800"}]},{"tool_calls":[{"function":{"arguments":"{}"}}]}],"n":1e400}`))
	f.Add(uint8(1), []byte(`{"prompt":["a",[1,2],3,null],"prompt":"b"}`))
	f.Add(uint8(2), []byte("{\"input\":\"a\xff\",\"model\":[[[[]]]]}"))
	f.Add(uint8(3), []byte(`{"instructions":"be","input":[{"type":"reasoning","summary":[{"text":"a"}]},{"type":"function_call_output","output":["x",{"text":"b"}]},7,{"type":"item_reference"}],"text":{"format":{"type":"text"}}}`))
	f.Add(uint8(4), []byte(`{"system":[{"text":"be"},7],"messages":[{"content":[{"type":"tool_result","content":[{"text":"a"},{"source":{"data":"d","type":"text"}}]},{"input":[1]}],"role":"user"}]}`))
	f.Add(uint8(5), []byte(`{"contents":[{"parts":{"text":"a"}},7,{"role":"model","parts":[{"functionCall":{"args":{"a":"\ud800"}}},[]]}],"systemInstruction":{"parts":[]},"tools":[{"functionDeclarations":[1]}]}`))
	f.Add(uint8(6), []byte(`{"model":"q","messages":[{"images":[1],"tool_calls":[{"function":{"arguments":{"a":1}}}],"thinking":"t","content":["a"]}],"options":{"seed":1e3}}`))
	f.Add(uint8(7), []byte(`{"model":"q","system":"a","prompt":"b","stream":null}`))
	f.Add(uint8(8), []byte(`{"inputs":"a","parameters":{"max_new_tokens":1},"stream":true}`))
	f.Add(uint8(10), []byte(`{"text_input":["a"],"sampling_parameters":"{\"top_p\":1}","parameters":[]}`))
	f.Add(uint8(12), []byte(`{"system":[{"text":"be"}],"messages":[{"content":[{"toolUse":{"input":{"a":[1]}}},{"toolResult":{"content":[{"json":1}]}},[["x"]]],"role":"user"},7]}`))
	f.Add(uint8(14), []byte(`{"message":"a","chat_history":[7,{"message":"b","role":"CHATBOT"}],"preamble":"c","messages":[]}`))
	f.Add(uint8(0), []byte(`{"messages":[[],"x",7,{"content":{"a":"b"},"role":"tool"}],"tools":{},"stream":1}`))
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		kind := families[int(which)%len(families)].kind
		Recognize("POST", "/v1/"+[]string{"chat/completions", "completions", "embeddings"}[which%3], body)
		var rec trace.Record
		err := ParseRequest(kind, "/v1/x", body, &rec, new(trace.Said))
		var visited int
		if visitErr := VisitText(kind, body, func(_ trace.Role, text []byte) { visited += len(text) }); (visitErr == nil) != (err == nil) {
			t.Fatalf("parse: %v, visit: %v", err, visitErr)
		}
		if err != nil {
			return
		}
		counted := 0
		for _, m := range rec.Messages {
			counted += int(m.Bytes)
		}
		if rec.Messages != nil && counted != visited {
			t.Errorf("counted %d bytes of text, visited %d", counted, visited)
		}
		if rec.MessageCount != nil && rec.Messages != nil && int(*rec.MessageCount) != len(rec.Messages) {
			t.Errorf("%d messages, count %d", len(rec.Messages), *rec.MessageCount)
		}
	})
}

func chatBody(escaped bool) []byte {
	var b strings.Builder
	b.WriteString(`{"model":"m","stream":true,"messages":[{"role":"system","content":"You are helpful."}`)
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 40)
	if escaped {
		text = strings.Repeat(`A line of text with some words in it.\nAnd \"more\".`, 40)
	}
	for i := range 32 {
		fmt.Fprintf(&b, `,{"role":"%s","content":"%s"}`, []string{"user", "assistant"}[i%2], text)
	}
	b.WriteString("]}")
	return []byte(b.String())
}

func BenchmarkRequest(b *testing.B) {
	for _, tt := range []struct {
		name string
		body []byte
	}{{"plain", chatBody(false)}, {"escaped", chatBody(true)}} {
		b.Run("visit/"+tt.name, func(b *testing.B) {
			b.SetBytes(int64(len(tt.body)))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if err := VisitText(trace.KindOpenAIChat, tt.body, func(_ trace.Role, text []byte) { n += len(text) }); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("parse/"+tt.name, func(b *testing.B) {
			b.SetBytes(int64(len(tt.body)))
			b.ReportAllocs()
			for b.Loop() {
				var rec trace.Record
				if err := ParseRequest(trace.KindOpenAIChat, "", tt.body, &rec, new(trace.Said)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
