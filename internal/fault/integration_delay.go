package fault

import (
	"net/http"
	"time"
)

var delay = kind{
	layer: Integration, name: "delay",
	about: "the request reaches the service later",
	params: []param{
		{name: "delay", unit: unitDuration, def: "500ms", about: "how much later"},
		{name: "jitter", unit: unitDuration, def: "0s", about: "up to so much more or less, evenly"},
	},
	make: makeDelay,
}

func makeDelay(s *Spec) action {
	mean, jitter := s.duration("delay"), s.duration("jitter")
	return func(c *call, next sender) (*http.Response, error) {
		d := mean
		if jitter > 0 {
			d = max(0, d+time.Duration((2*c.random().Float64()-1)*float64(jitter)))
		}
		// The request is what is late, and not its answer: holding back an answer
		// whose head comes before its first token would delay the head alone.
		start := time.Now()
		c.acted()
		err := c.wait(d)
		c.x.held += time.Since(start)
		if err != nil {
			c.dropRequest()
			return nil, err
		}
		return next()
	}
}
