package fault

var delay = kind{
	layer: Integration, name: "delay",
	about: "the request reaches the service later",
	params: []param{
		{name: "delay", unit: unitDuration, def: "500ms", about: "how much later"},
		{name: "jitter", unit: unitDuration, def: "0s", about: "up to so much more or less, evenly"},
	},
}
