package tokens

//go:generate go run genwords.go

// Words returns the filler words: lower-case English words with a leading
// blank, in alphabetical order. Each is exactly one token in every embedded
// vocabulary, and a run of them has as many tokens as words, since all
// vocabularies split before a blank. It loads no vocabulary. The slice is
// shared: do not write to it.
func Words() []string { return words[:] }

// Short returns words of two and three letters for texts in which no word of
// the original may be left: "the", " the" and "_the" are one token each, the
// last in [CL100K] and [O200K] only, and so a run of them joined by blanks, or
// by underscores, has as many tokens as words. The slice is shared: do not
// write to it.
func Short() []string { return short[:] }
