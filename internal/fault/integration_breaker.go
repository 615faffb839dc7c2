package fault

import (
	"net/http"
	"time"
)

// circuitBreaker tries the circuit breaker of whoever sends the requests: enough
// failures in a row to open it, and then a service that is well again, which it
// has to find out. What a breaker keeps back is not sent, and so in no count.
var circuitBreaker = kind{
	layer: Integration, name: "circuit-breaker",
	about: "the server fails for a time and is well for a time, in turn, so that a circuit breaker has to open, to try, and to close",
	params: []param{
		{name: "fail", unit: unitDuration, def: "10s", low: float64(time.Millisecond), about: "how long it fails, from the window's start on"},
		{name: "well", unit: unitDuration, def: "20s", low: float64(time.Millisecond), about: "how long it is well after that"},
		{name: "status", unit: unitCount, def: "503", low: 500, high: 599, about: "the status of a failure, 500 to 599"},
	},
	make: func(s *Spec) action {
		fail, well, status := s.duration("fail"), s.duration("well"), s.count("status")
		return func(c *call, next sender) (*http.Response, error) {
			if (c.x.At-s.Window.From)%(fail+well) >= fail {
				return next()
			}
			return c.answer(status, "server_error"), nil
		}
	},
}
