package sanitizer

import (
	"strconv"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// maxFields bounds the names kept of one header section.
const maxFields = 96

// otherName stands for a header name that is none.
const otherName = "x-other"

// fieldSet collects name → value or length, in order of appearance.
type fieldSet struct{ fields []safeField }

type safeField struct {
	name string
	// kept is the value; empty = only length, the sum over repetitions, is.
	kept   string
	length int
}

// add joins repetitions of a name: kept values in a list, lengths in a sum. A
// name of which one value is not kept keeps none. It reports false where the
// set is full.
func (f *fieldSet) add(name, kept string, length int) bool {
	for i := range f.fields {
		if old := &f.fields[i]; old.name == name {
			if old.kept != "" && kept != "" && len(old.kept) < 256 {
				kept = old.kept + ", " + kept
			} else {
				kept = ""
			}
			old.kept, old.length = kept, old.length+length
			return true
		}
	}
	if len(f.fields) == maxFields {
		return false
	}
	f.fields = append(f.fields, safeField{name, kept, length})
	return true
}

func (f *fieldSet) toMap() map[string]string {
	if len(f.fields) == 0 {
		return nil
	}
	m := make(map[string]string, len(f.fields))
	for _, field := range f.fields {
		if field.kept != "" {
			m[field.name] = field.kept
		} else {
			m[field.name] = "len:" + strconv.Itoa(field.length)
		}
	}
	return m
}

// headerRule is what the policy says of one header.
type headerRule struct {
	name string
	read reader // nil for a link header, or for one that is dropped
	drop bool
}

// headers sanitizes header and trailer fields into set.
func (s *Sanitizer) headers(set *fieldSet, column string, fields []trace.Field) {
	for _, f := range fields {
		name, kept := s.header(column, f)
		if !set.add(name, kept, len(f.Value)) {
			s.tally.add("header_count", column, 1)
		}
	}
}

// header returns the name to keep, and the value or "".
func (s *Sanitizer) header(column string, f trace.Field) (name, kept string) {
	var buf [64]byte
	lower, ok := lowerToken(buf[:0], f.Name)
	if !ok {
		s.tally.add("header_name", column, 1)
		return otherName, ""
	}
	rule, listed := s.headerRules[string(lower)]
	switch {
	case listed && rule.drop:
		s.tally.add("credential", column, 1)
		return rule.name, ""
	case listed && rule.read == nil:
		s.tally.add("pseudonym", column, 1)
		return rule.name, "id-" + s.keys.name("link", linkID(rule.name, f.Value))
	case listed:
		if kept, ok = rule.read(strings.TrimSpace(f.Value)); ok {
			return rule.name, kept
		}
		s.tally.add("header_grammar", column, 1)
		return rule.name, ""
	}
	if _, drop := s.dropHeaders.match(string(lower)); drop {
		s.tally.add("credential", column, 1)
	} else {
		s.tally.add("header_value", column, 1)
	}
	if name = s.unknownName(f.Name, lower); name != string(lower) {
		s.tally.add("header_name", column, 1)
	}
	return name, ""
}

// maxNames bounds the memory of names already judged.
const maxNames = 1 << 10

// unknownName returns the name of a header that the policy does not list, or a
// pseudonym of it, and remembers: clients send the same two dozen with every request.
func (s *Sanitizer) unknownName(raw string, lower []byte) string {
	if kept, ok := s.names.get(raw); ok {
		return kept
	}
	kept := string(lower)
	if !s.vocab.plainName(raw) {
		kept = "name-" + s.keys.name("name", kept)
	}
	s.names.put(strings.Clone(raw), kept)
	return kept
}

// lowerToken appends name in lower case; ok is false where it is longer than
// dst or no token.
func lowerToken(dst []byte, name string) (lower []byte, ok bool) {
	if len(name) > cap(dst) || !isToken(name) {
		return nil, false
	}
	for i := range len(name) {
		c := name[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		dst = append(dst, c)
	}
	return dst, true
}

// linkID is the part of a link header that is equal in all exchanges of one
// operation: the trace id of W3C, B3 and X-Ray contexts, else the whole.
func linkID(name, value string) string {
	switch name {
	case "traceparent":
		if parts := strings.Split(value, "-"); len(parts) == 4 {
			return parts[1]
		}
	case "b3":
		id, _, _ := strings.Cut(value, "-")
		return id
	case "x-amzn-trace-id":
		for part := range strings.SplitSeq(value, ";") {
			if root, ok := strings.CutPrefix(strings.TrimSpace(part), "Root="); ok {
				return root
			}
		}
	}
	return value
}

// headerValue is the first value of a field, by name without case.
func headerValue(fields []trace.Field, name string) string {
	for _, f := range fields {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}
