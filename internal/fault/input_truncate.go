package fault

var truncate = kind{
	layer: Input, name: "truncate",
	about:  "the last text of the user's is cut at its end",
	params: []param{{name: "keep", unit: unitShare, def: "50%", about: "the share of its characters that stays"}},
	make: func(s *Spec) action {
		keep := s.number("keep")
		return changePrompt(func(_ *call, _ *node, texts []promptText) bool {
			t := lastOfUser(texts)
			if t == nil {
				return false
			}
			all := []rune(t.text)
			left := int(float64(len(all)) * keep)
			t.node.setText(string(all[:left]))
			return left < len(all)
		})
	},
}
