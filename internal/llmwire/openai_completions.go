package llmwire

import (
	"strings"

	"github.com/lambdac/lambdac/trace"
)

var openAICompletions = family{
	kind:      trace.KindOpenAICompletions,
	operation: "text_completion",
	recognize: func(path string, body []byte) bool {
		return (strings.HasSuffix(path, "/completions") || path == "completions") &&
			!strings.HasSuffix(path, "chat/completions") && openAIShape(body, "prompt")
	},
	request: completionsRequest,
	answer:  openAIAnswer,
	build:   buildCompletions,
}

func completionsRequest(q *request, r *reader) {
	for key := range r.members() {
		switch {
		case openAIParam(q, r, key):
		case string(key) == "prompt":
			openAIPrompt(q, r, trace.RolePrompt)
		default:
			r.skip()
		}
	}
}
