package replayer

import (
	"bytes"
	"fmt"
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
// not be equal get two words of their own where what they may share ends; a
// prompt whose tools are not sent gets their tokens as words at its end. It
// returns the number of filler words that the prompt stands for.
func (p *prompter) retell(r *trace.Record, key copyKey, messages []llmwire.Message) (total int64) {
	plain := mix(0, 0)
	if salt := p.salt(key, false); salt != plain {
		p.part(r, messages, p.sharedLength(r), salt)
	}
	if salt := p.salt(key, true); salt != plain {
		p.part(r, messages, 0, salt)
	}
	total = p.ledger.inputTokens(r)
	if r.TemplateOverheadTokens == nil {
		return total
	}
	total = max(1, total-int64(*r.TemplateOverheadTokens))
	pad := int64(*r.TemplateOverheadTokens) - p.template(r, len(messages))
	if r.ToolDefCount == nil || *r.ToolDefCount == 0 || pad <= 0 {
		return total
	}
	var b strings.Builder
	state := mix(p.seed, saltTail, hashString(r.RequestID))
	for range pad {
		state += 0x9e3779b97f4a7c15
		b.WriteString(p.words[scramble(state)%uint64(len(p.words))])
	}
	messages[len(messages)-1].Text += b.String()
	return total + pad
}

// messageTokens is what a chat template adds to a message, before that of the
// target was learned: about four tokens (openai/openai-cookbook, "How to count
// tokens with tiktoken").
const messageTokens = 4

// template is what the target's template adds to a prompt of n messages.
func (p *prompter) template(r *trace.Record, n int) int64 {
	if f, ok := p.fit(r); ok {
		return f.overhead
	}
	return int64(messageTokens * (n + 1))
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
	filler := r.SanitizerMode == trace.ModeFiller && isTokenUnit(r)
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
