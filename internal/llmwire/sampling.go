package llmwire

// sampling reads an object of sampling parameters, as the servers that have
// one name them.
func sampling(q *request, r *reader) {
	for key := range r.members() {
		if !samplingParam(q, r, key) {
			r.skip()
		}
	}
}

// samplingParam reads one parameter and reports whether it was one.
func samplingParam(q *request, r *reader, key []byte) bool {
	p := &q.params
	switch string(key) {
	case "max_new_tokens", "maxTokens", "max_gen_len", "maxTokenCount", "max_tokens_to_sample", "n_predict", "num_predict":
		p.MaxTokens = r.int32At(0)
	case "topP", "p":
		p.TopP = r.float64p()
	case "topK", "k":
		p.TopK = r.int32At(-1)
	case "random_seed":
		p.Seed = r.int64p()
	default:
		return openAIParam(q, r, key)
	}
	return true
}

// memberKind returns the first byte of a member's value, of a string '"' and
// of a number '0'; 0 where a body has no such member, or cannot be read so far.
func memberKind(body []byte, name string) byte {
	var r reader
	r.reset(body)
	if r.kind() != '{' || !r.open('{') {
		return 0
	}
	for key := range r.names() {
		if string(key) == name {
			return byte(r.kind())
		}
		r.skip()
	}
	return 0
}

// finish takes the next value as the finish reason of a choice, if it is one.
func (f *frame) finish(r *reader, choice int32) {
	text, _ := r.text()
	if len(text) > 0 && len(text) <= maxWord {
		f.finishes = append(f.finishes, finish{choice: choice, reason: f.save(text)})
	}
}
