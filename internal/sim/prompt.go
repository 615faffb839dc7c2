package sim

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/lambdac/lambdac/internal/twin"
)

// tokenBytes is the length from which a word counts as several tokens.
const tokenBytes = 24

// prompt counts tokens and chains them into the keys of its full blocks.
type prompt struct {
	tokens int
	chain  uint64
	keys   []int64
	said   string // the text of the last message
}

func (p *prompt) token(h uint64) {
	p.chain = (p.chain ^ h) * 0x9e3779b97f4a7c15
	p.chain ^= p.chain >> 29
	p.tokens++
	if p.tokens%twin.BlockTokens == 0 {
		p.keys = append(p.keys, int64(p.chain))
	}
}

// text adds the words of a text.
func (p *prompt) text(s string) {
	if p.said == "" {
		p.said = s
	} else {
		p.said += "\n" + s
	}
	h, n := fnvOffset, 0
	for i := range len(s) {
		c := s[i]
		if c > ' ' && n < tokenBytes {
			h = (h ^ uint64(c)) * fnvPrime
			n++
			continue
		}
		if n > 0 {
			p.token(h)
			h, n = fnvOffset, 0
		}
		if c > ' ' {
			h, n = (h^uint64(c))*fnvPrime, 1
		}
	}
	if n > 0 {
		p.token(h)
	}
}

// FNV-1a, 64 bits (draft-eastlake-fnv).
const (
	fnvOffset uint64 = 14695981039346656037
	fnvPrime  uint64 = 1099511628211
)

// message adds one chat message: its template, then its texts.
func (p *prompt) message(m wireMessage, overhead int) error {
	role := uint64(len(m.Role))
	for i := range m.Role {
		role = (role ^ uint64(m.Role[i])) * fnvPrime
	}
	for range overhead {
		p.token(role)
	}
	p.said = ""
	return p.content(m.Content)
}

var errContent = errors.New("content: want a string or a list of parts")

// content adds a string, a list of parts with text, or nothing for null.
func (p *prompt) content(raw json.RawMessage) error {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || raw[0] == 'n':
		return nil
	case raw[0] == '"':
		return p.quoted(raw)
	case raw[0] != '[':
		return errContent
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return errContent
	}
	for _, part := range parts {
		p.text(part.Text)
	}
	return nil
}

func (p *prompt) quoted(raw json.RawMessage) error {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return errContent
	}
	p.text(s)
	return nil
}

// ids adds token ids.
func (p *prompt) ids(ids []int64) {
	for _, id := range ids {
		p.token(uint64(id))
	}
}

var (
	errPrompt  = errors.New("prompt: want a string or a list of token ids")
	errPrompts = errors.New("prompt: several prompts in one request are not simulated; send one request each")
)

// completion adds a completion's prompt: a string, one string in a list, or
// token ids.
func (p *prompt) completion(raw json.RawMessage) error {
	inputs, err := readInputs(raw)
	if err != nil {
		return errPrompt
	}
	if len(inputs) != 1 {
		return errPrompts
	}
	p.input(inputs[0])
	return nil
}

// input is one prompt or one input of an embedding.
type input struct {
	text string
	ids  []int64
}

func (p *prompt) input(in input) {
	p.text(in.text)
	p.ids(in.ids)
}

var errInputs = errors.New("input: want a string, a list of strings, token ids, or a list of those")

// readInputs reads what "prompt" and "input" may be: a string, a list of
// strings, a list of token ids, or a list of such lists.
func readInputs(raw json.RawMessage) ([]input, error) {
	var (
		one   string
		many  []string
		ids   []int64
		lists [][]int64
	)
	switch {
	case len(raw) == 0:
		return nil, errInputs
	case json.Unmarshal(raw, &one) == nil && raw[0] == '"':
		return []input{{text: one}}, nil
	case json.Unmarshal(raw, &many) == nil && len(many) > 0:
		inputs := make([]input, len(many))
		for i, s := range many {
			inputs[i].text = s
		}
		return inputs, nil
	case json.Unmarshal(raw, &ids) == nil && len(ids) > 0:
		return []input{{ids: ids}}, nil
	case json.Unmarshal(raw, &lists) == nil && len(lists) > 0:
		inputs := make([]input, len(lists))
		for i, l := range lists {
			inputs[i].ids = l
		}
		return inputs, nil
	}
	return nil, errInputs
}
