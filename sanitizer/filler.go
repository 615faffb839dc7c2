package sanitizer

import (
	"hash/maphash"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/internal/tokens"
	"github.com/lambdac/lambdac/trace"
)

// filler puts words for texts: as many words as the text has tokens, each one
// token, none of four letters or more, so that no word of a text is left.
//
// The texts of a prompt get the words of their token blocks: equal prefixes
// get equal words up to the last whole block, and no further. Any other text
// gets words that follow from itself alone, so equal texts get equal words.
type filler struct {
	keys  *keyring
	voc   *tokens.Vocabulary
	chain *tokenChain
	// plan says where the words of the prompt's texts stand in the chain, by
	// text; equal texts in order.
	plan map[textKey][]wordSpan
	seed maphash.Seed
}

// textKey stands for a text: two of a prompt that share it would only swap
// their words.
type textKey struct {
	hash uint64
	size int
}

// wordSpan is a run of n words.
type wordSpan struct{ from, n int }

func newFiller(keys *keyring) *filler {
	own := keys.derive("filler")
	return &filler{keys: own, chain: newTokenChain(own), plan: make(map[textKey][]wordSpan), seed: maphash.MakeSeed()}
}

// begin plans the words of a request, whose chain starts at h0, and returns its
// block ids. Texts are read in the order in which a service reads them, which
// is not always that of the body.
func (f *filler) begin(kind trace.APIKind, body []byte, h0 *[hashSize]byte) ([]int64, error) {
	clear(f.plan)
	f.chain.start(h0)
	err := llmwire.VisitText(kind, body, func(role trace.Role, text []byte) {
		span := wordSpan{from: f.chain.total}
		f.chain.border(role)
		f.voc.Visit(text, func(id, _ int) { f.chain.add(id) })
		span.n = f.chain.total - span.from
		key := f.key(text)
		f.plan[key] = append(f.plan[key], span)
	})
	return f.chain.finish(), err
}

func (f *filler) key(text []byte) textKey { return textKey{maphash.Bytes(f.seed, text), len(text)} }

// opens implements [texts].
func (f *filler) opens() bool { return false }

// text implements [texts]. Words have nothing to escape.
func (f *filler) text(dst, _, text []byte) (out []byte, same bool) {
	key := f.key(text)
	spans := f.plan[key]
	if len(spans) == 0 {
		joint := byte(' ')
		if isIdentifier(text) {
			joint = '_'
		}
		return f.wordsOf(text).append(dst, f.voc.Count(text), joint), false
	}
	f.plan[key] = spans[1:]
	return f.chain.append(dst, spans[0]), false
}

// name implements [texts]: at least two words, so that the members of an object
// do not fall together.
func (f *filler) name(dst, name []byte) []byte {
	return f.wordsOf(name).append(dst, min(max(2, f.voc.Count(name)), maxNameWords), '_')
}

// maxNameWords keeps a name below the 64 bytes that services allow.
const maxNameWords = 15

// number implements [texts].
func (f *filler) number(dst, _, raw []byte) []byte {
	return appendDigits(dst, raw, f.wordsOf(raw))
}

// answer replaces a text of an answer and cuts it as it came: each piece has
// the words of the tokens that end in it.
func (f *filler) answer(text []byte, pieces []int32) (out []byte, cuts []int32) {
	words := f.wordsOf(text)
	cut := cutter{ends: pieces}
	f.voc.Visit(text, func(_, size int) {
		cut.before(len(out), size)
		out = words.append(out, 1, ' ')
	})
	return out, cut.finish(len(out))
}

// wordsOf are the words of a text that is no part of a prompt.
func (f *filler) wordsOf(text []byte) *wordStream {
	return &wordStream{keys: f.keys, h: f.keys.digest("text", text)}
}

// isIdentifier reports a text that may be a name in a program.
func isIdentifier(text []byte) bool {
	for _, c := range text {
		if !isWordByte(c) {
			return false
		}
	}
	return len(text) <= 64
}
