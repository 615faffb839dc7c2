package replayer

import (
	"fmt"
	"hash/maphash"
	"strings"
	"sync"

	"github.com/lambdac/lambdac/trace"
)

// quality asks questions with known answers in place of some of the trace's
// requests, and scores what comes back. An answer's text is looked at here and
// dropped.
type quality struct {
	share  float64
	seed   uint64
	probes []question

	mu sync.Mutex
	// answers numbers the different answers to each question.
	answers map[string]map[uint64]int32
	hash    maphash.Seed
}

func newQuality(share float64, seed uint64) *quality {
	if share == 0 {
		return nil
	}
	return &quality{
		share: share, seed: seed, probes: newProbes(seed),
		answers: make(map[string]map[uint64]int32), hash: maphash.MakeSeed(),
	}
}

// asked reports whether a request of the schedule is a question: the same in
// every run with this seed. Warm-ups are not, nor what its client gave up on.
func (q *quality) asked(it *item) bool {
	return q != nil && !it.warm && conversational(it.src.APIKind) && plannedCancel(it.src) == nil &&
		unitFloat(mix(q.seed, hashString(it.id), saltProbe)) < q.share
}

// conversational reports whether an API takes messages and answers in text.
func conversational(kind trace.APIKind) bool {
	switch kind {
	case trace.KindOpenAIChat, trace.KindOpenAIResponses, trace.KindAnthropicMessages, trace.KindOllamaChat:
		return true
	}
	return false
}

// next is the question after so many of a level: each level asks them in the
// same order.
func (q *quality) next(asked *int) *question {
	p := &q.probes[*asked%len(q.probes)]
	*asked++
	return p
}

// ask is a question as a request of the kind of a record.
func (p *prompter) ask(r *trace.Record, q *question) (prompt, error) {
	return p.put(r, q.prompt, probeTokens, new(0.0))
}

// scored writes the score of an exchange's answer into its record.
func (q *quality) scored(x *exchange) {
	p := x.it.probe
	if p == nil || q == nil || p.id == trace.ProbeSteady {
		return
	}
	f := &trace.Features{RequestID: x.rec.RequestID, ProbeID: &p.id}
	x.rec.Features = f
	switch {
	case x.rec.Outcome != trace.OutcomeOK:
		f.Reason = new(trace.FeatureFailed)
		return
	case truncated(x.rec.FinishReasons):
		f.Reason = new(trace.FeatureTruncated)
		return
	}
	text := visible(x.texts)
	f.ProbeScore = new(p.score(text))
	f.OutCluster, f.ClusterMethod = new(q.number(p.id, bare(text))), new(trace.ClusterExact)
}

// truncated reports whether an answer ended at its limit of tokens.
func truncated(reasons []string) bool {
	for _, r := range reasons {
		switch strings.ToLower(r) {
		case "length", "max_tokens", "max_output_tokens":
			return true
		}
	}
	return false
}

// number gives equal answers to one question equal numbers, from 0.
func (q *quality) number(id, answer string) int32 {
	h := maphash.String(q.hash, answer)
	q.mu.Lock()
	defer q.mu.Unlock()
	known := q.answers[id]
	if known == nil {
		known = make(map[uint64]int32)
		q.answers[id] = known
	}
	n, ok := known[h]
	if !ok {
		n = int32(len(known))
		known[h] = n
	}
	return n
}

// visible is the text of the first choice, without reasoning and calls.
func visible(texts []trace.AnswerText) string {
	for _, a := range texts {
		if a.Choice == 0 && a.Kind == trace.ChunkText {
			return string(a.Text)
		}
	}
	return ""
}

// checkProbes returns an ErrInput where the share makes no sense.
func (c *Config) checkProbes() error {
	if !(c.Probes >= 0 && c.Probes <= maxProbes) {
		return inputError("give --probes a share such as 5%, at most 50%", "share %v of questions with known answers: out of range", c.Probes)
	}
	return nil
}

// maxProbes keeps the load the trace's.
const maxProbes = 0.5

// probeKnob says what of the load is not the trace's.
func (q *quality) knob() string {
	return fmt.Sprintf("probes=builtin: %.3g %% of chat requests are %d questions with known answers, of at most %d output tokens", 100*q.share, len(q.probes), probeTokens)
}
