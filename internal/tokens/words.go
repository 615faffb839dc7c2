package tokens

//go:generate go run genwords.go

// Words returns the filler words: lower-case English words with a leading
// blank, in alphabetical order. Each is exactly one token in every embedded
// vocabulary, and a run of them has as many tokens as words, since all
// vocabularies split before a blank. It loads no vocabulary. The slice is
// shared: do not write to it.
func Words() []string { return words[:] }
