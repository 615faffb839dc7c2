package fault

import (
	"net/http"
	"time"
)

var latencySpike = kind{
	layer: Service, name: "latency-spike",
	about: "no answer begins before a time just above an objective; those that are slower by themselves are left alone",
	params: []param{
		{name: "to", unit: unitDuration, def: "180ms", about: "the earliest first byte of an answer, from the send"},
	},
	lasts: 500 * time.Millisecond,
	make:  makeLatencySpike,
}

func makeLatencySpike(s *Spec) action {
	to := s.duration("to")
	return func(c *call, next sender) (*http.Response, error) {
		start := time.Now()
		resp, err := next()
		if left := to - time.Since(start); err == nil && left > 0 {
			c.acted()
			if err := c.wait(left); err != nil {
				_ = resp.Body.Close()
				return nil, err
			}
		}
		return resp, err
	}
}
