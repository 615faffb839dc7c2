package fault

var irrelevant = kind{
	layer: Retrieval, name: "irrelevant",
	about: "the store is asked something else, and returns real documents that have nothing to do with the question",
}

var threshold = kind{
	layer: Retrieval, name: "threshold",
	about: "the request's similarity threshold is lower, so that poor hits come too",
	params: []param{
		{name: "by", unit: unitShare, def: "50%", about: "how much of it is taken off"},
	},
}

var embeddingDrift = kind{
	layer: Retrieval, name: "embedding-drift",
	about: "vectors are moved in a direction of chance: those of embedding answers and those that a store is asked for",
	params: []param{
		{name: "l2", unit: unitShare, def: "15%", about: "by how much of their length"},
	},
}
