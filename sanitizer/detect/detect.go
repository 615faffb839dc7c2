package detect

import (
	"fmt"
	"slices"
)

// Class is what kind of thing a rule finds.
type Class uint8

// The classes.
const (
	Secret     Class = iota + 1 // a credential: whoever has it can act
	Term                        // a literal of the user's own ([Config].Terms)
	Card                        // payment card number
	IBAN                        // bank account number
	NationalID                  // number a state gave a person
	Wallet                      // crypto-currency address
	Email                       // e-mail address
	Phone                       // telephone number
	BirthDate                   // date with a word for birth beside it
	IP                          // IPv4 or IPv6 address
	MAC                         // hardware address
	Path                        // the user's name in a path
	Host                        // name of a private host, git remote or cloud resource
	Opaque                      // long base64 in which nothing can be seen
)

var classNames = [...]string{
	Secret: "secret", Term: "term", Card: "card", IBAN: "iban", NationalID: "national_id", Wallet: "wallet",
	Email: "email", Phone: "phone", BirthDate: "birth_date", IP: "ip", MAC: "mac", Path: "path", Host: "host", Opaque: "opaque",
}

// String is the class's name as provenance and policy files write it.
func (c Class) String() string {
	if int(c) < len(classNames) && classNames[c] != "" {
		return classNames[c]
	}
	return fmt.Sprintf("class(%d)", c)
}

// Finding is one place in a text.
type Finding struct {
	// Rule names the rule in the table of [Rules].
	Rule string
	// Class is the rule's.
	Class Class
	// Start and End are byte offsets: text[Start:End] is what must not be
	// kept, for a password the value without its name and quotes.
	Start, End int
}

// Config chooses what is looked for. The zero value is every rule.
type Config struct {
	// Off names rules that are not used.
	Off []string
	// Terms are literals found wherever they stand, in any case of their
	// ASCII letters: project names, customers, machines. One that begins with
	// a digit is found at the beginning of a number only.
	Terms []string
}

// Scanner looks for everything its Config says. It is safe for concurrent
// use.
type Scanner struct {
	literals *automaton
	table    []literal      // the automaton's, by number
	order    map[string]int // precedence of rules
	off      map[string]bool
	terms    []string
}

// New makes a Scanner, which takes about a millisecond. It fails on a rule
// name that is not in the table and on an empty term.
func New(cfg Config) (*Scanner, error) {
	s := &Scanner{order: make(map[string]int), off: make(map[string]bool)}
	for i, r := range Rules() {
		s.order[r.Name] = i
	}
	for _, rule := range cfg.Off {
		if _, known := s.order[rule]; !known {
			return nil, fmt.Errorf("turn off rule %q: no such rule", rule)
		}
		s.off[rule] = true
	}
	for i, t := range cfg.Terms {
		if t == "" {
			return nil, fmt.Errorf("term %d is empty: it would be found everywhere", i)
		}
	}
	s.terms = slices.Clone(cfg.Terms)
	s.table = literals(s.terms)
	texts := make([]string, len(s.table))
	for i, l := range s.table {
		texts[i] = l.text
	}
	s.literals = newAutomaton(texts)
	return s, nil
}

// Find appends the findings in text to dst. They are sorted and do not
// overlap: of findings that overlap one remains, which covers all of them and
// has the rule that stands first in the table of [Rules], so that nothing of
// any of them is kept. What is escaped, or written with letters that look like
// ASCII or like nothing, is found as it reads. What dst holds is left alone;
// with room in dst, nothing is allocated for a text that has nothing of that.
func (s *Scanner) Find(dst []Finding, text []byte) []Finding {
	return s.FindNamed(dst, nil, text)
}

// FindNamed is [Scanner.Find] for a text that is the value of a JSON member,
// query parameter or variable called name: a value whose name says that it is
// a secret is one, a number whose name says that it is an id, a time or a
// count is no card, phone or national number, and a name such as "ssn" stands
// for a word nearby.
func (s *Scanner) FindNamed(dst []Finding, name, text []byte) []Finding {
	j := job{s: s, text: text, found: dst, base: len(dst)}
	j.introduce(name)
	j.scan()
	j.unfolded(name)
	return j.settle()
}
