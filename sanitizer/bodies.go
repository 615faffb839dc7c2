package sanitizer

import (
	"bytes"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/lambdac/lambdac/internal/tokens"
	"github.com/lambdac/lambdac/trace"
)

// bodyMode is a mode that keeps texts.
type bodyMode interface {
	texts
	// answer replaces a text of a streamed answer, and says how the pieces it
	// came in are cut now; nil where it came whole.
	answer(text []byte, pieces []int32) (out []byte, cuts []int32)
}

// maxScratch bounds the memory that is kept from one body to the next, bytes.
const maxScratch = 256 << 10

// bodies keeps the texts of exchanges, in the modes that do.
type bodies struct {
	filler   *filler
	redactor *redactor
	mode     bodyMode // one of them
	// scratch is memory for a body while it is made: what is made anew for each
	// exchange wakes the collector, and one exchange in a hundred waits for it.
	scratch []byte
	pace    pace
	// kept and left count the exchanges whose texts were to be kept, and those
	// for which there was no time; cut the requests and answers that were not
	// whole.
	kept, left, cut int64
}

// newBodies returns nil in the shape mode.
func newBodies(cfg *Config, keys *keyring, t *tally) (*bodies, error) {
	b := &bodies{}
	switch cfg.Mode {
	case trace.ModeFiller:
		b.filler = newFiller(keys)
		b.mode = b.filler
	case trace.ModeRedact:
		scanner, err := cfg.Policy.scanner()
		if err != nil {
			return nil, fmt.Errorf("make detectors: %w", err)
		}
		b.redactor = newRedactor(keys, scanner, t)
		b.mode = b.redactor
	default:
		return nil, nil
	}
	// Loaded before the traffic comes: it takes half a second.
	for _, name := range [...]string{tokens.CL100K, tokens.O200K} {
		if _, err := tokens.Load(name); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// keepBodies puts what the mode keeps of the texts into the record, and says
// there what became of them: of a body that could not be read, or of which a
// part is missing, nothing is kept but its size.
func (s *Sanitizer) keepBodies(x *trace.Exchange) {
	b, rec := s.bodies, x.Record
	if b == nil || rec.APIKind == trace.KindOther {
		return
	}
	began := time.Now()
	if s.cfg.Live && b.pace.behind(began) {
		b.left++
		s.tally.add("behind", "body", 1)
		return
	}
	defer b.pace.spend(began, len(x.ReqBody)+len(x.RespBody))
	b.kept++
	s.setVocabulary(rec, x.Said.RequestModel)
	whole := s.keepRequest(x)
	whole = s.keepAnswer(x) && whole
	switch {
	case whole && b.filler != nil:
		rec.BodyState = trace.BodyFiller
	case whole:
		rec.BodyState = trace.BodyKept
	case rec.BodyState == trace.BodyDroppedPolicy:
		rec.BodyState = trace.BodyDroppedUnparsable
	}
}

// warnings tells what was not kept; b may be nil.
func (b *bodies) warnings(mode trace.Mode) (list []string) {
	if b == nil {
		return nil
	}
	if b.left > 0 {
		list = append(list, fmt.Sprintf("%d of %d exchanges came too fast for the mode %s and were kept as shape: it makes %.3g MB/s here",
			b.left, b.left+b.kept, mode, b.pace.rate()))
	}
	if b.cut > 0 {
		list = append(list, fmt.Sprintf("%d requests and answers did not come whole (hung up, lost or larger than the body cap): nothing is kept of their texts, in which half a secret would not be found", b.cut))
	}
	return list
}

// leaveCut counts what did not come whole: half a secret looks like none, so
// nothing is kept.
func (s *Sanitizer) leaveCut(side trace.BodySide) {
	s.bodies.cut++
	s.tally.add("cut", string(side), 1)
}

// setVocabulary chooses the vocabulary in which the texts of a model's exchange
// are counted; filler names it in the record.
func (s *Sanitizer) setVocabulary(rec *trace.Record, model string) {
	name := s.cfg.Vocabulary
	if name == "" {
		name = tokens.ForModel(model)
	}
	voc, err := tokens.Load(name)
	switch {
	case err != nil: // loaded before: cannot fail
	case s.bodies.filler != nil:
		s.bodies.filler.voc = voc
		rec.TokenizerID = &name
	default:
		s.bodies.redactor.voc = voc
	}
}

// keepRequest keeps the request's body; false where it cannot be.
func (s *Sanitizer) keepRequest(x *trace.Exchange) bool {
	rec := x.Record
	if len(x.ReqBody) == 0 {
		return rec.ReqWireBytes == 0 // else it could not be decoded
	}
	if x.ReqBodyCut > 0 || !rec.ReqComplete {
		s.leaveCut(trace.SideRequest)
		return false
	}
	if f := s.bodies.filler; f != nil && !s.tokenBlocks(x, f) {
		return false
	}
	return s.keepBody(rec, trace.SideRequest, x.ReqBody, headerValue(x.ReqHeader, "content-type"))
}

// keepBody keeps a body that came whole; false where it cannot be read. What
// is kept of media is short, and so is what holds it.
func (s *Sanitizer) keepBody(rec *trace.Record, side trace.BodySide, body []byte, mediaType string) bool {
	dst := s.bodies.scratch[:0]
	if len(body) > maxScratch {
		dst = make([]byte, 0, len(body)+len(body)/32+64)
	}
	out, err := s.rewrite(dst, body, mediaType, s.bodies.mode)
	if err != nil {
		return false
	}
	if cap(out) <= maxScratch {
		s.bodies.scratch = out
	}
	if cap(out) <= maxScratch || cap(out) > 2*len(out) {
		out = bytes.Clone(out)
	}
	rec.Bodies = append(rec.Bodies, trace.Body{RequestID: rec.RequestID, Side: side, Body: out})
	return true
}

// tokenBlocks plans the filler of a request and gives the record its token
// blocks, in the place of those of bytes.
func (s *Sanitizer) tokenBlocks(x *trace.Exchange, f *filler) bool {
	rec := x.Record
	ids, err := f.begin(rec.APIKind, x.ReqBody, s.keys.sum("chain", x.Said.RequestModel, s.salt))
	if err != nil {
		return false
	}
	if rec.PrefixBlockIDs == nil {
		return true // the family's texts are not read
	}
	rec.PrefixBlockSize = new(int32(blockTokens))
	rec.PrefixBlockUnit = new(trace.UnitToken)
	rec.PrefixBlockIDs = ids
	if n := rec.InputTokens; n != nil && *n >= int64(f.chain.total) {
		rec.TemplateOverheadTokens = new(int32(*n - int64(f.chain.total)))
	}
	return true
}

// keepAnswer keeps the answer; false where it cannot be.
func (s *Sanitizer) keepAnswer(x *trace.Exchange) bool {
	rec := x.Record
	if x.RespBodyCut > 0 || !rec.RespComplete && !saidAll(rec) {
		if len(x.RespBody)+len(x.Answer) > 0 {
			s.leaveCut(trace.SideResponse)
		}
		return false
	}
	if len(x.RespBody) == 0 {
		return s.keepTexts(x)
	}
	return s.keepBody(rec, trace.SideResponse, x.RespBody, headerValue(x.RespHeader, "content-type"))
}

// saidAll reports a stream that came to its own end mark, though not to that of
// the message around it: clients hang up in between.
func saidAll(rec *trace.Record) bool {
	return rec.Outcome == trace.OutcomeOK && rec.Stream && rec.LostBytesResp == 0 && rec.ReassemblyGaps == 0
}

// keepTexts keeps the texts of a stream, each in one row. What repeats them in
// its events was never held: log probabilities, token ids, the whole answer at
// its end.
func (s *Sanitizer) keepTexts(x *trace.Exchange) bool {
	rec, whole := x.Record, true
	for _, t := range x.Answer {
		row := trace.Body{RequestID: rec.RequestID, Side: trace.SideResponse, Kind: t.Kind, Choice: t.Choice, Tool: t.Tool}
		switch {
		case t.Kind == trace.ChunkToolArgs:
			var ok bool
			if row.Body, row.DeltaBytes, ok = s.toolArguments(t.Text, t.PieceBytes); !ok {
				whole = false
				continue
			}
		case counted(t.Kind):
			row.Body, row.DeltaBytes = s.bodies.mode.answer(t.Text, t.PieceBytes)
		default: // media
			s.tally.add("media", "answer", 1)
			continue
		}
		rec.Bodies = append(rec.Bodies, row)
	}
	return whole
}

// toolArguments replaces the arguments of one call, one JSON text, and cuts
// them in the proportion in which they came.
func (s *Sanitizer) toolArguments(text []byte, pieces []int32) (out []byte, cuts []int32, ok bool) {
	if len(text) == 0 {
		return text, pieces, true
	}
	out, err := s.rewriteText(nil, text, s.bodies.mode)
	if err != nil {
		return nil, nil, false
	}
	return out, scaleCuts(out, pieces, len(text)), true
}

// scaleCuts cuts a text where pieces of another of size bytes ended, in
// proportion, at rune borders.
func scaleCuts(text []byte, pieces []int32, size int) []int32 {
	if pieces == nil {
		return nil
	}
	cuts := make([]int32, 0, len(pieces))
	seen, start := 0, 0
	for i, n := range pieces {
		seen += int(n)
		end := len(text)
		if i < len(pieces)-1 {
			end = max(start, int(int64(len(text))*int64(min(seen, size))/int64(size)))
			for end < len(text) && !utf8.RuneStart(text[end]) {
				end++
			}
		}
		cuts = append(cuts, int32(end-start))
		start = end
	}
	return cuts
}
