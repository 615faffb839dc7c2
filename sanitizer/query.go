package sanitizer

import (
	"iter"
	"strings"
)

// maxParams bounds the parameters kept of one query.
const maxParams = 32

// query puts the parameters into set as "?name": no header name has a '?' in
// it, and so the schema needs no column of its own. Values stay by allow-list
// only.
func (s *Sanitizer) query(set *fieldSet, raw string) {
	const column = "query"
	n := 0
	for name, value := range params(raw) {
		if n++; n > maxParams {
			s.tally.add("query_count", column, 1)
			continue
		}
		kept := ""
		if read, ok := s.queryRules[name]; ok {
			kept, ok = read(value)
			if !ok {
				kept = ""
				s.tally.add("query_grammar", column, 1)
			}
		} else {
			name = s.droppedParam(name)
		}
		if !set.add("?"+name, kept, len(value)) {
			s.tally.add("query_count", column, 1)
		}
	}
}

// droppedParam counts a parameter whose value is not kept, and returns its name
// or a pseudonym of it.
func (s *Sanitizer) droppedParam(name string) string {
	const column = "query"
	rule, drop := s.dropQuery.match(name)
	if drop {
		s.tally.add("credential", column, 1)
	} else {
		s.tally.add("query_value", column, 1)
	}
	if drop && !strings.HasSuffix(rule, "*") {
		return rule
	}
	if s.vocab.plainName(name) {
		return name
	}
	s.tally.add("query_name", column, 1)
	return "name-" + s.keys.name("name", name)
}

// params yields the raw names and values of a query.
func params(raw string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for len(raw) > 0 {
			param := raw
			if end := strings.IndexAny(raw, "&;"); end >= 0 {
				param, raw = raw[:end], raw[end+1:]
			} else {
				raw = ""
			}
			name, value, _ := strings.Cut(param, "=")
			if param != "" && !yield(name, value) {
				return
			}
		}
	}
}

// paramValue is the first value of a parameter.
func paramValue(raw, name string) string {
	for n, v := range params(raw) {
		if n == name {
			return v
		}
	}
	return ""
}
