package llmwire

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// Rule says what requests to a path are, where neither path nor body tells:
// behind a gateway with paths of its own.
type Rule struct {
	// Path is a pattern of [path.Match] for the whole path, without query.
	Path string
	Kind trace.APIKind
}

// ParseRule reads "PATH=KIND", such as "/my/*/chat=openai.chat". An unknown
// kind, and a pattern that is none, are errors.
func ParseRule(s string) (Rule, error) {
	at := strings.LastIndexByte(s, '=')
	if at < 0 {
		return Rule{}, fmt.Errorf("parse API rule %q: want PATH=KIND", s)
	}
	rule := Rule{s[:at], trace.APIKind(s[at+1:])}
	if err := rule.Check(); err != nil {
		return Rule{}, fmt.Errorf("parse API rule %q: %w", s, err)
	}
	return rule, nil
}

// Check reports a pattern that is none, and a kind that is not known.
func (r Rule) Check() error {
	if _, err := path.Match(r.Path, ""); err != nil || !strings.HasPrefix(r.Path, "/") {
		return fmt.Errorf("%q is no pattern of a path: want /, * and ?", r.Path)
	}
	if r.Kind != trace.KindOther && find(r.Kind) == nil {
		return fmt.Errorf("kind %q is not known: want one of %s", r.Kind, strings.Join(Kinds(), ", "))
	}
	return nil
}

// Kinds lists the families that are known, by name, and "other".
func Kinds() []string {
	list := []string{string(trace.KindOther)}
	for _, f := range families {
		list = append(list, string(f.kind))
	}
	slices.Sort(list)
	return list
}

// RecognizeBy is [Recognize] with rules that go before it, the first that fits
// first.
func RecognizeBy(rules []Rule, method, target string, reqBody []byte) trace.APIKind {
	if method == "POST" {
		for _, r := range rules {
			if ok, err := path.Match(r.Path, target); ok && err == nil {
				return r.Kind
			}
		}
	}
	return Recognize(method, target, reqBody)
}
