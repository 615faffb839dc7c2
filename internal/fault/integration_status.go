package fault

var http429 = kind{
	layer: Integration, name: "http-429",
	about: "a refusal by a limit of requests; the service is not asked",
	params: []param{
		{name: "retry-after", unit: unitDuration, def: "1s", about: "what Retry-After says, in whole seconds"},
	},
	leaves: answersInstead, hidden: inner,
}

var http5xx = kind{
	layer: Integration, name: "http-5xx",
	about: "a failure of the server; the service is not asked",
	params: []param{
		{name: "status", unit: unitCount, def: "500", low: 500, high: 599, about: "the status, 500 to 599"},
	},
	leaves: answersInstead, hidden: inner,
}

func answersInstead(*Spec) string { return "it answers in place of the service" }
