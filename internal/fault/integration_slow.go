package fault

var slowReader = kind{
	layer: Integration, name: "slow-reader",
	about: "a client that reads its answer so slowly that the service has to wait with the rest of it",
	params: []param{
		{name: "rate", unit: unitRate, def: "1KB/s", low: 1, about: "of reading"},
	},
}

var bandwidth = kind{
	layer: Integration, name: "bandwidth",
	about: "request and answer pass at a limited rate, each exchange by itself",
	params: []param{
		{name: "rate", unit: unitRate, low: 1, about: "of each direction, such as 64KB/s"},
	},
}
