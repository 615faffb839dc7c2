package fault

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode"

	"github.com/lambdac/lambdac/trace"
)

var tokenNoise = kind{
	layer: Input, name: "token-noise",
	about: "some tokens of the prompt are hit: 70 % of them become unknown, the others a neighbour (token ids) or another word of the prompt (text)",
	params: []param{
		{name: "ratio", unit: unitShare, def: "5%", about: "of the words or token ids"},
		{name: "unknown", unit: unitCount, def: "0", about: "id of the unknown token"},
		{name: "vocabulary", unit: unitCount, def: "32000", low: 6, about: "number of token ids"},
	},
	make: func(s *Spec) action {
		n := noise{ratio: s.number("ratio"), unknown: s.count("unknown"), vocabulary: s.count("vocabulary")}
		return changePrompt(func(c *call, body *node, texts []promptText) bool {
			rng := c.random()
			if len(texts) == 0 {
				return n.ids(rng, tokenIDs(body))
			}
			return n.texts(rng, texts)
		})
	},
}

// noise hits a ratio of tokens; hitUnknown of those become unknown.
type noise struct {
	ratio               float64
	unknown, vocabulary int
}

const (
	hitUnknown  = 0.7
	unknownText = "\uFFFD"
	neighbours  = 5 // an id moves by 1 to as many
)

// tokenIDs are the token ids of a prompt that is written in them.
func tokenIDs(body *node) (ids []*node) {
	for _, m := range body.members {
		if m.value.kind != '[' || m.name != "prompt" && m.name != "input" && m.name != "input_ids" {
			continue
		}
		m.value.leaves(func(n *node) {
			if _, err := strconv.ParseUint(string(n.raw), 10, 31); err == nil && n.kind == '0' {
				ids = append(ids, n)
			}
		})
	}
	return ids
}

func (n *noise) ids(rng *rand.Rand, ids []*node) (some bool) {
	for _, id := range ids {
		if rng.Float64() >= n.ratio {
			continue
		}
		is, _ := strconv.Atoi(string(id.raw))
		to := n.unknown
		if rng.Float64() >= hitUnknown {
			to = (is + 1 + rng.IntN(neighbours)) % n.vocabulary
		}
		id.raw = strconv.AppendInt(nil, int64(to), 10)
		some = some || to != is
	}
	return some
}

// texts hits words of all texts but the system's.
func (n *noise) texts(rng *rand.Rand, texts []promptText) (some bool) {
	var words []string
	for _, t := range texts {
		words = append(words, strings.Fields(t.text)...)
	}
	for _, t := range texts {
		if t.role == trace.RoleSystem {
			continue
		}
		text := n.text(rng, t.text, words)
		if text != t.text {
			t.node.setText(text)
			some = true
		}
	}
	return some
}

// text hits words, and leaves the blanks between them.
func (n *noise) text(rng *rand.Rand, text string, words []string) string {
	var b strings.Builder
	for text != "" {
		end := strings.IndexFunc(text, unicode.IsSpace)
		if end == 0 {
			end = strings.IndexFunc(text, func(r rune) bool { return !unicode.IsSpace(r) })
			if end < 0 {
				end = len(text)
			}
			b.WriteString(text[:end])
			text = text[end:]
			continue
		}
		if end < 0 {
			end = len(text)
		}
		word := text[:end]
		text = text[end:]
		if rng.Float64() < n.ratio {
			if word = unknownText; rng.Float64() >= hitUnknown {
				word = words[rng.IntN(len(words))]
			}
		}
		b.WriteString(word)
	}
	return b.String()
}
