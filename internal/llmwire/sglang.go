package llmwire

import (
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// sglangGenerate is SGLang's own /generate. Its path is TGI's too; the bodies
// differ. Every event repeats the text so far. Source: sgl-project/sglang,
// docs/basic_usage/native_api and python/sglang/srt/managers/io_struct.py.
var sglangGenerate = family{
	kind:      trace.KindSGLangGenerate,
	operation: "text_completion",
	recognize: func(path string, body []byte) bool {
		if !strings.HasSuffix(path, "/generate") || strings.Contains(path, tritonModels) {
			return false
		}
		for _, own := range [...]string{"text", "input_ids", "sampling_params", "input_embeds"} {
			if memberKind(body, own) != 0 {
				return true
			}
		}
		return false
	},
	request: sglangRequest,
	answer:  sglangAnswer,
	repeats: repeatAlways,
	build:   buildSGLang,
}

func sglangRequest(q *request, r *reader) {
	for key := range r.members() {
		switch string(key) {
		case "text", "input_ids":
			openAIPrompt(q, r, trace.RolePrompt)
		case "sampling_params":
			sampling(q, r)
		case "stream":
			q.params.Stream, _ = r.flag()
		case "image_data":
			q.images += images(r)
		default:
			r.skip()
		}
	}
}

// images counts a list of images, or one.
func images(r *reader) int32 {
	switch r.kind() {
	case '[':
		return r.length()
	case '"':
		r.skip()
		return 1
	}
	r.skip()
	return 0
}

// sglangAnswer reads an event, or an answer: a list of them where several
// prompts or samples were asked for.
func sglangAnswer(f *frame, r *reader) {
	if r.kind() != '[' {
		sglangObject(f, r, 0)
		return
	}
	r.open('[')
	for i := int32(0); r.more(); i++ {
		sglangObject(f, r, i)
	}
}

func sglangObject(f *frame, r *reader, choice int32) {
	if !r.open('{') {
		return
	}
	first, finishes := len(f.pieces), len(f.finishes)
	for key := range r.names() {
		switch string(key) {
		case "text":
			f.choices = max(f.choices, 1)
			f.text(r, trace.ChunkText)
		case "index":
			r.index(&choice)
		case "meta_info":
			sglangMeta(f, r)
		case "error":
			f.failure.read(r)
		default:
			r.skip()
		}
	}
	f.choices = max(f.choices, 1)
	f.heard = append(f.heard, choice)
	for i := range f.pieces[first:] {
		f.pieces[first+i].choice = choice
	}
	for i := range f.finishes[finishes:] {
		f.finishes[finishes+i].choice = choice
	}
}

// sglangMeta reads the counts. Those of several samples are added up: each
// reports its own prompt.
func sglangMeta(f *frame, r *reader) {
	if !r.open('{') {
		return
	}
	var u usage
	for key := range r.names() {
		switch string(key) {
		case "finish_reason":
			sglangFinish(f, r)
		case "prompt_tokens":
			r.count(&u.input)
		case "completion_tokens":
			r.count(&u.output)
		case "cached_tokens":
			r.count(&u.cached)
		case "e2e_latency":
			r.duration(&f.times.total, 1e6)
		default:
			r.skip()
		}
	}
	u.seen = u.input != 0 || u.output != 0
	f.usage.add(&u)
}

// sglangFinish reads {"type": "stop" | "length" | "abort", …}; older versions
// say the type alone. An abort is a failure: the scheduler gave the request up.
func sglangFinish(f *frame, r *reader) {
	if r.kind() != '{' {
		f.finish(r, 0)
		return
	}
	r.open('{')
	before := len(f.finishes)
	var e failure
	for key := range r.names() {
		switch string(key) {
		case "type":
			f.finish(r, 0)
		case "err_type":
			e.kind = takeWord(r, nil)
		case "status_code":
			e.code = takeWord(r, nil)
		default:
			r.skip()
		}
	}
	if len(f.finishes) > before && string(f.bytes(f.finishes[before].reason)) == "abort" {
		e.seen = true
		if len(e.kind) == 0 {
			e.kind = []byte("abort")
		}
		f.failure = e
	}
}

func buildSGLang(dst []byte, s *Spec) (string, []byte, error) {
	o := object{dst}
	o.open("")
	o.text("text", joined(s.Messages))
	o.flag("stream", s.Stream)
	o.open("sampling_params")
	o.number("max_new_tokens", s.MaxTokens)
	o.number("n", s.N)
	o.float("temperature", s.Temperature)
	o.float("top_p", s.TopP)
	o.flag("ignore_eos", s.IgnoreEOS)
	o.close()
	o.close()
	return "/generate", o.dst, nil
}
