package llmwire

import (
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// llamaCppCompletion is llama.cpp's own /completion, and /infill, whose answers
// are the same. At /completions it answers so too, where other servers speak
// OpenAI's API: a parameter of its own tells. Source: ggml-org/llama.cpp,
// tools/server/README.md.
var llamaCppCompletion = family{
	kind:      trace.KindLlamaCppCompletion,
	operation: "text_completion",
	recognize: llamaCppRecognize,
	request:   llamaCppRequest,
	answer:    llamaCppAnswer,
	build:     buildLlamaCpp,
}

func llamaCppRecognize(path string, body []byte) bool {
	switch {
	case strings.HasSuffix(path, "/completion"):
		return true
	case strings.HasSuffix(path, "/infill"):
		return memberKind(body, "input_prefix") != 0 || memberKind(body, "input_suffix") != 0
	case path == "/completions":
		return llamaCppOwn(body)
	}
	return false
}

// llamaCppOwn reports whether a body has a parameter that no other server of
// completions has.
func llamaCppOwn(body []byte) bool {
	for _, own := range [...]string{"n_predict", "cache_prompt", "id_slot", "samplers"} {
		if memberKind(body, own) != 0 {
			return true
		}
	}
	return false
}

func llamaCppRequest(q *request, r *reader) {
	for key := range r.members() {
		switch string(key) {
		case "prompt", "input_prefix", "input_suffix":
			openAIPrompt(q, r, trace.RolePrompt)
		case "input_extra":
			llamaCppExtra(q, r)
		default:
			if !samplingParam(q, r, key) {
				r.skip()
			}
		}
	}
}

// llamaCppExtra reads the files beside the one to be filled in.
func llamaCppExtra(q *request, r *reader) {
	if !r.open('[') {
		return
	}
	for r.more() {
		for key := range r.members() {
			if string(key) == "text" {
				openAIPrompt(q, r, trace.RolePrompt)
				continue
			}
			r.skip()
		}
	}
}

// llamaCppAnswer reads an event, or an answer: a list of them where several
// prompts were asked for.
func llamaCppAnswer(f *frame, r *reader) {
	if r.kind() != '[' {
		llamaCppObject(f, r)
		return
	}
	r.open('[')
	for r.more() {
		llamaCppObject(f, r)
	}
}

func llamaCppObject(f *frame, r *reader) {
	if !r.open('{') {
		return
	}
	var u usage
	var stop llamaCppStop
	choice, first := int32(0), len(f.pieces)
	for key := range r.names() {
		switch string(key) {
		case "index":
			r.index(&choice)
		case "content":
			f.choices = max(f.choices, 1)
			f.text(r, trace.ChunkText)
		case "model":
			text, _ := r.text()
			f.model = append(f.model[:0], text...)
		case "tokens_predicted":
			r.count(&u.output)
		case "tokens_evaluated":
			r.count(&u.input)
		case "timings":
			openAITimings(f, r)
		case "error":
			f.failure.read(r)
		default:
			if !stop.member(f, r, key) {
				r.skip()
			}
		}
	}
	u.seen = u.input != 0 || u.output != 0
	f.usage.add(&u)
	for i := range f.pieces[first:] {
		f.pieces[first+i].choice = choice
	}
	if f.choices > 0 {
		f.heard = append(f.heard, choice)
	}
	stop.finish(f, choice)
}

// llamaCppStop is the end of a completion: "stop" and "stop_type", before 2024
// "stopped_eos" and its like.
type llamaCppStop struct {
	stop bool
	word span
}

func (s *llamaCppStop) member(f *frame, r *reader, key []byte) bool {
	switch string(key) {
	case "stop":
		s.stop, _ = r.flag()
	case "stop_type":
		if text, _ := r.text(); len(text) <= maxWord {
			s.word = f.save(text)
		}
	case "stopped_eos", "stopped_limit", "stopped_word":
		if yes, _ := r.flag(); yes {
			s.word = f.save(key[len("stopped_"):])
		}
	default:
		return false
	}
	return true
}

func (s *llamaCppStop) finish(f *frame, choice int32) {
	switch {
	case !s.stop:
	case s.word.len() == 0:
		f.done = !f.whole
	default:
		f.finishes = append(f.finishes, finish{choice: choice, reason: s.word})
	}
}

func buildLlamaCpp(dst []byte, s *Spec) (string, []byte, error) {
	o := object{dst}
	o.open("")
	o.text("prompt", joined(s.Messages))
	o.flag("stream", s.Stream)
	o.number("n_predict", s.MaxTokens)
	if s.Seed != nil {
		o.integer("seed", *s.Seed)
	}
	o.float("temperature", s.Temperature)
	o.float("top_p", s.TopP)
	o.flag("ignore_eos", s.IgnoreEOS)
	o.close()
	return "/completion", o.dst, nil
}
