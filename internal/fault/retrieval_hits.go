package fault

var empty = kind{
	layer: Retrieval, name: "empty",
	about:  "the store finds nothing",
	leaves: func(*Spec) string { return "it takes all hits away" },
	hidden: func(_, other *kind) bool {
		return other.layer == Retrieval && (other.name == "irrelevant" || other.name == "rerank" || other.name == "metadata" || other.name == "threshold")
	},
}

var rerank = kind{
	layer: Retrieval, name: "rerank",
	about: "the hits come in a disturbed order; the scores stay in theirs, so that nothing looks wrong",
}

var metadata = kind{
	layer: Retrieval, name: "metadata",
	about: "each hit has the metadata of another; where there is but one, of a placeholder",
}
