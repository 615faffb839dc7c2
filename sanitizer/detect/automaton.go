package detect

// automaton finds every literal of a set in one pass: Aho and Corasick, 1975,
// as a table of states by byte classes. ASCII case is folded; whoever needs
// the case looks at the text.
type automaton struct {
	class [256]uint8
	shift uint
	// next holds a row per state; an entry is the index of a row. States in
	// which a literal ends come last: from accept on.
	next   []uint32
	accept uint32
	// ends says, for each accepting state, which of ids end there.
	ends []span
	ids  []uint16
}

// span is a part of automaton.ids.
type span struct{ from, to uint16 }

// trieNode is a state while the automaton is built.
type trieNode struct {
	next [256]int32 // by class; 0 = none, since nothing leads back to the root
	fail int32
	ends []uint16
}

// newAutomaton builds the automaton of the literals, none of which is empty.
func newAutomaton(literals []string) *automaton {
	a := &automaton{}
	classes := a.classify(literals)
	for 1<<a.shift < classes {
		a.shift++
	}
	nodes := grow(literals, &a.class)
	order := link(nodes, classes)
	a.lay(nodes, order, classes)
	return a
}

// classify gives each byte that is in a literal a class of its own, and class
// 0 to all others.
func (a *automaton) classify(literals []string) (classes int) {
	classes = 1
	for _, l := range literals {
		for i := range len(l) {
			if c := fold(l[i]); a.class[c] == 0 {
				a.class[c] = uint8(classes)
				classes++
			}
		}
	}
	for c := byte('A'); c <= 'Z'; c++ {
		a.class[c] = a.class[fold(c)]
	}
	return classes
}

// grow makes the trie of the literals.
func grow(literals []string, class *[256]uint8) []trieNode {
	nodes := make([]trieNode, 1, 1024)
	for id, l := range literals {
		at := int32(0)
		for i := range len(l) {
			c := class[fold(l[i])]
			if nodes[at].next[c] == 0 {
				nodes[at].next[c] = int32(len(nodes))
				nodes = append(nodes, trieNode{})
			}
			at = nodes[at].next[c]
		}
		nodes[at].ends = append(nodes[at].ends, uint16(id))
	}
	return nodes
}

// link fills the missing transitions with those of the longest suffix, in
// breadth-first order, which it returns.
func link(nodes []trieNode, classes int) []int32 {
	order := make([]int32, 1, len(nodes))
	for i := 0; i < len(order); i++ {
		at := order[i]
		for c := range classes {
			to, viaFail := nodes[at].next[c], nodes[nodes[at].fail].next[c]
			if to == 0 {
				nodes[at].next[c] = viaFail
				continue
			}
			if at != 0 {
				nodes[to].fail = viaFail
				nodes[to].ends = append(nodes[to].ends, nodes[viaFail].ends...)
			}
			order = append(order, to)
		}
	}
	return order
}

// lay writes the table, accepting states last.
func (a *automaton) lay(nodes []trieNode, order []int32, classes int) {
	row := make([]uint32, len(nodes))
	at := uint32(0)
	for _, accepting := range []bool{false, true} {
		if accepting {
			a.accept = at << a.shift
		}
		for _, n := range order {
			if len(nodes[n].ends) > 0 == accepting {
				row[n] = at << a.shift
				at++
			}
		}
	}
	a.next = make([]uint32, len(nodes)<<a.shift)
	a.ends = make([]span, uint32(len(nodes))-a.accept>>a.shift)
	for n := range nodes {
		for c := range classes {
			a.next[row[n]+uint32(c)] = row[nodes[n].next[c]]
		}
		if row[n] >= a.accept {
			from := uint16(len(a.ids))
			a.ids = append(a.ids, nodes[n].ends...)
			a.ends[(row[n]-a.accept)>>a.shift] = span{from, uint16(len(a.ids))}
		}
	}
}

// found is the literals that end in an accepting state.
func (a *automaton) found(state uint32) []uint16 {
	s := a.ends[(state-a.accept)>>a.shift]
	return a.ids[s.from:s.to]
}
