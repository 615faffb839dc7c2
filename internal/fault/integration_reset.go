package fault

import (
	"io"
	"net"
	"net/http"
	"syscall"
)

var reset = kind{
	layer: Integration, name: "reset",
	about: "the connection is reset: before the service is asked, or within the answer",
	params: []param{
		{name: "after", unit: unitBytes, def: "0B", about: "bytes of the answer's body that come before it; 0B = the service is not asked"},
	},
	leaves: func(s *Spec) string {
		if s.number("after") > 0 {
			return ""
		}
		return "it resets the connection"
	},
	hidden: inner,
	make:   makeReset,
}

// errReset is a reset of ours; it matches [syscall.ECONNRESET].
var errReset = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}

func makeReset(s *Spec) action {
	after := int64(s.number("after"))
	return func(c *call, next sender) (*http.Response, error) {
		if after == 0 {
			return c.resets()
		}
		resp, err := next()
		if err == nil {
			resp.Body = reading{&broken{r: resp.Body, left: after, strike: func() error {
				c.acted()
				if c.x.Reset != nil {
					c.x.Reset()
				}
				return errReset
			}}, resp.Body}
		}
		return resp, err
	}
}

// resets ends an exchange without an answer.
func (c *call) resets() (*http.Response, error) {
	c.acted()
	c.dropRequest()
	return nil, errReset
}

// broken is a body that breaks off after some bytes; one that ends by itself
// before that does not.
type broken struct {
	r      io.Reader
	left   int64
	strike func() error
}

func (b *broken) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, b.strike()
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
