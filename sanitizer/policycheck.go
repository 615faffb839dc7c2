package sanitizer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lambdac/lambdac/sanitizer/detect"
)

// PolicyError says what is wrong with a policy, and what to try.
type PolicyError struct {
	// Field is the path in the policy: "headers.accept", "words[3]".
	Field   string
	Problem string
	// Try is what to do about it.
	Try string
	// at is Field in parts: string keys and int indexes.
	at []any
}

// Error is one line: field, problem and remedy.
func (e *PolicyError) Error() string {
	return fmt.Sprintf("check policy: %s: %s: %s", e.Field, e.Problem, e.Try)
}

// wrong is a PolicyError at a place.
func wrong(at []any, try, problem string, args ...any) error {
	return &PolicyError{Field: fieldOf(at), at: slices.Clone(at), Problem: fmt.Errorf(problem, args...).Error(), Try: try}
}

func fieldOf(at []any) string {
	var b strings.Builder
	for _, part := range at {
		switch p := part.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(p) + "]")
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(p)
		}
	}
	return b.String()
}

// check returns the first thing that is wrong, a [*PolicyError].
func (p Policy) check() error {
	if p.Schema != "" && p.Schema != PolicySchema {
		return wrong([]any{"schema"}, "write schema: "+PolicySchema, "%q is not known", p.Schema)
	}
	for _, check := range []func() error{
		p.checkHeaders, p.checkQuery, p.checkLists, p.checkGrammars, p.checkSources, p.Body.check, p.Detect.check,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (p Policy) checkHeaders() error {
	drop := newNameList(p.DropHeaders)
	for i, name := range p.DropHeaders {
		if err := checkHeader([]any{"drop_headers", i}, strings.TrimSuffix(name, "*")); err != nil {
			return err
		}
	}
	for i, name := range p.LinkHeaders {
		at := []any{"link_headers", i}
		if err := checkHeader(at, name); err != nil {
			return err
		}
		if rule, both := drop.match(name); both {
			return wrong(at, "take it out of one", "header %q is in drop_headers too, by %q", name, rule)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Headers)) {
		at := []any{"headers", name}
		if err := checkHeader(at, name); err != nil {
			return err
		}
		if slices.Contains(p.LinkHeaders, name) {
			return wrong(at, "take it out of one", "header %q is both in headers and in link_headers", name)
		}
		if rule, both := drop.match(name); both {
			return wrong(at, "take it out of one", "header %q is in drop_headers too, by %q", name, rule)
		}
	}
	return nil
}

func (p Policy) checkQuery() error {
	drop := newNameList(p.DropQuery)
	for i, name := range p.DropQuery {
		if err := checkLiteral([]any{"drop_query", i}, strings.TrimSuffix(name, "*")); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Query)) {
		at := []any{"query", name}
		if err := checkLiteral(at, name); err != nil {
			return err
		}
		if rule, both := drop.match(name); both {
			return wrong(at, "take it out of one", "parameter %q is in drop_query too, by %q", name, rule)
		}
	}
	return nil
}

// checkLists looks for regular expressions where names are literal.
func (p Policy) checkLists() error {
	for _, l := range []struct {
		field string
		list  []string
	}{
		{"path_words", p.PathWords},
		{"path_parents", p.PathParents},
		{"models", p.Models},
		{"words", p.Words},
	} {
		for i, item := range l.list {
			if err := checkLiteral([]any{l.field, i}, item); err != nil {
				return err
			}
			if strings.HasPrefix(l.field, "path_") && strings.Contains(item, "/") {
				return wrong([]any{l.field, i}, "give each segment for itself", "%q has no effect: it is more than one segment of a path", item)
			}
		}
	}
	for _, l := range []struct {
		field string
		list  []string
	}{
		{"name_parts", p.NameParts}, {"model_parts", p.ModelParts}, {"word_parts", p.WordParts},
	} {
		for i, item := range l.list {
			if item == "" || strings.Trim(item, "abcdefghijklmnopqrstuvwxyz") != "" {
				return wrong([]any{l.field, i}, "give each word for itself, in lower case", "%q is not one word of letters a to z", item)
			}
		}
	}
	return nil
}

func (p Policy) checkGrammars() error {
	for _, set := range []struct {
		at     []any
		values map[string]Grammar
	}{
		{[]any{"headers"}, p.Headers}, {[]any{"query"}, p.Query}, {[]any{"body", "keep"}, p.Body.Keep},
	} {
		for _, name := range slices.Sorted(maps.Keys(set.values)) {
			if g := set.values[name]; !g.known() {
				return wrong(append(set.at, name), "use one of "+grammarNames(), "%q has the unknown grammar %q", name, g)
			}
		}
	}
	return nil
}

func (p Policy) checkSources() error {
	for _, l := range []struct {
		field string
		list  []Source
	}{{"tenant", p.Tenant}, {"session", p.Session}} {
		for i, s := range l.list {
			at := []any{l.field, i}
			if s.Place != PlaceHeader && s.Place != PlaceQuery && s.Place != PlaceBody {
				return wrong(append(at, "place"), "use header, query or body", "source %q has the unknown place %q", s.Name, s.Place)
			}
			if s.Name == "" {
				return wrong(at, "add name", "a source in %q has no name", s.Place)
			}
			if err := checkLiteral(append(at, "name"), s.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// check parses every place, and refuses rules of which one makes the other
// void.
func (b BodyPolicy) check() error {
	type rule struct {
		at    []any
		text  string
		steps []placeStep
	}
	var before []rule // those of lists that count first
	for _, l := range []struct {
		field string
		list  []string
	}{
		{"drop", b.Drop}, {"pseudonym", b.Pseudonym}, {"keep", slices.Sorted(maps.Keys(b.Keep))}, {"json", b.JSON}, {"text", b.Text},
	} {
		var here []rule
		for i, text := range l.list {
			at := []any{"body", l.field, i}
			if l.field == "keep" {
				at = []any{"body", l.field, text}
			}
			steps, err := parsePlace(text)
			if err != nil {
				return wrong(at, "write names with dots between, [] for the elements of a list, * for any name, ** for any depth", "%w", err)
			}
			for _, first := range before {
				if covers(first.steps, steps) {
					return wrong(at, "take one of them out", "%q has no effect: %s %q covers it", text, fieldOf(first.at[:2]), first.text)
				}
			}
			here = append(here, rule{at, text, steps})
		}
		before = append(before, here...)
	}
	return nil
}

// check looks each rule up in the table of detectors.
func (d DetectPolicy) check() error {
	known := make(map[string]bool)
	for _, r := range detect.Rules() {
		known[r.Name] = true
	}
	for i, name := range d.Off {
		if !known[name] {
			return wrong([]any{"detect", "off", i}, "docs/sanitizer.md lists them", "no rule is called %q", name)
		}
	}
	for i, term := range d.Terms {
		if strings.TrimSpace(term) == "" {
			return wrong([]any{"detect", "terms", i}, "take it out", "an empty term would be found everywhere")
		}
	}
	return nil
}

func checkHeader(at []any, name string) error {
	if name == "" || name != strings.ToLower(name) || !isToken(name) || looksLikePattern(name) {
		return wrong(at, "names are literal; only drop_headers may end with *", "header %q is not a lower-case field name", name)
	}
	return nil
}

func checkLiteral(at []any, name string) error {
	if name == "" {
		return wrong(at, "take it out", "an empty name")
	}
	if looksLikePattern(name) {
		return wrong(at, "names are literal here: give each one for itself", "%q looks like a pattern", name)
	}
	return nil
}
