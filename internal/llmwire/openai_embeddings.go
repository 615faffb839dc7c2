package llmwire

import (
	"strings"

	"github.com/lambdac/lambdac/trace"
)

var openAIEmbeddings = family{
	kind:      trace.KindOpenAIEmbeddings,
	operation: "embeddings",
	// Ollama has a path of this name too, with a prompt instead of an input.
	recognize: func(path string, body []byte) bool {
		return (strings.HasSuffix(path, "/embeddings") || path == "embeddings") && openAIShape(body, "input")
	},
	request: embeddingsRequest,
	answer:  openAIAnswer,
	build:   buildEmbeddings,
}

func embeddingsRequest(q *request, r *reader) {
	for key := range r.members() {
		switch {
		case openAIParam(q, r, key):
		case string(key) == "input":
			openAIPrompt(q, r, trace.RoleEmbeddingInput)
		default:
			r.skip()
		}
	}
}
