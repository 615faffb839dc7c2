package sanitizer

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// Resanitizer brings the rows of a sanitized trace to a stricter mode or
// another policy. Ids, times, sizes and block ids stay, so that what was
// learned of the trace still joins with it. Its methods are for one goroutine.
//
// It only ever takes away: what one policy dropped, no other brings back.
type Resanitizer struct {
	s    *Sanitizer
	seal trace.Seal
	// requests are what bodies need to know of their requests.
	requests map[string]requestOf
	// unread are those of which a body could not be kept.
	unread map[string]bool
}

type requestOf struct {
	kind  trace.APIKind
	model string
}

// strictness orders the modes by what they leave; 0 = no mode.
var strictness = map[trace.Mode]int{trace.ModeRedact: 1, trace.ModeFiller: 2, trace.ModeShape: 3, trace.ModeImport: 3}

// NewResanitizer fails where the mode is looser than that of the trace, of
// which from is the seal, and like [New]. [Resanitizer.Close] must be called.
func NewResanitizer(cfg Config, from trace.Seal) (*Resanitizer, error) {
	cfg.Live = false
	cfg, err := cfg.checked()
	if err != nil {
		return nil, err
	}
	if strictness[from.Mode] == 0 {
		return nil, fmt.Errorf("sanitize trace: it was sealed in the unknown mode %q", from.Mode)
	}
	if strictness[cfg.Mode] < strictness[from.Mode] {
		return nil, fmt.Errorf("sanitize trace: it is in the mode %q, which keeps less than %q: what is gone cannot come back", from.Mode, cfg.Mode)
	}
	s, err := prepare(cfg, nil)
	if err != nil {
		return nil, err
	}
	s.again = true
	seal := s.seal
	seal.Earlier = append(slices.Clone(from.Earlier), string(from.Mode))
	if from.PolicyHash != "" {
		seal.Earlier[len(from.Earlier)] += ", policy " + from.PolicyHash
	}
	return &Resanitizer{s: s, seal: seal, requests: make(map[string]requestOf), unread: make(map[string]bool)}, nil
}

// Seal is what the new trace's manifest carries.
func (r *Resanitizer) Seal() trace.Seal { return r.seal }

// Warnings are what the new manifest adds to those of the old one.
func (r *Resanitizer) Warnings() []string { return r.s.refused.warnings() }

// Close wipes the key.
func (r *Resanitizer) Close() { r.s.keys.wipe() }

// Record changes one record, which is the caller's.
func (r *Resanitizer) Record(rec *trace.Record) {
	s := r.s
	s.tally.list = nil
	r.words(rec)
	rec.ReqHeaders = s.headersAgain("req_headers", rec.ReqHeaders)
	rec.RespHeaders = s.headersAgain("resp_headers", rec.RespHeaders)
	rec.PathTemplate = s.pathTemplate(rec.PathTemplate)
	if len(s.cfg.Policy.Tenant) == 0 {
		rec.TenantID = nil
	}
	if src := rec.SessionSource; len(s.cfg.Policy.Session) == 0 && (src == trace.SessionHeader || src == trace.SessionBodyField) {
		rec.SessionID, rec.ParentRequestID, rec.Turn, rec.ThinkTimeUs = nil, nil, nil, nil
		rec.SessionSource = trace.SessionNone
	}
	s.limitNumbers(&rec.Request)
	s.limitCounts(rec)
	rec.BodyState = stateIn(s.cfg.Mode, rec.BodyState)
	if s.bodies != nil {
		s.setVocabulary(rec, r.requests[rec.RequestID].model)
	}
	if r.unread[rec.RequestID] {
		rec.BodyState = trace.BodyDroppedUnparsable
	}
	rec.Bodies = nil
	rec.SanitizerMode, rec.SanitizerVersion, rec.PolicyHash = s.seal.Mode, s.seal.Version, &s.seal.PolicyHash
	rec.Redactions = merged(rec.Redactions, s.tally.list)
	s.tally.list = nil
}

// KeepsBodies reports whether the mode has bodies at all. Then each request is
// told of first, the bodies come next and the records last.
func (r *Resanitizer) KeepsBodies() bool { return r.s.bodies != nil }

// Request tells of a request what its bodies need: API and model.
func (r *Resanitizer) Request(id string, kind trace.APIKind, model *string) {
	of := requestOf{kind: kind}
	if model != nil {
		of.model = *model
	}
	r.requests[id] = of
}

// Body changes one row of the bodies table. It reports false where nothing may
// be kept of it: its text cannot be read, or its request was not told of.
func (r *Resanitizer) Body(b *trace.Body) bool {
	ok := r.body(b)
	if !ok {
		r.unread[b.RequestID] = true
	}
	return ok
}

func (r *Resanitizer) body(b *trace.Body) bool {
	s := r.s
	of, known := r.requests[b.RequestID]
	if s.bodies == nil || !known {
		return false
	}
	s.setVocabulary(&trace.Record{}, of.model)
	defer func() { s.tally.list = nil }()
	switch {
	case b.Kind == trace.ChunkToolArgs:
		var ok bool
		b.Body, b.DeltaBytes, ok = s.toolArguments(b.Body, b.DeltaBytes)
		return ok
	case b.Kind != trace.ChunkNotSet:
		b.Body, b.DeltaBytes = s.bodies.mode.answer(b.Body, b.DeltaBytes)
		return true
	}
	if f := s.bodies.filler; f != nil && b.Side == trace.SideRequest {
		if _, err := f.begin(of.kind, b.Body, s.keys.sum("chain", of.model, "")); err != nil {
			return false
		}
	}
	media := "application/json"
	if bytes.HasPrefix(b.Body, []byte("--"+safeBoundary)) {
		media = "multipart/form-data; boundary=" + safeBoundary
	}
	out, err := s.rewrite(nil, b.Body, media, s.bodies.mode)
	b.Body = out
	return err == nil
}

// words judges again what was kept by its form.
func (r *Resanitizer) words(rec *trace.Record) {
	s := r.s
	for _, f := range []struct {
		column string
		word   **string
		listed bool
	}{
		{"provider", &rec.Provider, false},
		{"operation", &rec.Operation, false},
		{"error_type", &rec.ErrorType, false},
		{"error_code", &rec.ErrorCode, false},
		{"reasoning_level", &rec.ReasoningLevel, true},
		{"output_type", &rec.OutputType, true},
		{"service_tier", &rec.ServiceTier, true},
	} {
		switch {
		case *f.word == nil:
		case f.listed:
			*f.word = s.listed(f.column, **f.word)
		default:
			*f.word = new(s.wordAgain(f.column, **f.word))
		}
	}
	for i, reason := range rec.FinishReasons {
		rec.FinishReasons[i] = s.wordAgain("finish_reasons", reason)
	}
	rec.RequestModel = s.modelAgain("request_model", rec.RequestModel)
	rec.ResponseModel = s.modelAgain("response_model", rec.ResponseModel)
	if rec.Adapter != nil && !isPseudonym(*rec.Adapter, "adapter-") {
		rec.Adapter = new("adapter-" + s.keys.name("model", *rec.Adapter))
	}
}

// isPseudonym reports a word that the sanitizer made: the prefix and 16 letters
// and digits.
func isPseudonym(word, prefix string) bool {
	rest, ok := strings.CutPrefix(word, prefix)
	return ok && len(rest) == nameBits/5 && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

func (s *Sanitizer) wordAgain(column, word string) string {
	if word == "" || word == otherWord || isPseudonym(word, otherWord+"-") {
		return word
	}
	return s.keepWord(column, word)
}

// modelAgain keeps what [Sanitizer.model] makes, of other names what the policy
// knows.
func (s *Sanitizer) modelAgain(column string, name *string) *string {
	if name == nil || isPseudonym(*name, "model-") {
		return name
	}
	if base, tuned := fineTuned(*name); tuned && strings.HasSuffix(*name, ":"+cutSegment) && s.vocab.plainModel(base) {
		return name
	}
	if rest, ok := strings.CutPrefix(*name, "arn:"); ok && !strings.Contains(rest, ":") {
		return new("arn:" + *s.modelAgain(column, &rest))
	}
	return s.model(column, *name)
}

// dropped stands for a value that was kept before: its length is not known any
// more.
const dropped = "dropped"

// headersAgain judges names and values of header fields, and of parameters
// ("?name"), once more.
func (s *Sanitizer) headersAgain(column string, fields map[string]string) map[string]string {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := fields[name]
		delete(fields, name)
		fields[s.fieldName(column, name)] = s.fieldValue(column, name, value)
	}
	return fields
}

func (s *Sanitizer) fieldName(column, name string) string {
	bare, isParam := strings.CutPrefix(name, "?")
	_, listed := s.headerRules[bare]
	if isParam {
		_, listed = s.queryRules[bare]
	}
	if listed || bare == otherName || isPseudonym(bare, "name-") || s.vocab.plainName(bare) {
		return name
	}
	s.tally.add("header_name", column, 1)
	return strings.TrimSuffix(name, bare) + "name-" + s.keys.name("name", bare)
}

func (s *Sanitizer) fieldValue(column, name, value string) string {
	if length, ok := strings.CutPrefix(value, "len:"); value == dropped || ok && digitsOnly(length) {
		return value
	}
	var read reader
	linked := false
	if param, ok := strings.CutPrefix(name, "?"); ok {
		read = s.queryRules[param]
	} else if rule, ok := s.headerRules[name]; ok {
		read, linked = rule.read, rule.read == nil && !rule.drop
	}
	if linked && isPseudonym(value, "id-") {
		return value
	}
	if read != nil {
		if kept, ok := s.readAll(read, value); ok {
			return kept
		}
	}
	s.tally.add("header_value", column, 1)
	return dropped
}

// readAll reads a value, or each of those that were joined where a name came
// several times.
func (s *Sanitizer) readAll(read reader, value string) (string, bool) {
	if kept, ok := read(value); ok {
		return kept, true
	}
	var all []string
	for part := range strings.SplitSeq(value, ", ") {
		kept, ok := read(part)
		if !ok {
			return "", false
		}
		all = append(all, kept)
	}
	return strings.Join(all, ", "), true
}

// stateIn is what a mode makes of a body's state.
func stateIn(mode trace.Mode, state trace.BodyState) trace.BodyState {
	switch {
	case state != trace.BodyKept && state != trace.BodyFiller:
		return state
	case mode == trace.ModeShape:
		return trace.BodyDroppedPolicy
	case mode == trace.ModeFiller:
		return trace.BodyFiller
	}
	return state
}

// merged adds counts to those of the first time.
func merged(before, now []trace.Redaction) []trace.Redaction {
	t := tally{list: before}
	for _, r := range now {
		t.add(r.Rule, r.Field, int(r.Count))
	}
	return t.list
}
