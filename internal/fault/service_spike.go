package fault

import "time"

var latencySpike = kind{
	layer: Service, name: "latency-spike",
	about: "no answer begins before a time just above an objective; those that are slower by themselves are left alone",
	params: []param{
		{name: "to", unit: unitDuration, def: "180ms", about: "the earliest first byte of an answer, from the send"},
	},
	lasts: 500 * time.Millisecond,
}
