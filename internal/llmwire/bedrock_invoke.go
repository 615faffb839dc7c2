package llmwire

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/lambdac/lambdac/trace"
)

// bedrockInvoke is InvokeModel and InvokeModelWithResponseStream: bodies are
// the vendor's own, in a stream each in base64 in an event "chunk".
var bedrockInvoke = family{
	kind:      trace.KindBedrockInvoke,
	operation: "chat",
	recognize: func(path string, _ []byte) bool {
		_, operation := bedrockOperation(path)
		return operation == "invoke" || operation == "invoke-with-response-stream"
	},
	request:  bedrockRequest,
	fromPath: bedrockPath,
	answer:   invokeAnswer,
	header:   bedrockHeader,
	build:    buildInvoke,
}

func invokeAnswer(f *frame, r *reader) {
	if f.whole {
		vendorAnswer(f, r, r.raw())
		return
	}
	for key := range r.members() {
		switch string(key) {
		case "bytes":
			invokeChunk(f, r)
		case "message": // of an exception
			f.failure.seen = true
			r.skip()
		default:
			r.skip()
		}
	}
}

// invokeChunk reads an event in base64. One that is not is no event.
func invokeChunk(f *frame, r *reader) {
	text, _ := r.text()
	size := base64.StdEncoding.DecodedLen(len(text))
	f.scratch = slices.Grow(f.scratch[:0], size)[:size]
	n, err := base64.StdEncoding.Decode(f.scratch, text)
	if err == nil {
		vendorAnswer(f, r, f.scratch[:n])
	}
}

// vendorAnswer reads an event or an answer of a vendor's model, told by its
// members. An error in it is the outer text's too.
func vendorAnswer(f *frame, outer *reader, data []byte) {
	if outer.err != nil {
		return
	}
	if f.inner == nil {
		f.inner = &reader{}
	}
	read := f.form
	if read == nil || bytes.Contains(data, []byte(metricsMember)) {
		read = vendorForm(f, data)
	}
	f.inner.reset(data)
	read(f, f.inner)
	if f.inner.end() != nil {
		outer.err = f.inner.err
	}
}

// metricsMember is what Bedrock adds to the last event of a stream.
const metricsMember = "amazon-bedrock-invocationMetrics"

// vendorForm finds who made an answer, and takes what Bedrock adds. All events
// of a stream are of one form: it is looked for once.
func vendorForm(f *frame, data []byte) func(*frame, *reader) {
	r := f.inner
	r.reset(data)
	read := otherModel
	if !r.open('{') {
		return read
	}
	for key := range r.names() {
		switch string(key) {
		case "type":
			read, f.form = anthropicAnswer, anthropicAnswer
			r.skip()
		case "choices":
			read, f.form = openAIAnswer, openAIAnswer
			r.skip()
		case "contentBlockDelta", "messageStart", "contentBlockStart", "contentBlockStop", "messageStop", "metadata", "output":
			read, f.form = converseAnswer, converseAnswer
			r.skip()
		case metricsMember:
			invokeMetrics(f, r)
		default:
			r.skip()
		}
	}
	return read
}

// invokeMetrics reads what the last chunk of a stream says; times in ms.
func invokeMetrics(f *frame, r *reader) {
	if !r.open('{') {
		return
	}
	u := &f.usage
	for key := range r.names() {
		switch string(key) {
		case "inputTokenCount":
			r.count(&u.input)
		case "outputTokenCount":
			r.count(&u.output)
		case "cacheReadInputTokenCount":
			r.count(&u.cached)
		case "cacheWriteInputTokenCount":
			r.count(&u.written)
		case "firstByteLatency":
			r.duration(&f.times.ttft, 1000)
		case "invocationLatency":
			r.duration(&f.times.total, 1000)
		default:
			r.skip()
		}
	}
	u.seen, u.apart = u.input != 0 || u.output != 0, true
}

// otherModel reads the forms of Titan (outputText, results), Llama
// (generation) and Mistral (outputs).
func otherModel(f *frame, r *reader) {
	if !r.open('{') {
		return
	}
	var in, out count
	for key := range r.names() {
		switch string(key) {
		case "results", "outputs":
			otherResults(f, r, &out)
		case "inputTextTokenCount", "prompt_token_count":
			r.count(&in)
		case "totalOutputTextTokenCount", "generation_token_count":
			r.count(&out)
		default:
			if !otherMember(f, r, key) {
				r.skip()
			}
		}
	}
	// Bedrock's own counts are there already, if it gave any.
	if u := &f.usage; !u.seen {
		u.input, u.output = in, out
		u.seen = in != 0 || out != 0
	}
}

// otherMember reads a text or the reason of its end.
func otherMember(f *frame, r *reader, key []byte) bool {
	switch string(key) {
	case "outputText", "generation", "text", "completion":
		f.choices = 1
		f.text(r, trace.ChunkText)
	case "completionReason", "stop_reason":
		f.finish(r, 0)
	case "message":
		f.failure.seen = r.kind() == '"'
		r.skip()
	default:
		return false
	}
	return true
}

func otherResults(f *frame, r *reader, out *count) {
	if !r.open('[') {
		return
	}
	for r.more() {
		for key := range r.members() {
			switch {
			case string(key) == "tokenCount":
				r.count(out)
			case !otherMember(f, r, key):
				r.skip()
			}
		}
	}
}

// maxTokensDefault is sent where a vendor insists on a limit and none is set.
const maxTokensDefault = 4096

func buildInvoke(dst []byte, s *Spec) (string, []byte, error) {
	if s.Model == "" {
		return "", nil, fmt.Errorf("build %s request: a model is needed, since it stands in the path", s.Kind)
	}
	o := object{dst}
	o.open("")
	switch vendor(s.Model) {
	case "amazon.titan":
		o.text("inputText", joined(s.Messages))
		o.open("textGenerationConfig")
		o.number("maxTokenCount", s.MaxTokens)
		o.float("temperature", s.Temperature)
		o.float("topP", s.TopP)
		o.close()
	case "amazon.nova":
		conversation(&o, s, false)
		o.open("inferenceConfig")
		o.number("maxTokens", s.MaxTokens)
		o.float("temperature", s.Temperature)
		o.float("topP", s.TopP)
		o.close()
	case "meta":
		o.text("prompt", joined(s.Messages))
		o.number("max_gen_len", s.MaxTokens)
		buildInvokeSampling(&o, s)
	case "mistral":
		o.text("prompt", joined(s.Messages))
		o.number("max_tokens", s.MaxTokens)
		buildInvokeSampling(&o, s)
	default:
		buildInvokeClaude(&o, s)
	}
	o.close()
	operation := "invoke"
	if s.Stream {
		operation = "invoke-with-response-stream"
	}
	return bedrockPathOf(s.Model, operation), o.dst, nil
}

func buildInvokeSampling(o *object, s *Spec) {
	o.float("temperature", s.Temperature)
	o.float("top_p", s.TopP)
}

func buildInvokeClaude(o *object, s *Spec) {
	o.text("anthropic_version", "bedrock-2023-05-31")
	limit := new(int32(maxTokensDefault))
	if s.MaxTokens != nil {
		limit = s.MaxTokens
	}
	o.number("max_tokens", limit)
	buildInvokeSampling(o, s)
	conversation(o, s, true)
}
