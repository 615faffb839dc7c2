package detect

// kind says what a literal starts.
type kind uint8

const (
	kindKey     kind = iota // index: row of keyFormats
	kindDigit               // first digit of a number
	kindAt                  // e-mail address, git remote
	kindPercent             // the same with the '@' as %40
	kindJWT                 // eyJ
	kindPEM                 // -----BEGIN
	kindURL                 // ://
	kindScheme              // Bearer, Basic
	kindName                // index: row of secretNames
	kindHome                // /home/, \Users\
	kindHost                // index: row of hostSuffixes
	kindARN                 // arn:aws
	kindAzure               // /subscriptions/
	kindBech32              // bc1
	kindNear                // index: context
	kindTerm                // index: term of the user's
)

// literal is a string that the automaton finds, and what it starts.
type literal struct {
	text  string
	kind  kind
	index int
}

// fixedLiterals are those that are no rows of a table.
var fixedLiterals = [...]literal{
	{"@", kindAt, 0},
	{"%4", kindPercent, 0},
	{"eyj", kindJWT, 0},
	{"-----begin ", kindPEM, 0},
	{"://", kindURL, 0},
	{"bearer", kindScheme, 0},
	{"basic", kindScheme, 0},
	{"/home/", kindHome, 0},
	{"/users/", kindHome, 0},
	{`\users\`, kindHome, 0},
	{"arn:aws", kindARN, 0},
	{"/subscriptions/", kindAzure, 0},
	{"bc1", kindBech32, 0},
	{"tb1", kindBech32, 0},
}

// literals is every literal of the tables and the user's terms.
func literals(terms []string) []literal {
	all := append([]literal(nil), fixedLiterals[:]...)
	for c := byte('0'); c <= '9'; c++ {
		all = append(all, literal{string(c), kindDigit, 0})
	}
	for i, f := range keyFormats {
		all = append(all, literal{f.prefix, kindKey, i})
	}
	for i, n := range secretNames {
		all = append(all, literal{n.stem, kindName, i})
	}
	for i, h := range hostSuffixes {
		all = append(all, literal{h.suffix, kindHost, i})
	}
	for c, words := range contextWords {
		for _, w := range words {
			all = append(all, literal{w, kindNear, c})
		}
	}
	for i, t := range terms {
		all = append(all, literal{beforeNumber(t), kindTerm, i})
	}
	return all
}

// beforeNumber is a term up to the first digit of the number that ends it:
// inside a number that was judged the automaton's findings are not looked at.
func beforeNumber(term string) string {
	end := len(term)
	for end > 1 && digit.in(term[end-1]) && digit.in(term[end-2]) {
		end--
	}
	return term[:end]
}
