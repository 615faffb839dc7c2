package llmwire

import (
	"strings"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

var openingRows = []struct {
	name     string
	kind     trace.APIKind
	declared Framing
	body     string
	want     Framing
}{
	{"a stream without a type", trace.KindOpenAIChat, FramingJSON, "data: {}\n\n", FramingSSE},
	{"a stream as text", trace.KindOpenAIChat, FramingOpaque, "\xef\xbb\xbfevent: ping\ndata: {}\n\n", FramingSSE},
	{"a stream as lines", trace.KindOpenAIChat, FramingLines, "data:{}\n\n", FramingSSE},
	{"a stream of Gemini as JSON", trace.KindGemini, FramingArray, "data: {}\r\n\r\n", FramingSSE},
	{"a comment first", trace.KindOpenAIChat, FramingJSON, "\n\n: waiting\n", FramingSSE},
	{"an identifier first", trace.KindOpenAIChat, FramingOpaque, "id: 1\ndata: {}\n\n", FramingSSE},
	{"JSON as a stream", trace.KindOpenAIChat, FramingSSE, " {\"error\":{}}", FramingJSON},
	{"JSON as bytes", trace.KindOpenAIChat, FramingOpaque, "[1]", FramingJSON},
	{"an array of Gemini", trace.KindGemini, FramingArray, "[{}\n,{}]", FramingArray},
	{"lines", trace.KindOllamaChat, FramingLines, "{}\n{}\n", FramingLines},
	{"lines as JSON", trace.KindOllamaChat, FramingJSON, "{\"message\":{},\"done\":false}\r\n{\"done\":true}\n", FramingLines},
	{"lines as text", trace.KindOllamaGenerate, FramingOpaque, "\n{\"response\":\"a\",\"done\": false}\n", FramingLines},
	{"a whole answer of Ollama", trace.KindOllamaChat, FramingJSON, "{\"message\":{},\"done\":true}\n", FramingJSON},
	{"a whole answer of Ollama on lines", trace.KindOllamaChat, FramingJSON, "{\n\"message\":{},\n\"done\":true}\n", FramingJSON},
	{"an error of Ollama", trace.KindOllamaChat, FramingLines, "{\"error\":\"x\"}\n", FramingLines},
	{"a long first line of Ollama", trace.KindOllamaChat, FramingJSON, "{\"message\":\"" + strings.Repeat("x", 2100) + "\",\"done\":false}\n{}", FramingJSON},
	{"lines of another family as JSON", trace.KindOpenAIChat, FramingJSON, "{\"done\":false}\n{}\n", FramingJSON},
	{"a stream", trace.KindOpenAIChat, FramingSSE, "data: {}\n\n", FramingSSE},
	{"blanks for long, then JSON", trace.KindOpenAIChat, FramingJSON, strings.Repeat("\n", 500) + "{}", FramingJSON},
	{"prose that begins like a field", trace.KindOpenAIChat, FramingOpaque, "database is down", FramingOpaque},
	{"prose", trace.KindOpenAIChat, FramingOpaque, "<html>", FramingOpaque},
	{"half a field", trace.KindOpenAIChat, FramingOpaque, "dat", FramingOpaque},
	{"half a mark", trace.KindOpenAIChat, FramingJSON, "\xef\xbb", FramingJSON},
	{"a family that is not known", trace.KindOther, FramingOpaque, "data: {}\n\n", FramingOpaque},
	{"binary messages", trace.KindBedrockConverse, FramingEventStream, "{", FramingEventStream},
	{"nothing", trace.KindOpenAIChat, FramingSSE, "", FramingSSE},
}

// TestOpening: however the body is cut, the framing is the same and no byte is
// lost.
func TestOpening(t *testing.T) {
	for _, row := range openingRows {
		t.Run(row.name, func(t *testing.T) {
			for size := 1; size <= len(row.body)+1; size++ {
				o := NewOpening(row.kind, row.declared)
				var got []byte
				for rest := []byte(row.body); len(rest) > 0; {
					n := min(size, len(rest))
					got = append(got, o.Feed(rest[:n:n])...)
					rest = rest[n:]
				}
				got = append(got, o.Rest()...)
				if string(got) != row.body || o.Framing() != row.want {
					t.Fatalf("pieces of %d: got %q as %d, want %q as %d", size, got, o.Framing(), row.body, row.want)
				}
			}
		})
	}
}
