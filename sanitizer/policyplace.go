package sanitizer

import (
	"fmt"
	"strings"
)

// placeStep is one step of a place in a JSON body: a name in the form of
// [flatName], maybe with a '*' at its beginning or end for any rest, or one of
// the marks below.
type placeStep string

const (
	elementStep placeStep = "[]" // each element of a list
	anyStep     placeStep = "*"  // any one member
	deepStep    placeStep = "**" // any number of members and elements
)

// parsePlace reads "messages[].content".
func parsePlace(text string) ([]placeStep, error) {
	var steps []placeStep
	for part := range strings.SplitSeq(text, ".") {
		name, brackets := part, 0
		for strings.HasSuffix(name, "[]") {
			name, brackets = strings.TrimSuffix(name, "[]"), brackets+1
		}
		if name == "" && brackets == 0 {
			return nil, fmt.Errorf("an empty name in %q", text)
		}
		if looksLikePattern(strings.TrimSuffix(strings.TrimPrefix(name, "*"), "*")) {
			return nil, fmt.Errorf("%q has more than names, [], * and ** in it", text)
		}
		if name != "" {
			steps = append(steps, flatStep(name))
		}
		for range brackets {
			steps = append(steps, elementStep)
		}
	}
	return steps, nil
}

func flatStep(name string) placeStep {
	if s := placeStep(name); s == anyStep || s == deepStep {
		return s
	}
	var b []byte
	if strings.HasPrefix(name, "*") {
		b = append(b, '*')
	}
	b = flatName(b, []byte(name))
	if strings.HasSuffix(name, "*") {
		b = append(b, '*')
	}
	return placeStep(b)
}

// flatName appends a member's name in lower case, letters and digits only:
// maxTokens, max_tokens and Max-Tokens are one name.
func flatName(dst, name []byte) []byte {
	for _, c := range name {
		switch {
		case c >= 'A' && c <= 'Z':
			dst = append(dst, c|0x20)
		case isAlnum(c), c >= 0x80:
			dst = append(dst, c)
		}
	}
	return dst
}

// fits reports whether a step takes a flat name.
func (s placeStep) fits(name string) bool {
	if s == anyStep {
		return true
	}
	rule := string(s)
	end, anyStart := strings.CutPrefix(rule, "*")
	middle, anyEnd := strings.CutSuffix(end, "*")
	switch {
	case anyStart && anyEnd:
		return strings.Contains(name, middle)
	case anyStart:
		return strings.HasSuffix(name, end)
	case anyEnd:
		return strings.HasPrefix(name, middle)
	}
	return name == rule
}

// looksLikePattern reports bytes that a regular expression has and a name has
// not.
func looksLikePattern(s string) bool { return strings.ContainsAny(s, `\^$+?()[]{}|*`) }

// covers reports whether every value at place b also is at place a.
func covers(a, b []placeStep) bool {
	if len(a) == 0 {
		return len(b) == 0
	}
	if a[0] == deepStep {
		for skip := range len(b) + 1 {
			if covers(a[1:], b[skip:]) {
				return true
			}
		}
		return false
	}
	if len(b) == 0 || b[0] == deepStep {
		return false
	}
	fits := a[0] == b[0] || b[0] != elementStep && a[0] != elementStep && a[0].fits(string(b[0]))
	return fits && covers(a[1:], b[1:])
}

// nameList matches names: whole, or by their beginning where the rule ends
// with '*'.
type nameList struct {
	whole  map[string]struct{}
	begins []string
}

func newNameList(rules []string) nameList {
	l := nameList{whole: make(map[string]struct{})}
	for _, rule := range rules {
		if head, ok := strings.CutSuffix(rule, "*"); ok {
			l.begins = append(l.begins, head)
		} else {
			l.whole[rule] = struct{}{}
		}
	}
	return l
}

// match returns the rule that names the name.
func (l *nameList) match(name string) (rule string, ok bool) {
	if _, ok := l.whole[name]; ok {
		return name, true
	}
	for _, head := range l.begins {
		if strings.HasPrefix(name, head) {
			return head + "*", true
		}
	}
	return "", false
}
