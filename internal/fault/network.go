package fault

// The faults of the network are toxiproxy's, with its names.

var netLatency = kind{
	layer: Network, name: "latency",
	about: "each piece of the answer comes later by as much",
	params: []param{
		{name: "latency", unit: unitDuration, def: "500ms", about: "in whole milliseconds"},
		{name: "jitter", unit: unitDuration, def: "0s", about: "up to so much more or less; not seeded, toxiproxy draws it"},
	},
}

var netBandwidth = kind{
	layer: Network, name: "bandwidth",
	about: "the answer passes at a limited rate, each connection by itself",
	params: []param{
		{name: "rate", unit: unitRate, low: 1000, about: "in whole KB/s, such as 64KB/s"},
	},
}

var netSlowClose = kind{
	layer: Network, name: "slow-close",
	about: "the end of the connection comes later",
	params: []param{
		{name: "delay", unit: unitDuration, def: "1s", about: "in whole milliseconds"},
	},
}

var netTimeout = kind{
	layer: Network, name: "timeout",
	about: "no byte of the answer passes; after the timeout the connection closes",
	params: []param{
		{name: "timeout", unit: unitDuration, def: "0s", about: "in whole milliseconds; 0s = it stays open"},
	},
}

var netResetPeer = kind{
	layer: Network, name: "reset-peer",
	about: "the connection is reset at the answer's first bytes",
	params: []param{
		{name: "timeout", unit: unitDuration, def: "0s", about: "how long after them, in whole milliseconds"},
	},
}

var netLimitData = kind{
	layer: Network, name: "limit-data",
	about: "the connection closes after so many bytes of the answer, head included",
	params: []param{
		{name: "bytes", unit: unitBytes, low: 1, about: "such as 500B"},
	},
}
