package audit

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
)

// rule is a row of the table.
type rule struct {
	name string
	// needles are strings one of which is in every match, in lower case; none
	// = one of the shapes below is.
	needles []string
	near    shape
	// may says cheaply whether there can be a match around a place; nil =
	// always.
	may func(text []byte, at int) bool
	// pattern is what matches. Group 1, if there is one, is what check judges;
	// nil = all of it counts.
	pattern string
	check   func(value []byte) bool
	// before is how far before a needle a match may begin; 0: the match begins
	// at the needle. free says that a word may go on into the match; else the
	// match must begin one, by the expression wordStart.
	before int
	free   bool
	// after is how far the pattern looks from the needle on; 0 = the default.
	after int
}

// shape is what a rule without needles looks around.
type shape uint8

const (
	needles  shape = iota
	number         // seven digits or more, close together
	longWord       // 32 letters of base64 or more
)

// defaultAfter holds as much of a key as tells.
const defaultAfter = 160

// wordStart is what may stand before a key: anything but the inside of a word,
// or an escape of JSON or a URL.
const wordStart = `(?:^|[^A-Za-z0-9_-]|\\[nrtbf]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2})$`

// table is the rules, compiled, with their needles by first two bytes.
type table struct {
	rules    []rule
	compiled []*regexp.Regexp
	start    *regexp.Regexp
	buckets  [1 << 16]uint16 // by two bytes, folded: index into lists; 0 = none
	lists    [][]needle
	shapes   [3][]int // rules by shape
	matched  []bool   // for each rule, in the text at hand
}

// needle is one of a rule's.
type needle struct {
	text string
	rule int
}

func newTable() (*table, error) {
	t := &table{rules: rules(), lists: make([][]needle, 1), start: regexp.MustCompile(wordStart)}
	for i, r := range t.rules {
		pattern := r.pattern
		if r.before == 0 {
			pattern = "^(?:" + pattern + ")"
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, fmt.Errorf("compile rule %q: %w", r.name, err)
		}
		t.compiled = append(t.compiled, re)
		if len(r.needles) == 0 {
			t.shapes[r.near] = append(t.shapes[r.near], i)
		}
		for _, n := range r.needles {
			t.add(needle{n, i})
		}
	}
	t.matched = make([]bool, len(t.rules))
	return t, nil
}

// add puts a needle where its first two bytes are found; one of a single byte
// may have any after it.
func (t *table) add(n needle) {
	if len(n.text) > 1 {
		t.put(pair(n.text[0], n.text[1]), n)
		return
	}
	for next := range 0x100 {
		if next&0x20 != 0 {
			t.put(pair(n.text[0], byte(next)), n)
		}
	}
}

func (t *table) put(key uint16, n needle) {
	if t.buckets[key] == 0 {
		t.buckets[key] = uint16(len(t.lists))
		t.lists = append(t.lists, nil)
	}
	list := &t.lists[t.buckets[key]]
	*list = append(*list, n)
}

// names are the rules' names.
func (t *table) names() []string {
	names := make([]string, 0, len(t.rules)+1)
	for _, r := range t.rules {
		names = append(names, r.name)
	}
	return append(names, "unreadable")
}

// pair folds two bytes into an index; letters lose their case, and some marks
// become others, which the needles' comparison sorts out.
func pair(a, b byte) uint16 { return uint16(a|0x20)<<8 | uint16(b|0x20) }

// find returns the rules that match somewhere in a text, in the order of
// first matches, each once.
func (t *table) find(text []byte) (found []int) {
	clear(t.matched)
	numberEnd, wordEnd := 0, 0
	for i, c := range text {
		if i+1 < len(text) {
			if list := t.buckets[pair(c, text[i+1])]; list != 0 {
				found = t.atNeedles(found, t.lists[list], text, i)
			}
		}
		if i >= numberEnd && isDigit(c) && manyDigits(text[i:]) {
			numberEnd = i + step
			found = t.atShape(found, number, text, i)
		}
		if i >= wordEnd && isBase64[c] {
			if wordEnd = endOfWord(text, i); wordEnd-i >= minWord {
				found = t.atShape(found, longWord, text[i:wordEnd], 0)
			}
		}
	}
	return found
}

// atNeedles tries the rules whose needle stands at at.
func (t *table) atNeedles(found []int, list []needle, text []byte, at int) []int {
	for _, n := range list {
		if end := at + len(n.text); end <= len(text) && bytes.EqualFold(text[at:end], []byte(n.text)) {
			found = t.judge(found, n.rule, text, at)
		}
	}
	return found
}

func (t *table) atShape(found []int, s shape, text []byte, at int) []int {
	for _, rule := range t.shapes[s] {
		found = t.judge(found, rule, text, at)
	}
	return found
}

// step is how far numbers are looked for before the next look, and how close
// together digits make a number; minWord is the length from which on a word is
// judged by its look.
const (
	step    = 24
	minWord = 32
)

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// manyDigits reports seven digits or more in the next step.
func manyDigits(text []byte) bool {
	n := 0
	for _, c := range text[:min(len(text), step)] {
		if isDigit(c) {
			n++
		}
	}
	return n >= 7
}

func endOfWord(text []byte, at int) int {
	for at < len(text) && isBase64[text[at]] {
		at++
	}
	return at
}

// judge tries a rule around at.
func (t *table) judge(found []int, id int, text []byte, at int) []int {
	r := &t.rules[id]
	end := min(len(text), at+cmp.Or(r.after, defaultAfter))
	if t.matched[id] || r.may != nil && !r.may(text, at) {
		return found
	}
	from := max(0, at-r.before)
	for from < end {
		m := t.compiled[id].FindSubmatchIndex(text[from:end])
		if m == nil {
			return found
		}
		value := m[len(m)-2:] // group 1, if there is one
		if r.check == nil || r.check(text[from+value[0]:from+value[1]]) {
			if r.before == 0 && !r.free && !t.start.Match(text[max(0, at-6):at]) {
				return found
			}
			t.matched[id] = true
			return append(found, id)
		}
		if r.before == 0 {
			return found
		}
		from += max(1, value[1]) // what ends a value may begin the next
	}
	return found
}

// isBase64 holds the letters of both alphabets of base64.
var isBase64 = func() (t [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-") {
		t[c] = true
	}
	return t
}()
