// Package llmwire knows the API families of LLM services on the wire: it
// recognises a request, reads its numbers and texts, follows its answer event
// by event, and builds requests. It does no I/O.
//
// Each family is one file that defines one family value; the table families
// lists them. A family that is not there is KindOther: kept as opaque HTTP.
package llmwire

import (
	"fmt"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// family is all that the package knows of one API family.
type family struct {
	kind trace.APIKind
	// operation is gen_ai.operation.name.
	operation string
	// recognize tells whether a POST is of the family, by the end of its path
	// and, where the path is shared, by the shape of its body. A body that
	// cannot be read leaves it to the path.
	recognize func(path string, body []byte) bool
	// request reads the members of the request's object into q.
	request func(q *request, r *reader)
	// answer reads the members of one event's object, or of a whole answer's,
	// into f.
	answer func(f *frame, r *reader)
	// fromPath takes what the path says of a request; nil = nothing.
	fromPath func(path string, dst *trace.Request, said *trace.Said)
	// header takes what an answer's header says; nil = nothing.
	header func(field func(name string) string, h *header)
	// repeats says whether events repeat the text so far.
	repeats repeating
	// unmarked: a stream has neither an end mark nor finish reasons.
	unmarked bool
	// build returns the path and appends the body of a request.
	build func(dst []byte, s *Spec) (path string, body []byte, err error)
}

// families lists the families in order of recognition.
var families = [...]*family{
	&llamaCppCompletion, &openAIChat, &openAICompletions, &openAIEmbeddings,
	&openAIResponses, &anthropicMessages, &gemini, &ollamaChat, &ollamaGenerate,
	&tgiGenerate, &sglangGenerate, &tritonGenerate,
	&bedrockConverse, &bedrockInvoke, &cohereChat,
}

// find returns the family of a kind, nil for KindOther and for kinds without
// a family here.
func find(kind trace.APIKind) *family {
	for _, f := range families {
		if f.kind == kind {
			return f
		}
	}
	return nil
}

// Recognize returns the API family of a request by its path (without query)
// and the shape of its body, never by host. Only a POST asks for inference:
// any other method is KindOther, and so is a family that is not known here.
func Recognize(method, path string, reqBody []byte) trace.APIKind {
	if method != "POST" {
		return trace.KindOther
	}
	path = strings.TrimSuffix(path, "/")
	for _, f := range families {
		if f.recognize(path, reqBody) {
			return f.kind
		}
	}
	return trace.KindOther
}

// ParseRequest reads a decoded request body into rec.Request (numbers only)
// and said (words). Wrong types and numbers out of range are left nil.
// message_count and its kin stay nil unless the prompt was understood, and
// Messages stays nil where the sizes are unknown (token ids). On an error,
// always a [*SyntaxError], only what the path says is filled: operation, and
// provider and model of an Azure deployment.
func ParseRequest(kind trace.APIKind, path string, body []byte, rec *trace.Record, said *trace.Said) error {
	f := find(kind)
	if f == nil {
		return nil
	}
	q := request{}
	err := q.read(f, body)
	if err == nil {
		q.fill(rec, said)
	}
	said.Operation = f.operation
	sayDeployment(path, said)
	if f.fromPath != nil {
		f.fromPath(path, &rec.Request, said)
	}
	if err != nil {
		return fmt.Errorf("read %s request: %w", kind, err)
	}
	return nil
}

// VisitText calls visit with the content texts of a request, JSON-unescaped,
// in the order and with the sizes that ParseRequest puts into Messages; a
// message of several parts is visited part by part. What counts as content:
// content strings and text parts, the arguments of tool calls in assistant
// messages, completion prompts, embedding inputs. Tool definitions, images and
// token ids do not.
//
// The text is valid until visit returns. Where the body breaks off, the texts
// before that have been visited when the error is returned.
func VisitText(kind trace.APIKind, reqBody []byte, visit func(role trace.Role, text []byte)) error {
	f := find(kind)
	if f == nil {
		return nil
	}
	q := request{visit: visit}
	if err := q.read(f, reqBody); err != nil {
		return fmt.Errorf("visit %s request: %w", kind, err)
	}
	return nil
}
