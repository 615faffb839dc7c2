package fault

// after is the parameter of faults that strike within a stream.
func after(def, about string) param {
	return param{name: "after", unit: unitCount, def: def, about: about}
}

var stall = kind{
	layer: Generation, name: "stall",
	about: "the stream stands still for a time, and goes on; an answer in one piece, at its half",
	params: []param{
		after("5", "events before it"),
		{name: "pause", unit: unitDuration, def: "5s", about: "how long it stands"},
	},
}

var cut = kind{
	layer: Generation, name: "cut",
	about:  "the connection closes within the stream; an answer in one piece, at its half",
	params: []param{after("5", "events before it")},
}

var errorEvent = kind{
	layer: Generation, name: "error-event",
	about:  "the stream, begun with status 200, ends in an error event; an answer in one piece is an error object",
	params: []param{after("5", "events before it")},
}

var noEnd = kind{
	layer: Generation, name: "no-end",
	about: "the stream ends in order, but without finish reason, usage and end mark",
}

var duplicateEvent = kind{
	layer: Generation, name: "duplicate-event",
	about:  "one event comes twice",
	params: []param{after("5", "events before it")},
}

var badJSON = kind{
	layer: Generation, name: "bad-json",
	about:  "one event is no JSON: its last bracket is gone; an answer in one piece likewise",
	params: []param{after("5", "events before it")},
}
