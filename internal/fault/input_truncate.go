package fault

var truncate = kind{
	layer: Input, name: "truncate",
	about:  "the last text of the user's is cut at its end",
	params: []param{{name: "keep", unit: unitShare, def: "50%", about: "the share of its characters that stays"}},
}
