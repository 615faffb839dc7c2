package fault

var retryStorm = kind{
	layer: Integration, name: "retry-storm",
	about: "a client that sends a failed request again and again (no answer, 429, 5xx), without regard to Retry-After",
	params: []param{
		{name: "retries", unit: unitCount, def: "3", low: 1, high: 100, about: "further attempts"},
		{name: "backoff", unit: unitDuration, def: "0s", about: "pause before each of them"},
	},
}
