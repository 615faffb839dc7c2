package sanitizer

// vocabulary is what the policy knows of names and words. A secret may be
// spelled like a word, and then no test of its form can tell it from the name
// of a header or a model. So what is kept is made of known words only.
type vocabulary struct {
	names, models, words parts
	// whole are model names and words that are kept as they are.
	wholeModels, wholeWords map[string]string
}

func newVocabulary(p Policy) *vocabulary {
	return &vocabulary{
		names: setOf(p.NameParts), models: setOf(p.ModelParts), words: setOf(p.WordParts),
		wholeModels: itself(p.Models), wholeWords: itself(p.Words),
	}
}

func itself(list []string) map[string]string {
	set := make(map[string]string, len(list))
	for _, item := range list {
		set[item] = item
	}
	return set
}

// parts are the lower-case words of which names of one field are made.
type parts map[string]struct{}

// maxLone bounds the single letters of a name, but for those beside a digit:
// quantizations such as Q4_K_M have two.
const maxLone = 3

// spell reports whether every run of letters in s is a known word, or several
// where the case turns ("maxTokens", "HTTPError", "OpenAI"). Digits say nothing
// and are judged elsewhere. Letters beyond ASCII are none that it knows.
func (p parts) spell(s string) bool {
	lone := 0
	for i := 0; i < len(s); {
		if s[i] >= 0x80 {
			return false
		}
		if !isLetter(s[i]) {
			i++
			continue
		}
		end := i + 1
		for end < len(s) && isLetter(s[end]) {
			end++
		}
		digitBeside := i > 0 && isDigit(s[i-1]) || end < len(s) && isDigit(s[end])
		switch {
		case end-i > 1:
			if !p.has(s[i:end]) && !p.spellTurns(s[i:end]) {
				return false
			}
		case !digitBeside:
			if lone++; lone > maxLone {
				return false
			}
		}
		i = end
	}
	return true
}

// spellTurns cuts a run of letters where its case turns.
func (p parts) spellTurns(run string) bool {
	start := 0
	for i := 1; i <= len(run); i++ {
		if i < len(run) && !turns(run, i) {
			continue
		}
		if i-start == len(run) || i-start > 1 && !p.has(run[start:i]) {
			return false
		}
		start = i
	}
	return true
}

// turns reports that a word begins at i: lower case before upper case, and the
// last capital of a row before lower case.
func turns(run string, i int) bool {
	upper := func(c byte) bool { return c < 'a' }
	if !upper(run[i]) {
		return false
	}
	return !upper(run[i-1]) || i+1 < len(run) && !upper(run[i+1])
}

// has looks a word up without case.
func (p parts) has(word string) bool {
	var buf [24]byte
	if len(word) > len(buf) {
		return false
	}
	for i := range len(word) {
		buf[i] = word[i] | 0x20
	}
	_, ok := p[string(buf[:len(word)])]
	return ok
}

// plainName reports whether the name of an unknown header, parameter or member
// may be kept: a short token of known words, without a secret's look and with
// few digits.
func (v *vocabulary) plainName(s string) bool {
	return len(s) <= 64 && isToken(s) && digitCount(s) <= 6 && v.names.spell(s) && suspect(s) == trusted
}

// plainModel reports whether a model's name may be kept.
func (v *vocabulary) plainModel(name string) bool {
	if _, ok := v.wholeModels[name]; ok {
		return true
	}
	return name != "" && len(name) <= maxModel && madeOf(name, "._:/@+-") && v.models.spell(name) && suspect(name) == trusted
}

// plainWord reports whether a word that a service says may be kept, beside
// those that the policy lists.
func (v *vocabulary) plainWord(s string) bool {
	return len(s) <= 64 && madeOf(s, "_.-") && digitCount(s) <= 4 && len(v.words) > 0 && v.words.spell(s) && suspect(s) == trusted
}
