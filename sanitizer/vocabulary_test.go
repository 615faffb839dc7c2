package sanitizer

import (
	"strings"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

func TestSpell(t *testing.T) {
	v := newVocabulary(DefaultPolicy())
	for _, tc := range []struct {
		of   parts
		name string
		want bool
	}{
		{v.names, "x-ratelimit-remaining-requests", true},
		{v.names, "maxOutputTokens", true},
		{v.names, "HTTPStatus", true},
		{v.names, "x-b3-traceid", true},
		{v.names, "OpenAI", true},
		{v.names, "x-anna-token", false},
		{v.names, "x-größe", false},
		{v.names, "a-n-n-a", false}, // four letters alone
		{v.names, "correctHorse", false},
		{v.names, strings.Repeat("token", 10), false},
		{v.models, "Qwen2.5-Coder-32B-Instruct-AWQ", true},
		{v.models, "claude-3-5-sonnet-20241022-v2:0", true},
		{v.models, "gemma-3-270m-it-Q4_K_M.gguf", true},
		{v.models, "deepseek-r1-distill-qwen-32b", true},
		{v.models, "mixtral-8x22b-instruct-v0.1", true},
		{v.models, "o3", true},
		{v.models, "acme-llama", false},
		{v.words, "EngineDeadError", true},
		{v.words, "model_overloaded_error", true},
		{v.words, "swordfish_error", false},
	} {
		if got := tc.of.spell(tc.name); got != tc.want {
			t.Errorf("spell(%q) = %v, want %v", tc.name, got, tc.want)
		}
	}
}

// The names of models that are served most stay readable.
func TestKnownModels(t *testing.T) {
	v := newVocabulary(DefaultPolicy())
	for name := range strings.FieldsSeq(`gpt-4o gpt-4o-mini gpt-4.1-nano gpt-5-mini o4-mini gpt-oss-120b text-embedding-3-small
		claude-sonnet-4-20250514 claude-3-7-sonnet-20250219 gemini-2.5-flash gemini-1.5-pro-002 models/gemma-3-27b-it
		meta-llama/Llama-3.3-70B-Instruct-Turbo mistral-tiny mistralai/Mixtral-8x7B-Instruct-v0.1 llama3-8b-8192 llama3
		deepseek-chat deepseek-ai/DeepSeek-V3 Qwen/Qwen3-235B-A22B-Instruct-2507-FP8 moonshotai/Kimi-K2-Instruct zai-org/GLM-4.5
		command-r-plus eu.anthropic.claude-sonnet-4-5-20250929-v1:0 amazon.nova-pro-v1:0 BAAI/bge-m3 nomic-embed-text
		microsoft/Phi-4-mini-instruct HuggingFaceTB/SmolLM2-135M-Instruct tiiuae/falcon-7b-instruct ibm-granite/granite-3.3-8b-instruct
		nvidia/Llama-3_3-Nemotron-Super-49B-v1_5 google/gemma-3n-E4B-it davinci-002 grok-4-fast-reasoning sonar-pro`) {
		if !v.plainModel(name) {
			t.Errorf("%s becomes a pseudonym", name)
		}
	}
}

// wordLike are secrets and identities that look like words: passphrases, and
// names of people, customers and projects.
var wordLike = []string{"correct-horse-battery-staple", "swordfish", "anna-mueller", "AnnaMueller", "opensesame_tiger", "project-bluebird", "acmecorp"}

// TestNoWordLikeSecretIsKept plants a secret that looks like a word wherever
// something was once kept by its form.
func TestNoWordLikeSecretIsKept(t *testing.T) {
	field := func(list func(x *trace.Exchange) *[]trace.Field, name, value string) func(*trace.Exchange, string) {
		return func(x *trace.Exchange, v string) {
			*list(x) = append(*list(x), trace.Field{Name: strings.ReplaceAll(name, "%s", v), Value: strings.ReplaceAll(value, "%s", v)})
		}
	}
	req := func(x *trace.Exchange) *[]trace.Field { return &x.ReqHeader }
	resp := func(x *trace.Exchange) *[]trace.Field { return &x.RespHeader }
	target := func(format string) func(*trace.Exchange, string) {
		return func(x *trace.Exchange, v string) { x.Target = strings.ReplaceAll(format, "%s", v) }
	}
	for _, place := range append([]place{
		{"request header name", field(req, "%s", "1")},
		{"request header name, inside", field(req, "X-%s-Id", "1")},
		{"answer header name", field(resp, "x-%s", "1")},
		{"trailer name", func(x *trace.Exchange, v string) { x.RespTrailer = []trace.Field{{Name: v, Value: "1"}} }},
		{"user agent", field(req, "User-Agent", "%s/1.0")},
		{"user agent version", field(req, "User-Agent", "python/%s")},
		{"media type", field(req, "Content-Type", "application/%s")},
		{"media range", field(req, "Accept", "text/%s, application/vnd.%s+json")},
		{"beta", field(req, "Anthropic-Beta", "%s-2024-07-31")},
		{"metric", field(resp, "Server-Timing", "%s;dur=5, total;dur=7")},
		{"parameter name", target("/v1/models?%s=1&x-%s=2")},
		{"segment", target("/v1/%s/chat/completions")},
		{"method in a path", target("/v1beta/models/gemini:%s")},
		{"model in a path", func(x *trace.Exchange, v string) { x.Said.RequestModel = "/models/" + v + ".gguf" }},
		{"model of a publisher", func(x *trace.Exchange, v string) { x.Said.RequestModel = v + "/llama-3-8b" }},
		{"fine-tune", func(x *trace.Exchange, v string) { x.Said.RequestModel = "ft:" + v + ":x::y" }},
		{"arn", func(x *trace.Exchange, v string) { x.Said.RequestModel = "arn:aws:bedrock:eu-west-1:1:x/" + v }},
		{"finish reason", func(x *trace.Exchange, v string) { x.Said.FinishReasons = []string{"stop", v} }},
	}, saidPlaces()...) {
		for _, value := range wordLike {
			x := chat(1, 0, messages("hello"))
			place.put(x, value)
			text := strings.ToLower(dump(t, one(t, x)))
			for _, form := range []string{value, strings.ReplaceAll(value, "-", "_")} {
				if strings.Contains(text, strings.ToLower(form)) {
					t.Errorf("%q in %s survives: %s", form, place.name, text)
				}
			}
		}
	}
}
