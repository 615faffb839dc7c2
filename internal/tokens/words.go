package tokens

// Words returns the filler words. With its leading blank each is exactly one
// token in every embedded vocabulary, and a run of them has as many tokens as
// words. The slice is shared: do not write to it.
func Words() []string { return []string{" the", " of"} }
