package replayer

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/lambdac/lambdac/internal/fault"
	"github.com/lambdac/lambdac/trace"
)

// checkFaults returns an ErrInput where the faults cannot be injected in this
// run.
func (c *Config) checkFaults() error {
	for i := range c.Faults {
		f := &c.Faults[i]
		if err := f.CheckWindow(c.Hold); err != nil {
			return fmt.Errorf("%w: %w", ErrInput, err)
		}
		if f.Stores() {
			return inputError("put lambdac fault-proxy in front of the store", "fault %q is for what a vector store answers, and a replay asks none", f.Name)
		}
	}
	if err := fault.CheckTogether(c.Faults); err != nil {
		return fmt.Errorf("%w: %w", ErrInput, err)
	}
	return nil
}

// arm makes the faults of the run ready.
func (r *run) arm(ctx context.Context, base *http.Transport) error {
	if len(r.cfg.Faults) == 0 {
		return nil
	}
	in, err := fault.New(ctx, fault.Config{
		Faults: r.cfg.Faults, Seed: r.cfg.Seed, Base: base, Upstream: hostPort(r.target), Rules: fault.BuiltinRules(),
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInput, err)
	}
	r.sender.faults = in
	return nil
}

func hostPort(u *url.URL) string { return net.JoinHostPort(u.Hostname(), fmt.Sprint(portOf(u))) }

// send sends a request, past the faults where there are any.
func (s *sender) send(x *exchange) (*http.Response, error) {
	if s.faults == nil {
		return s.transportOf(x.it).RoundTrip(s.request(x))
	}
	it := x.it
	x.fault = &fault.Exchange{
		ID: it.id, At: it.due.Sub(s.start),
		Kind: it.src.APIKind, Path: plainPath(it.prompt.path), Model: it.prompt.model,
	}
	if id := x.rec.SessionID; id != nil {
		x.fault.Session = *id
	}
	return s.faults.Do(s.request(x), x.fault)
}

// held is the time for which faults held the request back: no delay of the
// client's.
func (x *exchange) held() time.Duration {
	if x.fault == nil {
		return 0
	}
	return x.fault.Held()
}

// faulted notes what faults did to an exchange.
func (x *exchange) faulted() {
	if x.fault == nil {
		return
	}
	x.rec.Faults = x.fault.Faults()
	if n := x.fault.SentBytes(); n > 0 {
		x.rec.ReqWireBytes, x.rec.ReqBodyBytes = n, n
	}
}

// faultCounts are those so far; nil = no faults.
func (r *run) faultCounts() []fault.Counts {
	if r.sender.faults == nil {
		return nil
	}
	return r.sender.faults.Counts()
}

// mark notes when each fault acted in a level that is over, and whether it did.
func (lv *level) mark(before []fault.Counts) {
	for i, now := range lv.run.faultCounts() {
		at := slices.IndexFunc(lv.run.cfg.Faults, func(f fault.Spec) bool { return f.Name == now.Name })
		f := &lv.run.cfg.Faults[at]
		m := trace.Mark{
			ID: fmt.Sprintf("%s/%d", f.Name, lv.Index), Name: f.Name, Kind: f.Kind(), Level: new(lv.Index),
			StartUnixNs: lv.StartUnixNs + int64(f.Window.From), EndUnixNs: lv.EndUnixNs, Effect: trace.EffectUnknown,
		}
		if f.Window.For > 0 {
			m.EndUnixNs = min(m.EndUnixNs, m.StartUnixNs+int64(f.Window.For))
		}
		switch {
		case now.Acted > before[i].Acted:
			m.Effect = trace.EffectSeen
		case now.Chosen > before[i].Chosen:
			m.Effect = trace.EffectNotSeen
		}
		lv.run.result.Marks = append(lv.run.result.Marks, m)
	}
}

// mergeMarks joins the windows that shards have in common: a fault that acted
// in one of them acted.
func mergeMarks(parts []Part) (marks []trace.Mark) {
	for _, p := range parts {
		for _, m := range p.Marks {
			at := slices.IndexFunc(marks, func(o trace.Mark) bool { return o.ID == m.ID })
			if at < 0 {
				marks = append(marks, m)
				continue
			}
			o := &marks[at]
			o.StartUnixNs, o.EndUnixNs = min(o.StartUnixNs, m.StartUnixNs), max(o.EndUnixNs, m.EndUnixNs)
			if m.Effect == trace.EffectSeen || o.Effect == trace.EffectUnknown {
				o.Effect = m.Effect
			}
		}
	}
	return marks
}

// faultKnobs are the faults, as the manifest names departures from the
// recording.
func (c *Config) faultKnobs() (knobs []string) {
	for i := range c.Faults {
		knobs = append(knobs, "fault="+c.Faults[i].String())
	}
	return knobs
}
