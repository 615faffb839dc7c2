package fault

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// Config is what to inject into which exchanges.
type Config struct {
	Faults []Spec
	Seed   uint64
	// Base sends the requests. Faults of the network use copies of it.
	Base *http.Transport
	// Upstream is the service's host and port, where faults of the network
	// connect to; "" is good enough without any.
	Upstream string
	// Rules say where stores hold what; only faults of layer retrieval look.
	Rules []Rule
}

// Injector puts faults into exchanges that it sends. Safe for concurrent use.
type Injector struct {
	seed   uint64
	base   http.RoundTripper
	faults []armed
	net    *network // nil without faults of the network
	rules  *ruleBook
}

// armed is a fault ready to act.
type armed struct {
	Spec
	act    action // nil: one of the network, which acts by the transport
	counts counters
}

type counters struct{ matched, chosen, acted, extra atomic.Int64 }

// Counts is what one fault did.
type Counts struct {
	Name  string `json:"name"`
	Layer Layer  `json:"layer"`
	Type  string `json:"type"`
	// Matched are the exchanges in its window and of its target; Chosen, those
	// of them that the share fell on; Acted, those of them that it changed.
	Matched int64 `json:"matched"`
	Chosen  int64 `json:"chosen"`
	Acted   int64 `json:"acted"`
	// Extra are the further requests that it sent (a retry storm).
	Extra int64 `json:"extra"`
}

// action is what a fault does with an exchange that it was chosen for: it sends
// the request on, by next, or not, and returns the answer, either of them
// changed.
type action func(c *call, next sender) (*http.Response, error)

// sender sends the request in hand to what comes after a fault.
type sender func() (*http.Response, error)

// call is one fault and one exchange that it was chosen for.
type call struct {
	ctx   context.Context
	x     *Exchange
	req   *http.Request
	fault *armed
	in    *Injector
}

// acted notes that the fault changed the exchange; once, however often it was
// sent.
func (c *call) acted() {
	if !slices.Contains(c.x.faults, c.fault.Name) {
		c.fault.counts.acted.Add(1)
		c.x.faults = append(c.x.faults, c.fault.Name)
	}
}

// random is the fault's own for this exchange.
func (c *call) random() *rand.Rand {
	return rand.New(rand.NewPCG(hash(c.in.seed, saltDraw, c.fault.Name, c.x.ID), saltDraw))
}

// wait returns after a time, or when the client has gone away.
func (c *call) wait(d time.Duration) error { return wait(c.ctx, d) }

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// New makes the faults ready. Faults that exclude each other, and faults of the
// network whose upstream does not accept a connection, are an [*Error].
func New(ctx context.Context, cfg Config) (*Injector, error) {
	if err := CheckTogether(cfg.Faults); err != nil {
		return nil, err
	}
	in := &Injector{seed: cfg.Seed, base: cfg.Base}
	var err error
	if in.rules, err = newRuleBook(cfg.Rules); err != nil {
		return nil, err
	}
	in.faults = make([]armed, 0, len(cfg.Faults))
	for i := range table { // in the order in which they act
		for j := range cfg.Faults {
			s := &cfg.Faults[j]
			if s.kind() != &table[i] {
				continue
			}
			in.faults = append(in.faults, armed{Spec: *s})
			if s.Layer != Network {
				in.faults[len(in.faults)-1].act = table[i].make(s)
				continue
			}
			if in.net == nil {
				if in.net, err = newNetwork(ctx, cfg.Base, cfg.Upstream); err != nil {
					return nil, err
				}
			}
		}
	}
	return in, nil
}

// Do sends a request, which may come back changed, late, or not at all, and
// notes in x what was done to it.
func (in *Injector) Do(req *http.Request, x *Exchange) (*http.Response, error) {
	set := in.choose(x)
	if set == 0 {
		return in.base.RoundTrip(req)
	}
	return in.pass(req, x, set, 0)
}

// choose is the set of faults that fall on an exchange.
func (in *Injector) choose(x *Exchange) (set uint64) {
	for i := range in.faults {
		f := &in.faults[i]
		if !f.Window.Contains(x.At) || !f.Target.matches(x) {
			continue
		}
		f.counts.matched.Add(1)
		if f.chosen(in.seed, x) {
			f.counts.chosen.Add(1)
			set |= 1 << i
		}
	}
	return set
}

// pass lets the faults of a set from the i-th on act.
func (in *Injector) pass(req *http.Request, x *Exchange, set uint64, i int) (*http.Response, error) {
	for ; i < len(in.faults); i++ {
		if set&(1<<i) == 0 {
			continue
		}
		f := &in.faults[i]
		if f.act == nil { // the rest is the network's
			return in.overNetwork(req, x, set>>i<<i)
		}
		c := &call{ctx: req.Context(), x: x, req: req, fault: f, in: in}
		return f.act(c, func() (*http.Response, error) { return in.pass(req, x, set, i+1) })
	}
	return in.base.RoundTrip(req)
}

// Counts says what each fault did so far, in the order in which they act.
func (in *Injector) Counts() []Counts {
	all := make([]Counts, len(in.faults))
	for i := range in.faults {
		f := &in.faults[i]
		all[i] = Counts{
			Name: f.Name, Layer: f.Layer, Type: f.Type,
			Matched: f.counts.matched.Load(), Chosen: f.counts.chosen.Load(),
			Acted: f.counts.acted.Load(), Extra: f.counts.extra.Load(),
		}
	}
	return all
}

// Close ends the connections of the network's faults.
func (in *Injector) Close() {
	if in.net != nil {
		in.net.close()
	}
}
