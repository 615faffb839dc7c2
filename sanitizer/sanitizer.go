package sanitizer

import (
	"fmt"
	"slices"

	"github.com/lambdac/lambdac/trace"
)

// Sanitizer makes records of exchanges and hands them on; it is the recorder's
// sink. Its methods are for one goroutine. Its memory is bounded: every table
// forgets, and what was forgotten is counted in the manifest's warnings.
type Sanitizer struct {
	cfg  Config
	seal trace.Seal
	out  Output
	keys *keyring

	headerRules map[string]headerRule
	dropHeaders nameList
	queryRules  map[string]reader
	dropQuery   nameList
	pathWords   map[string]struct{}
	pathParents map[string]struct{}
	vocab       *vocabulary
	places      *places
	members     *recent[string, bool]
	refused     refusals
	again       bool // what is read was sanitized before
	bodyNames   map[string]bool
	names       *recent[string, string]

	tally    tally
	salt     string // of the exchange at hand
	chain    *chainer
	retries  *retries
	sessions *sessions
	targets  *targetSet
	worker   *worker
	bodies   *bodies // nil in the shape mode
	plain    []byte  // a walker's, from one body to the next
	pending  []*job

	count  counts
	losses trace.LossTotals
	closed bool
}

// New makes a sanitizer that writes to out. It fails for a mode or a policy
// that cannot be used, and where no random key can be read. [Sanitizer.Close]
// must be called, whatever else fails.
func New(cfg Config, out Output) (*Sanitizer, error) {
	cfg, err := cfg.checked()
	if err != nil {
		return nil, err
	}
	s, err := prepare(cfg, out)
	if err != nil {
		return nil, err
	}
	s.targets, s.worker = startTargets(), startWorker(s.keys.derive("tokens"))
	return s, nil
}

// prepare makes a sanitizer without its goroutines, of a config that has been
// checked.
func prepare(cfg Config, out Output) (*Sanitizer, error) {
	seal, err := Seal(cfg)
	if err != nil {
		return nil, err
	}
	if len(cfg.Key) == 0 {
		if cfg.Key, err = drawKey(cfg.Random); err != nil {
			return nil, err
		}
	}
	keys, err := newKeyring(cfg.Key)
	if err != nil {
		return nil, err
	}
	cfg.Key = nil
	s := &Sanitizer{
		cfg: cfg, seal: seal, out: out, keys: keys,
		names: newRecent[string, string](maxNames), members: newRecent[string, bool](maxNames), refused: make(refusals),
		chain: newChainer(), retries: newRetries(), sessions: newSessions(),
	}
	s.compile(cfg.Policy)
	if s.bodies, err = newBodies(&s.cfg, keys, &s.tally); err != nil {
		return nil, err
	}
	if cfg.Mode == trace.ModeFiller {
		s.chain.numbers.next = firstByteBlock
	}
	return s, nil
}

// compile turns the policy's lists into tables.
func (s *Sanitizer) compile(p Policy) {
	s.vocab = newVocabulary(p)
	readers := s.vocab.grammars()
	s.headerRules = make(map[string]headerRule)
	for name, g := range p.Headers {
		s.headerRules[name] = headerRule{name: name, read: readers[g]}
	}
	for name := range newNameList(p.DropHeaders).whole {
		s.headerRules[name] = headerRule{name: name, drop: true}
	}
	for _, name := range p.LinkHeaders {
		s.headerRules[name] = headerRule{name: name}
	}
	s.dropHeaders, s.dropQuery = newNameList(p.DropHeaders), newNameList(p.DropQuery)
	s.queryRules = make(map[string]reader)
	for name, g := range p.Query {
		s.queryRules[name] = readers[g]
	}
	s.places = newPlaces(p.Body, readers)
	s.pathWords, s.pathParents = setOf(p.PathWords), setOf(p.PathParents)
	s.bodyNames = bodyNames(slices.Concat(p.Tenant, p.Session))
}

// setOf is the set of the items.
func setOf(list []string) map[string]struct{} {
	set := make(map[string]struct{}, len(list))
	for _, item := range list {
		set[item] = struct{}{}
	}
	return set
}

// Take sanitizes one exchange and writes its record; where its answer's tokens
// are counted, its features follow. The exchange is overwritten.
// An exchange that cannot be sanitized is dropped and counted
// (dropped_sanitizer); the only errors are those of the output.
func (s *Sanitizer) Take(x *trace.Exchange) error {
	if s.closed {
		return fmt.Errorf("take exchange: %w", errClosed)
	}
	rec, texts, ok := s.convert(x)
	if !ok {
		s.count.dropped++
		return s.settle()
	}
	if texts != nil && s.enqueue(rec.Features, texts) {
		rec.Features = nil
	} else {
		wipeTexts(texts)
	}
	if err := s.write(rec); err != nil {
		return err
	}
	return s.settle()
}

// convert makes the record, and the texts whose tokens are to be counted. ok is
// false where it panicked: what the panic says may hold text, so it is not
// repeated.
func (s *Sanitizer) convert(x *trace.Exchange) (rec *trace.Record, texts [][]byte, ok bool) {
	defer func() {
		if recover() != nil {
			rec, texts, ok = nil, nil, false
		}
		wipe(x, texts)
	}()
	s.tally.list = nil
	rec = x.Record
	s.identify(x)
	s.describeRequest(x)
	s.describeResult(x)
	s.describeCapture(rec)
	s.structure(x)
	s.keepBodies(x)
	rec.Features = features(x)
	if rec.Features.Reason != nil && *rec.Features.Reason == trace.FeatureSampled &&
		s.keys.share("sample", rec.RequestID, s.cfg.FeatureShare) {
		texts = generated(x.Answer)
	}
	s.provenance(rec)
	return rec, texts, true
}

// generated are the texts whose tokens are counted.
func generated(answer []trace.AnswerText) (texts [][]byte) {
	for _, t := range answer {
		if counted(t.Kind) {
			texts = append(texts, t.Text)
		}
	}
	return texts
}

// counted tells what the model wrote for people, and its reasoning, from tool
// arguments and audio.
func counted(kind trace.ChunkKind) bool {
	return kind == trace.ChunkText || kind == trace.ChunkReasoning || kind == trace.ChunkRefusal
}

// wipe overwrites what is left of an exchange, but the texts that are still to
// be counted. Strings cannot be overwritten; they are let go.
func wipe(x *trace.Exchange, texts [][]byte) {
	if x == nil {
		return
	}
	clear(x.ReqBody)
	clear(x.RespBody)
	for _, t := range x.Answer {
		if texts == nil || !counted(t.Kind) {
			clear(t.Text)
		}
	}
	*x = trace.Exchange{}
}

// provenance seals the record.
func (s *Sanitizer) provenance(rec *trace.Record) {
	rec.SanitizerMode = s.seal.Mode
	rec.SanitizerVersion = s.seal.Version
	rec.PolicyHash = &s.seal.PolicyHash
	rec.Redactions = s.tally.list
	s.tally.list, s.salt = nil, ""
}
