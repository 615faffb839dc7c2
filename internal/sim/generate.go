package sim

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/lambdac/lambdac/internal/twin"
)

// chat serves POST /v1/chat/completions.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	q, err := s.readRequest(w, r)
	if err != nil {
		refuse(w, err, openAIError)
		return
	}
	p := &prompt{}
	if len(q.Messages) == 0 {
		err = &badRequest{http.StatusBadRequest, "messages: want at least one"}
	}
	for i := 0; i < len(q.Messages) && err == nil; i++ {
		err = p.message(q.Messages[i], s.cfg.MessageOverhead)
	}
	if err != nil {
		refuse(w, err, openAIError)
		return
	}
	s.generate(w, r, q, p, openAISpeech(&chatWire))
}

// completions serves POST /v1/completions.
func (s *Server) completions(w http.ResponseWriter, r *http.Request) {
	q, err := s.readRequest(w, r)
	if err != nil {
		refuse(w, err, openAIError)
		return
	}
	p := &prompt{}
	if err := p.completion(q.Prompt); err != nil {
		refuse(w, err, openAIError)
		return
	}
	s.generate(w, r, q, p, openAISpeech(&completionWire))
}

// speaker builds the bytes of one answer.
type speaker interface {
	// token returns the events of token i, valid until the next call.
	token(i int32) []byte
	// last returns the events after the tokens.
	last(reason string, u usage) []byte
	// whole writes the answer in one piece.
	whole(w http.ResponseWriter, reason string, u usage)
}

// reply is what an answer is made from: cached is the part of the prompt that
// was, says what it says, nil = any words.
type reply struct {
	id             uint64
	prompt, cached int
	says           []string
}

// speech is how an API answers.
type speech struct {
	begin func(q *wireRequest, seed uint64, r reply) speaker
	fail  errorForm
}

func openAISpeech(wire *wireFormat) speech {
	return speech{func(q *wireRequest, seed uint64, r reply) speaker {
		if name := q.mustCall(); name != "" && wire == &chatWire {
			return newAnswer(toolWire(name, r.id), q, seed, r, time.Now())
		}
		return newAnswer(wire, q, seed, r, time.Now())
	}, openAIError}
}

// generate runs one generation and writes its answer.
func (s *Server) generate(w http.ResponseWriter, r *http.Request, q *wireRequest, p *prompt, how speech) {
	id := s.driver.number()
	solution, asked := solve(p.said)
	asked = asked && q.mustCall() == ""
	output, reason, err := s.outputTokens(q, id, solution, asked)
	if err != nil {
		refuse(w, err, how.fail)
		return
	}
	j := s.job(id, p, output)
	j.Tenant = tenantOf(q, r.Header)
	t := s.driver.submit(j)
	if t == nil {
		s.fail(w, twin.Event{Status: http.StatusServiceUnavailable}, how.fail)
		return
	}
	defer s.driver.abandon(t)
	if !s.await(r.Context(), t, func() bool { return q.Stream && t.made.Load() > 0 }) {
		return
	}
	if t.over.Load() && t.end.Kind != twin.Done && !(q.Stream && t.brokeOff()) {
		s.fail(w, t.end, how.fail)
		return
	}
	answer := reply{id: id, prompt: p.tokens, cached: int(t.cached)}
	if asked {
		answer.says = s.says(solution, t)
	}
	a := how.begin(q, s.cfg.Seed, answer)
	if q.Stream {
		s.stream(w, r, t, a, reason, p.tokens)
		return
	}
	a.whole(w, reason, usage{Prompt: p.tokens, Completion: int(t.end.Token), Cached: int(t.cached)})
}

// says are the tokens of the answer to a question, a wrong one where the engine
// says so.
func (s *Server) says(solution string, t *ticket) []string {
	if t.wrong {
		solution = mistake(solution, (s.cfg.Seed^t.id)*fnvPrime)
	}
	return spoken(solution)
}

// tenantOf tells tenants apart by the user that the request names, else by its
// key; 0 = neither.
func tenantOf(q *wireRequest, h http.Header) uint64 {
	name := cmp.Or(q.User, h.Get("Authorization"), h.Get("X-Api-Key"))
	if name == "" {
		return 0
	}
	hash := fnvOffset
	for i := range len(name) {
		hash = (hash ^ uint64(name[i])) * fnvPrime
	}
	return hash
}

// await waits until ready or the job's end; false if the client went away.
func (s *Server) await(ctx context.Context, t *ticket, ready func() bool) bool {
	for !t.over.Load() && !ready() {
		select {
		case <-t.news:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// stream writes the answer as events, each token as it is made.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, t *ticket, a speaker, reason string, promptTokens int) {
	rc := http.NewResponseController(w)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	send := func(events []byte) bool {
		if _, err := w.Write(events); err != nil {
			return false
		}
		return rc.Flush() == nil
	}
	for sent := int32(0); ; {
		over := t.over.Load() // before made: all tokens are there once it is set
		for made := t.made.Load(); sent < made; sent++ {
			if !send(a.token(sent)) {
				return
			}
		}
		if over {
			break
		}
		if !s.await(r.Context(), t, func() bool { return t.made.Load() > sent }) {
			return
		}
	}
	if t.end.Kind != twin.Done {
		panic(http.ErrAbortHandler) // the client must see that the stream is cut
	}
	send(a.last(reason, usage{Prompt: promptTokens, Completion: int(t.end.Token), Cached: int(t.cached)}))
}
