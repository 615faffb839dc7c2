package sanitizer

import (
	"encoding/binary"
	"maps"
	"slices"
)

// treatment is what becomes of a value.
type treatment uint8

// In order of precedence. A place that no rule names has none: its length is
// kept.
const (
	treatNone treatment = iota
	treatDrop
	treatPseudonym
	treatKeep
	treatJSON
	treatText
)

// places finds the treatment of each place of a body while it is walked. The
// rules make a non-deterministic automaton over names, whose steps are
// computed once for each name and remembered. It is for one goroutine.
type places struct {
	rules  []placeRule
	states map[string]*bodyPlace
	start  *bodyPlace
	// inner is where a JSON text inside a string begins: only the rules for any
	// depth reach into it.
	inner *bodyPlace
}

// placeRule is one rule: its steps and what it says.
type placeRule struct {
	steps   []placeStep
	treat   treatment
	grammar Grammar
	read    reader
}

// at is a rule with its first done steps taken.
type at struct{ rule, done int32 }

// bodyPlace is a state of the automaton: the rules that still fit.
type bodyPlace struct {
	set  []at
	rule *placeRule // the one that names this place; nil = none
	next map[string]*bodyPlace
	elem *bodyPlace
}

// maxNext bounds the names remembered at one place: those of an API are few,
// those of a body may be any.
const maxNext = 256

func newPlaces(b BodyPolicy, readers map[Grammar]reader) *places {
	p := &places{states: make(map[string]*bodyPlace)}
	for _, l := range []struct {
		treat treatment
		list  []string
	}{
		{treatDrop, b.Drop},
		{treatPseudonym, b.Pseudonym},
		{treatKeep, slices.Sorted(maps.Keys(b.Keep))},
		{treatJSON, b.JSON},
		{treatText, b.Text},
	} {
		for _, text := range l.list {
			steps, err := parsePlace(text)
			if err != nil {
				continue // the policy has been checked
			}
			g := b.Keep[text]
			rule := placeRule{steps: steps, treat: l.treat}
			if l.treat == treatKeep {
				rule.grammar, rule.read = g, readers[g]
			}
			p.rules = append(p.rules, rule)
		}
	}
	var all, deep []at
	for i, rule := range p.rules {
		all = p.close(all, at{int32(i), 0})
		if rule.steps[0] == deepStep {
			deep = p.close(deep, at{int32(i), 0})
		}
	}
	p.start, p.inner = p.state(all), p.state(deep)
	return p
}

// close adds an item, and where its next step may be skipped also the one
// after it.
func (p *places) close(set []at, a at) []at {
	if slices.Contains(set, a) {
		return set
	}
	set = append(set, a)
	steps := p.rules[a.rule].steps
	if int(a.done) < len(steps) && steps[a.done] == deepStep {
		set = p.close(set, at{a.rule, a.done + 1})
	}
	return set
}

// state returns the one place of a set.
func (p *places) state(set []at) *bodyPlace {
	slices.SortFunc(set, func(a, b at) int { return int(a.rule-b.rule)*1024 + int(a.done-b.done) })
	key := make([]byte, 0, 8*len(set))
	for _, a := range set {
		key = binary.BigEndian.AppendUint32(key, uint32(a.rule))
		key = binary.BigEndian.AppendUint32(key, uint32(a.done))
	}
	if known, ok := p.states[string(key)]; ok {
		return known
	}
	s := &bodyPlace{set: set, next: make(map[string]*bodyPlace)}
	for _, a := range set { // rules are in order of precedence
		if rule := &p.rules[a.rule]; int(a.done) == len(rule.steps) && (s.rule == nil || rule.treat < s.rule.treat) {
			s.rule = rule
		}
	}
	p.states[string(key)] = s
	return s
}

// member is the place of a member below s.
func (p *places) member(s *bodyPlace, name []byte) *bodyPlace {
	if known, ok := s.next[string(name)]; ok {
		return known
	}
	flat := string(flatName(nil, name))
	next := p.advance(s, func(step placeStep) bool { return step != elementStep && step.fits(flat) })
	if len(s.next) < maxNext && len(name) <= 64 {
		s.next[string(name)] = next
	}
	return next
}

// element is the place of the elements of a list at s.
func (p *places) element(s *bodyPlace) *bodyPlace {
	if s.elem == nil {
		s.elem = p.advance(s, func(step placeStep) bool { return step == elementStep })
	}
	return s.elem
}

func (p *places) advance(s *bodyPlace, fits func(placeStep) bool) *bodyPlace {
	var set []at
	for _, a := range s.set {
		steps := p.rules[a.rule].steps
		switch {
		case int(a.done) == len(steps):
		case steps[a.done] == deepStep:
			set = p.close(set, a)
		case fits(steps[a.done]):
			set = p.close(set, at{a.rule, a.done + 1})
		}
	}
	return p.state(set)
}
