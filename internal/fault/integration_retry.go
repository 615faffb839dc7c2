package fault

import (
	"io"
	"net/http"
)

var retryStorm = kind{
	layer: Integration, name: "retry-storm",
	about: "a client that sends a failed request again and again (no answer, 429, 5xx), without regard to Retry-After",
	params: []param{
		{name: "retries", unit: unitCount, def: "3", low: 1, high: 100, about: "further attempts"},
		{name: "backoff", unit: unitDuration, def: "0s", about: "pause before each of them"},
	},
	make: makeRetryStorm,
}

func makeRetryStorm(s *Spec) action {
	retries, backoff := s.count("retries"), s.duration("backoff")
	return func(c *call, next sender) (*http.Response, error) {
		body, err := c.readRequest()
		if err != nil {
			return next()
		}
		resp, err := next()
		for range retries {
			if err == nil && resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests {
				break
			}
			if c.wait(backoff) != nil {
				break // the client has gone: what there is stays the answer
			}
			if err == nil {
				_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxBody))
				_ = resp.Body.Close()
			}
			c.acted()
			c.fault.counts.extra.Add(1)
			c.putRequest(body)
			resp, err = next()
		}
		return resp, err
	}
}
