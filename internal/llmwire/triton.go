package llmwire

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// tritonModels stands before the model in the paths of Triton.
const tritonModels = "/v2/models/"

// tritonGenerate is Triton's generate extension. It counts no tokens, and a
// stream has no end mark. Events hold the new text or, with accumulate_tokens
// of TensorRT-LLM's models, all so far. Sources: triton-inference-server/server,
// docs/protocol/extension_generate.md; triton-inference-server/tensorrtllm_backend,
// issue 520.
var tritonGenerate = family{
	kind:      trace.KindTritonGenerate,
	operation: "text_completion",
	recognize: func(path string, _ []byte) bool {
		return strings.Contains(path, tritonModels) &&
			(strings.HasSuffix(path, "/generate") || strings.HasSuffix(path, "/generate_stream"))
	},
	request:  tritonRequest,
	fromPath: tritonPath,
	answer:   tritonAnswer,
	unmarked: true,
	repeats:  repeatOpen,
	build:    buildTriton,
}

func tritonPath(path string, dst *trace.Request, said *trace.Said) {
	_, rest, _ := strings.Cut(path, tritonModels)
	model, _, _ := strings.Cut(rest, "/")
	said.RequestModel = unescaped(model)
	dst.Stream = strings.HasSuffix(path, "/generate_stream")
}

// unescaped returns a part of a path as it is meant; one that breaks the
// format as it stands.
func unescaped(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}

func tritonRequest(q *request, r *reader) {
	for key := range r.members() {
		switch string(key) {
		case "text_input":
			openAIPrompt(q, r, trace.RolePrompt)
		case "parameters":
			sampling(q, r)
		case "sampling_parameters": // JSON in a string (vLLM's backend)
			if raw := r.raw(); len(raw) > 0 && raw[0] == '"' {
				q.sub.reset(append([]byte(nil), q.sub.unquote(raw)...))
				sampling(q, &q.sub)
			}
		default:
			if !samplingParam(q, r, key) {
				r.skip()
			}
		}
	}
}

func tritonAnswer(f *frame, r *reader) {
	for key := range r.members() {
		switch string(key) {
		case "model_name":
			text, _ := r.text()
			f.model = append(f.model[:0], text...)
		case "text_output":
			f.choices = 1
			f.text(r, trace.ChunkText)
		case "error":
			f.failure.read(r)
		default:
			r.skip()
		}
	}
}

func buildTriton(dst []byte, s *Spec) (string, []byte, error) {
	if s.Model == "" {
		return "", nil, fmt.Errorf("build %s request: a model is needed, since it stands in the path", s.Kind)
	}
	o := object{dst}
	o.open("")
	o.text("text_input", joined(s.Messages))
	o.flag("stream", s.Stream)
	o.number("max_tokens", s.MaxTokens)
	if s.Seed != nil {
		o.integer("random_seed", *s.Seed)
	}
	o.float("temperature", s.Temperature)
	o.float("top_p", s.TopP)
	o.flag("ignore_eos", s.IgnoreEOS)
	o.close()
	path := tritonModels + url.PathEscape(s.Model) + "/generate"
	if s.Stream {
		path += "_stream"
	}
	return path, o.dst, nil
}
