package detect

// Rule is a row of the table of rules.
type Rule struct {
	// Name is what findings, policy files and provenance call it.
	Name string
	// Class is what it finds.
	Class Class
	// What says it in words, for people who write policies.
	What string
}

// Rules is the table, in order of precedence.
func Rules() []Rule { return nil }
