package fault

import (
	"fmt"
	"strconv"
	"strings"
)

// jsonPath is a place in a JSON text: $ and then .name, ['name'], [3], [*] for
// every item, .* for every member. The $ may be left out.
type jsonPath []step

type step struct {
	name  string
	index int  // of an item; -1: by name
	all   bool // every item or member
}

// parsePath reads a path; an empty text is a path to nowhere.
func parsePath(text string) (jsonPath, error) {
	rest := strings.TrimPrefix(text, "$")
	if rest == text && text != "" && text[0] != '[' && text[0] != '.' {
		rest = "." + text // score instead of $.score
	}
	path := jsonPath{}
	for rest != "" {
		s, after, err := nextStep(rest)
		if err != nil {
			return nil, fmt.Errorf("%s is no path: %w; write $.result[*].payload", quoteAny(text), err)
		}
		path, rest = append(path, s), after
	}
	if text == "" {
		return nil, nil
	}
	return path, nil
}

func nextStep(text string) (s step, rest string, err error) {
	if text[0] == '.' {
		end := strings.IndexAny(text[1:], ".[")
		name := text[1:]
		if end >= 0 {
			name, rest = text[1:end+1], text[end+1:]
		}
		if name == "" {
			return s, "", fmt.Errorf("a name is missing behind a dot")
		}
		return step{name: name, index: -1, all: name == "*"}, rest, nil
	}
	if text[0] != '[' {
		return s, "", fmt.Errorf("%s begins with neither . nor [", quoteAny(text))
	}
	inside, rest, ok := strings.Cut(text[1:], "]")
	if !ok {
		return s, "", fmt.Errorf("a ] is missing")
	}
	if inside == "*" {
		return step{index: -1, all: true}, rest, nil
	}
	if name := strings.Trim(inside, `'"`); len(inside) > 2 && len(name) == len(inside)-2 {
		return step{name: name, index: -1}, rest, nil
	}
	n, err := strconv.Atoi(inside)
	if err != nil || n < 0 {
		return s, "", fmt.Errorf("%s is no index", quoteAny(inside))
	}
	return step{index: n}, rest, nil
}

// find returns the values at a path, in order; none = there is nothing.
func (p jsonPath) find(n *node) []*node {
	if p == nil || n == nil {
		return nil
	}
	at := []*node{n}
	for _, s := range p {
		var next []*node
		for _, n := range at {
			next = s.append(next, n)
		}
		at = next
	}
	return at
}

func (s step) append(to []*node, n *node) []*node {
	for i, item := range n.items {
		if s.all || i == s.index {
			to = append(to, item)
		}
	}
	for _, m := range n.members {
		if s.all || s.index < 0 && m.name == s.name {
			to = append(to, m.value)
		}
	}
	return to
}
