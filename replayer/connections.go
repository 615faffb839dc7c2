package replayer

import (
	"net/http"
	"slices"
)

// checkConnections returns an ErrInput where the policy makes no sense.
func (c *Config) checkConnections() error {
	switch {
	case !slices.Contains([]Connections{ConnReuse, ConnFresh, ConnRecorded}, c.Connections):
		return inputError("use reuse, fresh or recorded", "unknown policy %q for connections", c.Connections)
	case c.MaxConns < 0:
		return inputError("give --max-connections above 0, or leave it out", "at most %d connections: out of range", c.MaxConns)
	case c.HTTP2 && (c.Connections != ConnReuse || c.MaxConns > 0):
		return inputError("leave out --http2", "over HTTP/2 requests share a connection: neither %q nor a limit of connections goes with it", c.Connections)
	case len(c.Faults) > 0 && c.Connections == ConnRecorded:
		return inputError("use reuse or fresh", "faults of the network have connections of their own: recorded ones do not go with them")
	}
	return nil
}

// transportOf is the transport of a request.
func (s *sender) transportOf(it *item) http.RoundTripper {
	if reused := it.src.ConnReused; s.fresh != nil && reused != nil && !*reused {
		return s.fresh
	}
	return s.base
}
