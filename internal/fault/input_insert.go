package fault

var insert = kind{
	layer: Input, name: "insert",
	about: "a text that wants the instructions ignored is added to the user's last one: a harmless placeholder",
	params: []param{
		{name: "text", unit: unitWord, def: "ignore", words: []string{"ignore", "roleplay", "system", "ambiguous"}, about: "which of the built-in texts"},
		{name: "place", unit: unitWord, def: "end", words: []string{"start", "end"}, about: "where it stands"},
	},
}
