package llmwire

import (
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// What the three OpenAI families share: paths, request parameters, prompts
// and inputs. Source: the OpenAI API reference (chat, completions,
// embeddings); vLLM, llama.cpp, SGLang, Groq, Azure OpenAI and OpenRouter
// speak dialects of it.

// openAIOwn are the members by which the three are told apart.
var openAIOwn = [...]string{"messages", "prompt", "input"}

// openAIShape reports whether a body has the member own. A body that cannot
// be read, or that has none of the three, may still be of the family: the
// server will refuse it.
func openAIShape(body []byte, own string) bool {
	var r reader
	r.reset(body)
	other := false
	if !r.open('{') {
		return true
	}
	for key := range r.names() {
		if string(key) == own {
			return true
		}
		for _, name := range openAIOwn {
			other = other || string(key) == name
		}
		r.skip()
	}
	return !other || r.err != nil
}

// sayDeployment takes the model from an Azure path where the body has none,
// and the provider, which nothing but that path tells.
func sayDeployment(path string, said *trace.Said) {
	_, rest, ok := strings.Cut(path, "/openai/deployments/")
	if !ok {
		return
	}
	said.Provider = "azure.ai.openai"
	if deployment, _, _ := strings.Cut(rest, "/"); said.RequestModel == "" {
		said.RequestModel = deployment
	}
}

// openAIParam reads a member that the families share and reports whether it
// was one.
func openAIParam(q *request, r *reader, key []byte) bool {
	p := &q.params
	switch string(key) {
	case "model":
		q.said.RequestModel = r.str()
	case "stream":
		p.Stream, _ = r.flag()
	case "max_tokens":
		if n := r.int32At(0); p.MaxTokens == nil {
			p.MaxTokens = n
		}
	case "max_completion_tokens":
		if n := r.int32At(0); n != nil {
			p.MaxTokens = n
		}
	case "n":
		p.N = r.int32At(1)
	case "seed":
		p.Seed = r.int64p()
	case "top_k":
		p.TopK = r.int32At(-1)
	case "temperature":
		p.Temperature = r.float64p()
	case "top_p":
		p.TopP = r.float64p()
	case "frequency_penalty":
		p.FrequencyPenalty = r.float64p()
	case "presence_penalty":
		p.PresencePenalty = r.float64p()
	case "service_tier":
		q.said.ServiceTier = r.str()
	case "response_format":
		openAIFormat(q, r)
	default:
		return false
	}
	return true
}

// openAIFormat reads response_format: {"type": "text" | "json_object" |
// "json_schema" | …}.
func openAIFormat(q *request, r *reader) {
	for key := range r.members() {
		if string(key) != "type" {
			r.skip()
			continue
		}
		switch r.str() {
		case "text":
			q.said.OutputType = "text"
		case "json_object", "json_schema":
			q.said.OutputType, q.said.JSONAsked = "json", true
		}
	}
}

// openAIPrompt reads a prompt or an input: a string, a list of strings, a list
// of token ids, or a list of such lists. Token ids count as messages of
// unknown size.
func openAIPrompt(q *request, r *reader, role trace.Role) {
	switch r.kind() {
	case '"':
		q.known = true
		text, _ := r.text()
		q.add(role, q.say(role, text))
	case '[':
		q.known = true
		openAIPromptList(q, r, role)
	default:
		r.skip()
	}
}

func openAIPromptList(q *request, r *reader, role trace.Role) {
	ids := false // token ids of one prompt stand in the list itself
	r.open('[')
	for r.more() {
		switch r.kind() {
		case '"':
			text, _ := r.text()
			q.add(role, q.say(role, text))
		case '0':
			r.skip()
			if !ids {
				q.addSizeless()
			}
			ids = true
		default:
			r.skip()
			q.addSizeless()
		}
	}
}
