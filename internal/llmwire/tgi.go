package llmwire

import (
	"strconv"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// tgiGenerate is Text Generation Inference: /generate, /generate_stream, and
// / and /invocations, which stream where the body says so. Source:
// huggingface/text-generation-inference, router/src/server.rs.
var tgiGenerate = family{
	kind:      trace.KindTGIGenerate,
	operation: "text_completion",
	recognize: func(path string, body []byte) bool {
		switch {
		case strings.HasSuffix(path, "/generate_stream"):
			return !strings.Contains(path, tritonModels)
		case strings.HasSuffix(path, "/generate"), path == "", strings.HasSuffix(path, "/invocations"):
			return memberKind(body, "inputs") == '"'
		}
		return false
	},
	request:  tgiRequest,
	fromPath: tgiPath,
	answer:   tgiAnswer,
	header:   tgiHeader,
	build:    buildTGI,
}

func tgiPath(path string, dst *trace.Request, _ *trace.Said) {
	dst.Stream = dst.Stream || strings.HasSuffix(path, "/generate_stream")
}

func tgiRequest(q *request, r *reader) {
	for key := range r.members() {
		switch string(key) {
		case "inputs":
			openAIPrompt(q, r, trace.RolePrompt)
		case "parameters":
			sampling(q, r)
		case "stream":
			q.params.Stream, _ = r.flag()
		default:
			r.skip()
		}
	}
}

// tgiAnswer reads one token's event, or an answer in one piece, which / puts
// into a list.
func tgiAnswer(f *frame, r *reader) {
	if r.kind() != '[' {
		tgiObject(f, r, 0)
		return
	}
	r.open('[')
	for i := int32(0); r.more(); i++ {
		tgiObject(f, r, i)
	}
}

func tgiObject(f *frame, r *reader, choice int32) {
	for key := range r.members() {
		switch string(key) {
		case "token":
			tgiToken(f, r)
		case "generated_text":
			// In a stream it repeats the answer and comes with its last token.
			if text, ok := r.text(); ok {
				f.choices = max(f.choices, int(choice)+1)
				f.done = !f.whole
				if f.whole && len(text) > 0 {
					f.pieces = append(f.pieces, piece{kind: trace.ChunkText, choice: choice, text: f.save(text)})
				}
			}
		case "details":
			tgiDetails(f, r, choice)
		case "error":
			f.failure.read(r)
		default:
			if !f.failure.member(r, key) {
				r.skip()
			}
		}
	}
}

// tgiToken reads the token of an event. Special ones, such as the end of the
// text, are generated and not shown.
func tgiToken(f *frame, r *reader) {
	if !r.open('{') {
		return
	}
	f.choices, f.tokens = 1, 1
	var text span
	special := false
	for key := range r.names() {
		switch string(key) {
		case "text":
			b, _ := r.text()
			text = f.save(b)
		case "special":
			special, _ = r.flag()
		default:
			r.skip()
		}
	}
	if !special && text.len() > 0 {
		f.pieces = append(f.pieces, piece{kind: trace.ChunkText, text: text})
	}
}

func tgiDetails(f *frame, r *reader, choice int32) {
	if !r.open('{') {
		return
	}
	for key := range r.names() {
		switch string(key) {
		case "finish_reason":
			f.finish(r, choice)
		case "generated_tokens":
			r.count(&f.usage.output)
		case "input_length":
			r.count(&f.usage.input)
		default:
			r.skip()
		}
	}
	f.usage.seen = f.usage.input != 0 || f.usage.output != 0
}

// tgiHeader reads the header of an answer that was not streamed; times are in
// milliseconds.
func tgiHeader(field func(name string) string, h *header) {
	h.usage.input, h.usage.output = headerCount(field("x-prompt-tokens")), headerCount(field("x-generated-tokens"))
	h.usage.seen = h.usage.input != 0 || h.usage.output != 0
	h.times.queue, h.times.total = headerMs(field("x-queue-time")), headerMs(field("x-total-time"))
}

func headerCount(value string) count {
	n, err := strconv.ParseInt(value, 10, 62)
	if err != nil || n < 0 {
		return 0
	}
	return count(n) + 1
}

func headerMs(value string) count {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return 0
	}
	return micros(n, 1000)
}

// buildTGI leaves out a temperature of 0 and a top_p of 1, which TGI refuses:
// without them it is greedy, and takes all.
func buildTGI(dst []byte, s *Spec) (string, []byte, error) {
	o := object{dst}
	o.open("")
	o.text("inputs", joined(s.Messages))
	o.open("parameters")
	o.number("max_new_tokens", s.MaxTokens)
	if s.Temperature != nil && *s.Temperature > 0 {
		o.float("temperature", s.Temperature)
		o.flag("do_sample", true)
	}
	if s.TopP != nil && *s.TopP > 0 && *s.TopP < 1 {
		o.float("top_p", s.TopP)
	}
	if s.Seed != nil && *s.Seed >= 0 {
		o.integer("seed", *s.Seed)
	}
	o.flag("details", s.IncludeUsage)
	o.close()
	o.close()
	if s.Stream {
		return "/generate_stream", o.dst, nil
	}
	return "/generate", o.dst, nil
}
