package fault

import (
	"context"
	"io"
	"net/http"
	"time"
)

var slowReader = kind{
	layer: Integration, name: "slow-reader",
	about: "a client that reads its answer so slowly that the service has to wait with the rest of it",
	params: []param{
		{name: "rate", unit: unitRate, def: "1KB/s", low: 1, about: "of reading"},
	},
	make: makeSlowReader,
}

var bandwidth = kind{
	layer: Integration, name: "bandwidth",
	about: "request and answer pass at a limited rate, each exchange by itself",
	params: []param{
		{name: "rate", unit: unitRate, low: 1, about: "of each direction, such as 64KB/s"},
	},
	make: makeBandwidth,
}

func makeSlowReader(s *Spec) action {
	rate := s.number("rate")
	return func(c *call, next sender) (*http.Response, error) {
		resp, err := next()
		if err == nil {
			resp.Body = reading{&paced{r: resp.Body, ctx: c.ctx, perS: rate, moved: c.acted}, resp.Body}
		}
		return resp, err
	}
}

func makeBandwidth(s *Spec) action {
	rate := s.number("rate")
	return func(c *call, next sender) (*http.Response, error) {
		if c.req.Body != nil && c.req.Body != http.NoBody {
			c.acted()
			c.req.Body = reading{&paced{r: c.req.Body, ctx: c.ctx, perS: rate}, c.req.Body}
		}
		resp, err := next()
		if err == nil {
			resp.Body = reading{&paced{r: resp.Body, ctx: c.ctx, perS: rate, moved: c.acted}, resp.Body}
		}
		return resp, err
	}
}

// paced reads at a limited rate: bytes are handed out when as many may have
// passed since the first Read.
type paced struct {
	r     io.Reader
	ctx   context.Context
	perS  float64
	moved func() // at the first byte; nil = no one asks
	free  time.Time
}

func (p *paced) Read(b []byte) (int, error) {
	// A tenth of a second's worth at a time, so that what passes is even.
	n, err := p.r.Read(b[:min(len(b), max(1, int(p.perS/10)))])
	if n == 0 {
		return n, err
	}
	if p.moved != nil {
		p.moved()
	}
	now := time.Now()
	if p.free.Before(now) {
		p.free = now
	}
	p.free = p.free.Add(time.Duration(float64(n) / p.perS * float64(time.Second)))
	if gone := wait(p.ctx, p.free.Sub(now)); gone != nil {
		return n, gone
	}
	return n, err
}
