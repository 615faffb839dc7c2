package replayer

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/trace"
)

// recordedTexts returns the messages of a record whose trace kept its body,
// each with its own role; nil where it has none, or holds no texts.
func recordedTexts(r *trace.Record) []llmwire.Message {
	var body []byte
	for _, b := range r.Bodies {
		if b.Side == trace.SideRequest {
			body = b.Body
		}
	}
	if body == nil {
		return nil
	}
	var sizes trace.Record
	if err := llmwire.ParseRequest(r.APIKind, "", body, &sizes, new(trace.Said)); err != nil {
		return nil
	}
	var all bytes.Buffer
	if err := llmwire.VisitText(r.APIKind, body, func(_ trace.Role, text []byte) { all.Write(text) }); err != nil {
		return nil
	}
	messages := make([]llmwire.Message, 0, len(sizes.Messages))
	for _, m := range sizes.Messages {
		messages = append(messages, llmwire.Message{Role: m.Role, Text: string(all.Next(int(m.Bytes)))})
	}
	if all.Len() > 0 || !hasText(messages) {
		return nil
	}
	return messages
}

func hasText(messages []llmwire.Message) bool {
	for _, m := range messages {
		if m.Text != "" {
			return true
		}
	}
	return false
}

// retell is the recorded prompt for one copy of it. Copies and levels that must
// not be equal get two words of their own where what they may share ends.
// Filler gets words at its end for tokens that would be missing, of tools that
// are not sent or of a template that is shorter here, and loses some where
// there would be too many. It returns the number of filler words that the
// prompt stands for, and whether it could be brought to the length that is
// meant.
func (p *prompter) retell(r *trace.Record, key copyKey, messages []llmwire.Message) (words int64, exact bool) {
	plain := mix(0, 0)
	if salt := p.salt(key, false); salt != plain {
		p.part(r, messages, p.sharedLength(r), salt)
	}
	if salt := p.salt(key, true); salt != plain {
		p.part(r, messages, 0, salt)
	}
	intended := p.ledger.inputTokens(r)
	if r.TemplateOverheadTokens == nil || !isFiller(r) {
		return intended, false
	}
	words = max(1, intended-int64(*r.TemplateOverheadTokens))
	wanted := max(1, int64(math.Round(float64(intended-p.template(r, len(messages)))*p.scale(r))))
	last := &messages[len(messages)-1].Text
	if wanted < words {
		cut := strings.Fields(*last)
		n := min(words-wanted, int64(len(cut))-1)
		if n > 0 {
			*last = strings.Join(cut[:len(cut)-int(n)], " ")
			words -= n
		}
		return words, true
	}
	*last += p.tail(r, wanted-words)
	return wanted, true
}

// tail are n words that no other prompt has.
func (p *prompter) tail(r *trace.Record, n int64) string {
	var b strings.Builder
	state := mix(p.seed, saltTail, hashString(r.RequestID))
	for range n {
		state += 0x9e3779b97f4a7c15
		b.WriteString(p.words[scramble(state)%uint64(len(p.words))])
	}
	return b.String()
}

// isFiller reports a record whose texts are words of one token each.
func isFiller(r *trace.Record) bool {
	return r.SanitizerMode == trace.ModeFiller && isTokenUnit(r)
}

// messageTokens is what a chat template adds to a message, before that of the
// target was learned: about four tokens (openai/openai-cookbook, "How to count
// tokens with tiktoken").
const messageTokens = 4

// template is what the target's template adds to a prompt of n messages: as far
// as it was learned, else as recorded, less the tools.
func (p *prompter) template(r *trace.Record, n int) int64 {
	if f, ok := p.fit(r); ok {
		return f.overhead
	}
	recorded := int64(*r.TemplateOverheadTokens)
	if r.ToolDefCount == nil || *r.ToolDefCount == 0 {
		return recorded
	}
	return min(recorded, int64(messageTokens*(n+1)))
}

// sharedLength is how much of a prompt other conversations have too, in the
// unit of its blocks.
func (p *prompter) sharedLength(r *trace.Record) (n int64) {
	for _, id := range r.PrefixBlockIDs {
		if !p.ledger.blocks[id].shared {
			break
		}
		n += blockSize(r)
	}
	return n
}

// part makes a prompt differ from its other copies from a place on: filler has
// two of its words replaced, other text gets two more.
func (p *prompter) part(r *trace.Record, messages []llmwire.Message, from int64, salt uint64) {
	filler := isFiller(r)
	for i := range messages {
		size := int64(len(messages[i].Text))
		if filler {
			size = int64(len(strings.Fields(messages[i].Text)))
		}
		switch {
		case from >= size:
			from -= size
			continue
		case filler:
			messages[i].Text = p.replaceWords(messages[i].Text, int(from), salt)
		default:
			messages[i].Text = p.insertWords(messages[i].Text, int(from), salt)
		}
		return
	}
}

// partWords tell copies apart: 2,048² pairs.
const partWords = 2

func (p *prompter) replaceWords(text string, from int, salt uint64) string {
	words := strings.Fields(text)
	for i := from; i < min(from+partWords, len(words)); i++ {
		words[i] = strings.TrimPrefix(p.saltWord(salt, i-from), " ")
	}
	return strings.Join(words, " ")
}

func (p *prompter) insertWords(text string, from int, salt uint64) string {
	if blank := strings.IndexByte(text[from:], ' '); blank >= 0 {
		from += blank
	}
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from--
	}
	var b strings.Builder
	b.WriteString(text[:from])
	for i := range partWords {
		b.WriteString(p.saltWord(salt, i))
	}
	b.WriteString(text[from:])
	return b.String()
}

func (p *prompter) saltWord(salt uint64, i int) string {
	return p.words[mix(p.seed, saltBlock, salt, uint64(i))%uint64(len(p.words))]
}

// promptKnob says what prompts are made of.
func promptKnob(recs []*trace.Record, seal *trace.Seal) string {
	kept := 0
	for _, r := range recs {
		if recordedTexts(r) != nil {
			kept++
		}
	}
	if kept == 0 {
		return "prompts=filler"
	}
	return fmt.Sprintf("prompts=recorded (%s) for %d of %d", seal.Mode, kept, len(recs))
}
