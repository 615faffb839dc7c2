package fault

var reset = kind{
	layer: Integration, name: "reset",
	about: "the connection is reset: before the service is asked, or within the answer",
	params: []param{
		{name: "after", unit: unitBytes, def: "0B", about: "bytes of the answer's body that come before it; 0B = the service is not asked"},
	},
	leaves: func(s *Spec) string {
		if s.number("after") > 0 {
			return ""
		}
		return "it resets the connection"
	},
	hidden: inner,
}
