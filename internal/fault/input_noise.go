package fault

var tokenNoise = kind{
	layer: Input, name: "token-noise",
	about: "some tokens of the prompt are hit: 70 % of them become unknown, the others a neighbour (token ids) or another word of the prompt (text)",
	params: []param{
		{name: "ratio", unit: unitShare, def: "5%", about: "of the words or token ids"},
		{name: "unknown", unit: unitCount, def: "0", about: "id of the unknown token"},
		{name: "vocabulary", unit: unitCount, def: "32000", low: 6, about: "number of token ids"},
	},
}
