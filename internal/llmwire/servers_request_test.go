package llmwire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

func TestRecognizeServers(t *testing.T) {
	for _, tt := range []struct {
		path, body string
		want       trace.APIKind
	}{
		{"/generate", `{"inputs":"a"}`, trace.KindTGIGenerate},
		{"/generate_stream", ``, trace.KindTGIGenerate},
		{"/", `{"inputs":"a","stream":true}`, trace.KindTGIGenerate},
		{"/invocations", `{"inputs":"a"}`, trace.KindTGIGenerate},
		{"/", `{"inputs":["a"]}`, trace.KindOther}, // text embeddings
		{"/", `{"a":1}`, trace.KindOther},
		{"/generate", `{"text":"a","sampling_params":{}}`, trace.KindSGLangGenerate},
		{"/generate", `{"input_ids":[1]}`, trace.KindSGLangGenerate},
		{"/generate", `{"prompt":"a"}`, trace.KindOther}, // vLLM's first server
		{"/generate", ``, trace.KindOther},
		{"/v2/models/m/generate", `{"text_input":"a"}`, trace.KindTritonGenerate},
		{"/v2/models/m/versions/1/generate_stream", `{"text":"a"}`, trace.KindTritonGenerate},
		{"/v2/models/m/infer", `{}`, trace.KindOther},
		{"/completion", `{"prompt":"a"}`, trace.KindLlamaCppCompletion},
		{"/completions", `{"prompt":"a","n_predict":5}`, trace.KindLlamaCppCompletion},
		{"/completions", `{"prompt":"a","max_tokens":5}`, trace.KindOpenAICompletions},
		{"/v1/completions", `{"prompt":"a","n_predict":5}`, trace.KindOpenAICompletions},
		{"/infill", `{"input_prefix":"a","input_suffix":"b"}`, trace.KindLlamaCppCompletion},
		{"/infill", `{"a":1}`, trace.KindOther},
		{"/model/anthropic.claude-v1%3A0/converse", `{}`, trace.KindBedrockConverse},
		{"/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fx/converse-stream", `{}`, trace.KindBedrockConverse},
		{"/model/m/invoke", `{}`, trace.KindBedrockInvoke},
		{"/model/m/invoke-with-response-stream", `{}`, trace.KindBedrockInvoke},
		{"/model/m/count-tokens", `{}`, trace.KindOther},
		{"/v2/chat", `{"messages":[]}`, trace.KindCohereChat},
		{"/v1/chat", `{"message":"a"}`, trace.KindCohereChat},
		{"/v1/chat", `{}`, trace.KindOther},
	} {
		if got := Recognize("POST", tt.path, []byte(tt.body)); got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.path, tt.body, got, tt.want)
		}
	}
}

// asked is a request in one line: parameters, model and its like, texts.
func asked(t *testing.T, kind trace.APIKind, path, body string) string {
	t.Helper()
	var rec trace.Record
	var said trace.Said
	if err := ParseRequest(kind, path, []byte(body), &rec, &said); err != nil {
		t.Fatal(err)
	}
	q := rec.Request
	s := fmt.Sprintf("%s/%s %s", said.Provider, said.Operation, said.RequestModel)
	if q.Stream {
		s += " stream"
	}
	s += fmt.Sprintf(" max=%s n=%s k=%s seed=%s t=%s p=%s", show(q.MaxTokens), show(q.N), show(q.TopK), show(q.Seed), show(q.Temperature), show(q.TopP))
	s += fmt.Sprintf(" msgs=%s tools=%s images=%s", show(q.MessageCount), show(q.ToolDefCount), show(q.ImageCount))
	var sizes, texts []string
	for _, m := range q.Messages {
		sizes = append(sizes, fmt.Sprint(m.Role, m.Bytes))
	}
	if err := VisitText(kind, []byte(body), func(role trace.Role, text []byte) { texts = append(texts, string(text)) }); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %v %s", s, sizes, strings.Join(texts, "|"))
}

func show[T any](p *T) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprint(*p)
}

func TestServerRequests(t *testing.T) {
	for _, tt := range []struct {
		name string
		kind trace.APIKind
		path string
		body string
		want string
	}{
		{
			"tgi", trace.KindTGIGenerate, "/generate_stream",
			`{"inputs":"Hello","parameters":{"max_new_tokens":20,"temperature":0.5,"top_k":10,"top_p":0.9,"seed":7,"details":true,"stop":["x"]}}`,
			"/text_completion  stream max=20 n=- k=10 seed=7 t=0.5 p=0.9 msgs=1 tools=0 images=0 [prompt 5] Hello",
		},
		{
			"tgi: at /", trace.KindTGIGenerate, "/", `{"inputs":"a","stream":true}`,
			"/text_completion  stream max=- n=- k=- seed=- t=- p=- msgs=1 tools=0 images=0 [prompt 1] a",
		},
		{
			"triton: inputs beside the text", trace.KindTritonGenerate, "/v2/models/my%20model/versions/2/generate_stream",
			`{"text_input":"a","max_tokens":5,"random_seed":3,"temperature":0}`,
			"/text_completion my model stream max=5 n=- k=- seed=3 t=0 p=- msgs=1 tools=0 images=0 [prompt 1] a",
		},
		{
			"triton: parameters, and as a string; this path never streams", trace.KindTritonGenerate, "/v2/models/m/generate",
			`{"text_input":"a","parameters":{"max_tokens":5,"stream":true},"sampling_parameters":"{\"top_p\":0.5}"}`,
			"/text_completion m max=5 n=- k=- seed=- t=- p=0.5 msgs=1 tools=0 images=0 [prompt 1] a",
		},
		{
			"sglang", trace.KindSGLangGenerate, "/generate",
			`{"text":["a","bc"],"sampling_params":{"max_new_tokens":9,"n":2,"temperature":0},"stream":true,"image_data":["x","y"]}`,
			"/text_completion  stream max=9 n=2 k=- seed=- t=0 p=- msgs=2 tools=0 images=2 [prompt 1 prompt 2] a|bc",
		},
		{
			"sglang: token ids", trace.KindSGLangGenerate, "/generate", `{"input_ids":[[1,2],[3]]}`,
			"/text_completion  max=- n=- k=- seed=- t=- p=- msgs=2 tools=0 images=0 [] ",
		},
		{
			"llama.cpp", trace.KindLlamaCppCompletion, "/completion", `{"prompt":"ab","n_predict":6,"stream":true,"top_k":40,"seed":1}`,
			"/text_completion  stream max=6 n=- k=40 seed=1 t=- p=- msgs=1 tools=0 images=0 [prompt 2] ab",
		},
		{
			"llama.cpp: filling in", trace.KindLlamaCppCompletion, "/infill",
			`{"input_extra":[{"filename":"f","text":"x"},{"text":"yz"}],"input_prefix":"ab","prompt":"","input_suffix":"c","n_predict":6,"stream":true}`,
			"/text_completion  stream max=6 n=- k=- seed=- t=- p=- msgs=5 tools=0 images=0 [prompt 1 prompt 2 prompt 2 prompt 0 prompt 1] x|yz|ab|c",
		},
		{
			"llama.cpp: no limit", trace.KindLlamaCppCompletion, "/completion", `{"prompt":"ab","n_predict":-1}`,
			"/text_completion  max=- n=- k=- seed=- t=- p=- msgs=1 tools=0 images=0 [prompt 2] ab",
		},
		{
			"converse: system first, parts", trace.KindBedrockConverse, "/model/us.anthropic.claude-v1%3A0/converse-stream",
			`{"messages":[{"content":[{"text":"Hi"},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"cachePoint":{"type":"default"}}],"role":"user"},
			{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"hm","signature":"s"}}},{"toolUse":{"toolUseId":"1","name":"f","input":{"a":1}}}]},
			{"role":"user","content":[{"toolResult":{"toolUseId":"1","content":[{"text":"42"},{"json":{"b":2}}]}}]}],
			"system":[{"text":"be"}],"inferenceConfig":{"maxTokens":9,"temperature":0.1,"topP":0.2,"stopSequences":["x"]},"toolConfig":{"tools":[{},{}],"toolChoice":{}}}`,
			`aws.bedrock/chat us.anthropic.claude-v1:0 stream max=9 n=- k=- seed=- t=0.1 p=0.2 msgs=4 tools=2 images=1 [system 2 user 2 assistant 9 user 9] be|Hi|hm|{"a":1}|42|{"b":2}`,
		},
		{
			"invoke: Claude", trace.KindBedrockInvoke, "/model/anthropic.claude-v2/invoke",
			`{"anthropic_version":"bedrock-2023-05-31","max_tokens":20,"top_k":5,"system":"be","messages":[{"role":"user","content":"Hi"},{"role":"user","content":[{"type":"image","source":{"data":"AAAA"}},{"type":"tool_result","content":"42"}]}],"tools":[{}]}`,
			`aws.bedrock/chat anthropic.claude-v2 max=20 n=- k=5 seed=- t=- p=- msgs=3 tools=1 images=1 [system 2 user 2 user 2] be|Hi|42`,
		},
		{
			"invoke: Titan", trace.KindBedrockInvoke, "/model/amazon.titan-text-lite-v1/invoke-with-response-stream",
			`{"inputText":"Hi","textGenerationConfig":{"maxTokenCount":10,"temperature":0,"topP":0.9}}`,
			`aws.bedrock/chat amazon.titan-text-lite-v1 stream max=10 n=- k=- seed=- t=0 p=0.9 msgs=1 tools=0 images=0 [prompt 2] Hi`,
		},
		{
			"invoke: Llama", trace.KindBedrockInvoke, "/model/meta.llama3/invoke", `{"prompt":"Hi","max_gen_len":3}`,
			`aws.bedrock/chat meta.llama3 max=3 n=- k=- seed=- t=- p=- msgs=1 tools=0 images=0 [prompt 2] Hi`,
		},
		{
			"cohere", trace.KindCohereChat, "/v2/chat",
			`{"model":"command-r","stream":true,"messages":[{"role":"system","content":"be"},{"role":"user","content":[{"type":"text","text":"Hi"}]}],"tools":[{}],"p":0.5,"k":3,"seed":1,"max_tokens":5}`,
			"cohere/chat command-r stream max=5 n=- k=3 seed=1 t=- p=0.5 msgs=2 tools=1 images=0 [system 2 user 2] be|Hi",
		},
		{
			"cohere: version 1", trace.KindCohereChat, "/v1/chat",
			`{"message":"now","chat_history":[{"role":"USER","message":"Hi"},{"message":"yo","role":"CHATBOT"}],"preamble":"be"}`,
			"cohere/chat  max=- n=- k=- seed=- t=- p=- msgs=4 tools=0 images=0 [system 2 user 2 assistant 2 user 3] be|Hi|yo|now",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, asked(t, tt.kind, tt.path, tt.body)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBuildServers(t *testing.T) {
	talk := []Message{{trace.RoleSystem, "be"}, {trace.RoleUser, `"Hi"`}, {trace.RoleAssistant, "yo"}}
	for _, tt := range []struct {
		name string
		spec Spec
		want string
	}{
		{
			"tgi",
			Spec{Kind: trace.KindTGIGenerate, Stream: true, IncludeUsage: true, MaxTokens: new(int32(5)), Seed: new(int64(1)), Temperature: new(0.0), TopP: new(1.0)},
			`/generate_stream {"inputs":"be\n\"Hi\"\nyo","parameters":{"max_new_tokens":5,"seed":1,"details":true}}`,
		},
		{
			"tgi: not streamed",
			Spec{Kind: trace.KindTGIGenerate, Temperature: new(0.5), TopP: new(0.5)},
			`/generate {"inputs":"be\n\"Hi\"\nyo","parameters":{"temperature":0.5,"do_sample":true,"top_p":0.5}}`,
		},
		{
			"triton",
			Spec{Kind: trace.KindTritonGenerate, Model: "a b", Stream: true, MaxTokens: new(int32(5)), Seed: new(int64(1)), IgnoreEOS: true},
			`/v2/models/a%20b/generate_stream {"text_input":"be\n\"Hi\"\nyo","stream":true,"max_tokens":5,"random_seed":1,"ignore_eos":true}`,
		},
		{
			"sglang",
			Spec{Kind: trace.KindSGLangGenerate, Stream: true, MaxTokens: new(int32(5)), N: new(int32(2)), IgnoreEOS: true},
			`/generate {"text":"be\n\"Hi\"\nyo","stream":true,"sampling_params":{"max_new_tokens":5,"n":2,"ignore_eos":true}}`,
		},
		{
			"llama.cpp",
			Spec{Kind: trace.KindLlamaCppCompletion, Stream: true, MaxTokens: new(int32(5)), Seed: new(int64(1)), IgnoreEOS: true},
			`/completion {"prompt":"be\n\"Hi\"\nyo","stream":true,"n_predict":5,"seed":1,"ignore_eos":true}`,
		},
		{
			"converse",
			Spec{Kind: trace.KindBedrockConverse, Model: "arn:x/y", Stream: true, MaxTokens: new(int32(5)), TopP: new(0.5)},
			`/model/arn:x%2Fy/converse-stream {"system":[{"text":"be"}],"messages":[{"role":"user","content":[{"text":"\"Hi\""}]},{"role":"assistant","content":[{"text":"yo"}]}],"inferenceConfig":{"maxTokens":5,"topP":0.5}}`,
		},
		{
			"invoke: Claude",
			Spec{Kind: trace.KindBedrockInvoke, Model: "us.anthropic.claude-v1:0", Stream: true},
			`/model/us.anthropic.claude-v1:0/invoke-with-response-stream {"anthropic_version":"bedrock-2023-05-31","max_tokens":4096,"system":[{"type":"text","text":"be"}],"messages":[{"role":"user","content":[{"type":"text","text":"\"Hi\""}]},{"role":"assistant","content":[{"type":"text","text":"yo"}]}]}`,
		},
		{
			"invoke: Titan",
			Spec{Kind: trace.KindBedrockInvoke, Model: "amazon.titan-text-lite-v1", MaxTokens: new(int32(5))},
			`/model/amazon.titan-text-lite-v1/invoke {"inputText":"be\n\"Hi\"\nyo","textGenerationConfig":{"maxTokenCount":5}}`,
		},
		{
			"invoke: Nova",
			Spec{Kind: trace.KindBedrockInvoke, Model: "amazon.nova-micro-v1:0", MaxTokens: new(int32(5))},
			`/model/amazon.nova-micro-v1:0/invoke {"system":[{"text":"be"}],"messages":[{"role":"user","content":[{"text":"\"Hi\""}]},{"role":"assistant","content":[{"text":"yo"}]}],"inferenceConfig":{"maxTokens":5}}`,
		},
		{
			"invoke: Llama",
			Spec{Kind: trace.KindBedrockInvoke, Model: "us.meta.llama3-1-8b-instruct-v1:0", MaxTokens: new(int32(5)), Temperature: new(0.0)},
			`/model/us.meta.llama3-1-8b-instruct-v1:0/invoke {"prompt":"be\n\"Hi\"\nyo","max_gen_len":5,"temperature":0}`,
		},
		{
			"cohere",
			Spec{Kind: trace.KindCohereChat, Model: "command-r", Stream: true, MaxTokens: new(int32(5)), Seed: new(int64(1)), TopP: new(0.5)},
			`/v2/chat {"model":"command-r","messages":[{"role":"system","content":"be"},{"role":"user","content":"\"Hi\""},{"role":"assistant","content":"yo"}],"stream":true,"max_tokens":5,"seed":1,"p":0.5}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.spec.Messages = talk
			path, body, err := Build(tt.spec)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, path+" "+string(body)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := Recognize("POST", path, body); got != tt.spec.Kind {
				t.Errorf("recognized as %s", got)
			}
			var rec trace.Record
			var said trace.Said
			if err := ParseRequest(tt.spec.Kind, path, body, &rec, &said); err != nil {
				t.Fatal(err)
			}
			if tt.spec.Model != "" && said.RequestModel != tt.spec.Model || rec.Stream != tt.spec.Stream {
				t.Errorf("read again: model %q, stream %v", said.RequestModel, rec.Stream)
			}
		})
	}
	for _, kind := range []trace.APIKind{trace.KindTritonGenerate, trace.KindBedrockConverse, trace.KindBedrockInvoke} {
		if _, _, err := Build(Spec{Kind: kind, Messages: talk}); err == nil || !strings.Contains(err.Error(), "model") {
			t.Errorf("%s without a model: %v", kind, err)
		}
	}
}
