package fault

import "net/http"

var blackhole = kind{
	layer: Retrieval, name: "blackhole",
	about: "the store is cut off: no answer comes until the client gives up, at last a reset",
	params: []param{
		{name: "timeout", unit: unitDuration, def: "1m", about: "when the connection is reset"},
	},
	leaves: func(*Spec) string { return "it lets no answer through" }, hidden: inner,
	make: makeBlackhole,
}

func makeBlackhole(s *Spec) action {
	timeout := s.duration("timeout")
	return func(c *call, _ sender) (*http.Response, error) {
		c.acted()
		if err := c.wait(timeout); err != nil {
			c.dropRequest()
			return nil, err
		}
		return c.resets()
	}
}
