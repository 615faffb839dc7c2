package llmwire

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// gemini is Google's generateContent, of the Gemini API and of Vertex AI.
// Source: ai.google.dev/api/generate-content. JSON names may come in either
// form that protocol buffers allow, camel or snake.
var gemini = family{
	kind:      trace.KindGemini,
	operation: "generate_content",
	recognize: func(path string, _ []byte) bool {
		_, method, ok := modelMethod(path)
		return ok && (method == "generateContent" || method == geminiStream)
	},
	request:  geminiRequest,
	answer:   geminiAnswer,
	fromPath: geminiPath,
	build:    buildGemini,
}

const geminiStream = "streamGenerateContent"

// modelMethod cuts …/{model}:{method}.
func modelMethod(path string) (model, method string, ok bool) {
	last := path[strings.LastIndexByte(path, '/')+1:]
	model, method, ok = strings.Cut(last, ":")
	if i := strings.LastIndexByte(method, ':'); i >= 0 { // a colon in the model's name
		model, method = model+":"+method[:i], method[i+1:]
	}
	return unescaped(model), method, ok && model != ""
}

// geminiStreams reports whether the answer to a path comes in pieces.
func geminiStreams(path string) bool {
	_, method, _ := modelMethod(strings.TrimSuffix(path, "/"))
	return method == geminiStream
}

// geminiPath takes the model, and the provider where it is Vertex AI: other
// servers speak this API at the path of the Gemini API.
func geminiPath(path string, dst *trace.Request, said *trace.Said) {
	said.RequestModel, _, _ = modelMethod(path)
	dst.Stream = geminiStreams(path)
	if strings.Contains(path, "/publishers/google/") {
		said.Provider = "gcp.vertex_ai"
	}
}

// geminiRequest reads a request. The system instruction stands before the
// contents, wherever it stands in the body.
func geminiRequest(q *request, r *reader) {
	var system, contents []byte
	for key := range r.members() {
		switch string(key) {
		case "systemInstruction", "system_instruction":
			system = r.raw()
		case "contents":
			contents = r.raw()
		case "tools":
			geminiTools(q, r)
		case "generationConfig", "generation_config":
			geminiConfig(q, r)
		default:
			r.skip()
		}
	}
	if r.err != nil {
		return
	}
	if first(system) == '{' {
		geminiContent(q, system, trace.RoleSystem)
	}
	switch first(contents) {
	case '{':
		q.known = true
		geminiContent(q, contents, trace.RoleUser)
	case '[':
		q.known = true
		var s reader
		s.reset(contents)
		s.open('[')
		for s.more() {
			geminiContent(q, s.raw(), trace.RoleUser)
		}
	}
}

// geminiTools counts each function as a tool, and a tool without functions.
func geminiTools(q *request, r *reader) {
	if !r.open('[') {
		return
	}
	for r.more() {
		n := int32(1)
		if !r.open('{') {
			continue
		}
		for key := range r.names() {
			switch string(key) {
			case "functionDeclarations", "function_declarations":
				n = r.length()
			default:
				r.skip()
			}
		}
		q.tools += n
	}
}

func geminiConfig(q *request, r *reader) {
	p := &q.params
	for key := range r.members() {
		switch string(key) {
		case "maxOutputTokens", "max_output_tokens":
			p.MaxTokens = r.int32At(0)
		case "candidateCount", "candidate_count":
			p.N = r.int32At(1)
		case "topP", "top_p":
			p.TopP = r.float64p()
		case "topK", "top_k":
			p.TopK = r.int32At(-1)
		case "presencePenalty", "presence_penalty":
			p.PresencePenalty = r.float64p()
		case "frequencyPenalty", "frequency_penalty":
			p.FrequencyPenalty = r.float64p()
		case "temperature":
			p.Temperature = r.float64p()
		case "seed":
			p.Seed = r.int64p()
		case "responseMimeType", "response_mime_type":
			geminiFormat(q, r)
		case "thinkingConfig", "thinking_config":
			geminiThinking(q, r)
		default:
			r.skip()
		}
	}
}

func geminiFormat(q *request, r *reader) {
	switch r.str() {
	case "text/plain":
		q.said.OutputType = "text"
	case "application/json":
		q.said.OutputType, q.said.JSONAsked = "json", true
	}
}

func geminiThinking(q *request, r *reader) {
	for key := range r.members() {
		switch string(key) {
		case "thinkingLevel", "thinking_level":
			q.said.ReasoningLevel = r.str()
		default:
			r.skip()
		}
	}
}

// geminiContent reads one content: {"role": …, "parts": […]}. A content of
// answers of functions is the tool's.
func geminiContent(q *request, raw []byte, role trace.Role) {
	var r reader
	r.reset(raw)
	var parts []byte
	if !r.open('{') {
		q.addSizeless()
		return
	}
	for key := range r.names() {
		switch string(key) {
		case "role":
			if text, _ := r.text(); role != trace.RoleSystem && len(text) > 0 {
				role = geminiRole(text)
			}
		case "parts":
			parts = r.raw()
		default:
			r.skip()
		}
	}
	n := 0
	r.reset(parts)
	switch first(parts) {
	case '{':
		n = geminiRequestPart(q, &r, role)
	case '[':
		r.open('[')
		for r.more() {
			n += geminiRequestPart(q, &r, role)
		}
	}
	q.add(role, n)
}

func geminiRole(name []byte) trace.Role {
	if string(name) == "model" {
		return trace.RoleAssistant
	}
	return chatRole(name)
}

// geminiRequestPart reads one part and returns the bytes of its text: a text,
// the arguments of a call, the response to one.
func geminiRequestPart(q *request, r *reader, role trace.Role) (n int) {
	if !r.open('{') {
		return 0
	}
	for key := range r.names() {
		switch string(key) {
		case "text":
			text, _ := r.text()
			n += q.say(role, text)
		case "functionCall", "function_call", "functionResponse", "function_response":
			n += geminiFunction(q, r, role)
		case "inlineData", "inline_data", "fileData", "file_data":
			geminiMedia(q, r)
		default:
			r.skip()
		}
	}
	return n
}

func geminiFunction(q *request, r *reader, role trace.Role) (n int) {
	if !r.open('{') {
		return 0
	}
	for key := range r.names() {
		switch string(key) {
		case "args", "response":
			n += q.say(role, r.raw())
		default:
			r.skip()
		}
	}
	return n
}

// geminiMedia counts an image. Of a sound the length is not said.
func geminiMedia(q *request, r *reader) {
	for key := range r.members() {
		switch string(key) {
		case "mimeType", "mime_type":
			if strings.HasPrefix(r.str(), "image/") {
				q.images++
			}
		default:
			r.skip()
		}
	}
}

// buildGemini puts leading system messages into the system instruction; a later
// one goes as the user's.
func buildGemini(dst []byte, s *Spec) (string, []byte, error) {
	o := object{dst: dst}
	system, rest := s.splitSystem()
	o.open("")
	if len(system) > 0 {
		o.open("systemInstruction")
		geminiParts(&o, joined(system))
	}
	o.list("contents")
	for _, m := range rest {
		o.open("")
		o.text("role", roleName(m.Role, "model"))
		geminiParts(&o, m.Text)
	}
	o.end()
	o.open("generationConfig")
	o.number("maxOutputTokens", s.MaxTokens)
	o.number("candidateCount", s.N)
	if s.Seed != nil {
		o.integer("seed", *s.Seed)
	}
	o.float("temperature", s.Temperature)
	o.float("topP", s.TopP)
	o.close()
	o.close()
	if s.Model == "" {
		return "", nil, fmt.Errorf("build %s request: a model is needed, since it stands in the path", s.Kind)
	}
	path := "/v1beta/models/" + url.PathEscape(strings.TrimPrefix(s.Model, "models/"))
	if s.Stream {
		return path + ":" + geminiStream + "?alt=sse", o.dst, nil
	}
	return path + ":generateContent", o.dst, nil
}

// geminiParts writes a text as the parts of an object, and ends it.
func geminiParts(o *object, text string) {
	o.list("parts")
	o.open("")
	o.text("text", text)
	o.close()
	o.end()
	o.close()
}
