package fault

var base64Wrap = kind{
	layer: Input, name: "base64-wrap",
	about: "the user's last text is sent as Base64",
}
