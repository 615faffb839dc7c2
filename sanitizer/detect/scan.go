package detect

import (
	"bytes"
	"cmp"
	"slices"
)

// job is one text being searched. It stays on the caller's stack.
type job struct {
	s     *Scanner
	text  []byte
	found []Finding // with the caller's before base
	base  int
	// last is, for each context, one more than where its last word ended; 0 =
	// none so far.
	last [contexts]int
	// Up to where text has been judged by rules that look ahead, so that no
	// byte is looked at again and again.
	numberEnd, wordEnd, addressEnd, valueEnd, blockEnd, keyEnd int
	// plainNumbers says that numbers are ids, times or counts.
	plainNumbers bool
	// steps counts the bytes that rules looked at, for a test of linear time.
	steps int
}

// minRandom is the length from which on a word is judged by its look;
// minOpaque that from which on nothing in it is looked for.
const (
	minRandom = 20
	minOpaque = 1024
)

// token is the alphabet of words that can be random.
const token = alnum | plus | slash | dash | under

// scan searches the whole text.
func (j *job) scan() {
	from := 0
	for at := minRandom - 1; at < len(j.text); {
		if !token.in(j.text[at]) {
			at += minRandom
			continue
		}
		start := max(from, token.back(j.text, at, minRandom))
		end := j.run(token, at, len(j.text))
		if end-start >= minRandom {
			if end-start >= minOpaque && j.opaque(start, end) {
				j.literals(from, start)
				from = end
			} else {
				j.random(start, end)
			}
		}
		at = end + minRandom
	}
	j.literals(from, len(j.text))
}

// literals runs the automaton over text[from:to].
func (j *job) literals(from, to int) {
	a := j.s.literals
	next, class, accept := a.next, &a.class, a.accept
	state := uint32(0)
	for i, c := range j.text[from:to] {
		state = next[state+uint32(class[c])]
		if state < accept || from+i < j.numberEnd && digit.in(c) {
			continue
		}
		for _, id := range a.found(state) {
			j.start(&j.s.table[id], from+i+1)
		}
	}
}

// start follows a literal that ends at end.
func (j *job) start(l *literal, end int) {
	switch l.kind {
	case kindKey:
		j.key(&keyFormats[l.index], end)
	case kindDigit:
		j.number(end - 1)
	case kindAt:
		j.at(end-len(l.text), end)
	case kindPercent:
		if j.byteAt(end) == '0' {
			j.at(end-len(l.text), end+1)
		}
	case kindJWT:
		j.jwt(end - len(l.text))
	case kindPEM:
		j.pem(end - len(l.text))
	case kindURL:
		j.url(end)
	case kindScheme:
		j.scheme(end-len(l.text), end)
	case kindName:
		j.named(&secretNames[l.index], end-len(l.text), end)
	case kindHome:
		j.home(end-len(l.text), end)
	case kindHost:
		j.host(&hostSuffixes[l.index], end-len(l.text), end)
	case kindARN:
		j.arn(end)
	case kindAzure:
		j.subscription(end)
	case kindBech32:
		j.bech32(end - len(l.text))
	case kindNear:
		j.told(l, end)
	case kindTerm:
		if start, term := end-len(l.text), j.s.terms[l.index]; j.hasWord(start, term) {
			j.add("term", Term, start, start+len(term))
		}
	}
}

// run is [alphabet.run], counted.
func (j *job) run(a alphabet, at, limit int) int {
	end := a.run(j.text, at, limit)
	j.steps += end - at
	return end
}

// has reports that s stands at at.
func (j *job) has(at int, s string) bool {
	return at >= 0 && at <= len(j.text) && bytes.HasPrefix(j.text[at:], []byte(s))
}

// byteAt is the byte at at, 0 outside the text.
func (j *job) byteAt(at int) byte {
	if at < 0 || at >= len(j.text) {
		return 0
	}
	return j.text[at]
}

// add notes a finding, unless its rule is off.
func (j *job) add(rule string, class Class, start, end int) {
	if start < end && !j.s.off[rule] {
		j.found = append(j.found, Finding{rule, class, start, end})
	}
}

// settle sorts the findings and makes one of those that overlap.
func (j *job) settle() []Finding {
	found := j.found[j.base:]
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	kept := 0
	for i, f := range found {
		if i > 0 && f.Start < found[kept-1].End {
			last := &found[kept-1]
			last.End = max(last.End, f.End)
			if j.s.order[f.Rule] < j.s.order[last.Rule] {
				last.Rule, last.Class = f.Rule, f.Class
			}
			continue
		}
		found[kept] = f
		kept++
	}
	return j.found[:j.base+kept]
}
