package sim

import (
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

// speech is how an API answers; cached is the part of the prompt that was.
type speech struct {
	begin func(q *wireRequest, seed, id uint64, prompt, cached int) speaker
	fail  errorForm
}

func openAISpeech(wire *wireFormat) speech {
	return speech{func(q *wireRequest, seed, id uint64, _, _ int) speaker {
		if name := q.mustCall(); name != "" && wire == &chatWire {
			return newAnswer(toolWire(name, id), q, seed, id, time.Now())
		}
		return newAnswer(wire, q, seed, id, time.Now())
	}, openAIError}
}

// generate runs one generation and writes its answer.
func (s *Server) generate(w http.ResponseWriter, r *http.Request, q *wireRequest, p *prompt, how speech) {
	id := s.driver.number()
	output, reason, err := s.outputTokens(q, id)
	if err != nil {
		refuse(w, err, how.fail)
		return
	}
	t := s.driver.submit(s.job(id, p, output))
	if t == nil {
		s.fail(w, twin.Event{Status: http.StatusServiceUnavailable}, how.fail)
		return
	}
	defer s.driver.abandon(t)
	if !s.await(r.Context(), t, func() bool { return q.Stream && t.made.Load() > 0 }) {
		return
	}
	if t.over.Load() && t.end.Kind != twin.Done {
		s.fail(w, t.end, how.fail)
		return
	}
	a := how.begin(q, s.cfg.Seed, id, p.tokens, int(t.cached))
	if q.Stream {
		s.stream(w, r, t, a, reason, p.tokens)
		return
	}
	a.whole(w, reason, usage{Prompt: p.tokens, Completion: int(t.end.Token), Cached: int(t.cached)})
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
		panic(http.ErrAbortHandler) // closing: the client must see that the stream is cut
	}
	send(a.last(reason, usage{Prompt: promptTokens, Completion: int(t.end.Token), Cached: int(t.cached)}))
}
