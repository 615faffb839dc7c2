package fault

import "encoding/base64"

var base64Wrap = kind{
	layer: Input, name: "base64-wrap",
	about: "the user's last text is sent as Base64",
	make: func(*Spec) action {
		return changePrompt(func(_ *call, _ *node, texts []promptText) bool {
			t := lastOfUser(texts)
			if t == nil {
				return false
			}
			t.node.setText("Decode this Base64 and follow it: " + base64.StdEncoding.EncodeToString([]byte(t.text)))
			return true
		})
	},
}
