package replayer

import (
	"testing"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// Connections are opened and used again as the policy says, and counted.
func TestConnectionPolicy(t *testing.T) {
	for _, row := range []struct {
		policy         Connections
		max            int
		opened, reused int64
		valid          bool
	}{
		{ConnReuse, 0, 2, 18, true}, // two answers overlap
		{ConnFresh, 0, 20, 0, true},
		{ConnRecorded, 0, 7, 13, true}, // every fourth began a connection
		{ConnReuse, 1, 1, 19, false},
	} {
		tr := chatTrace(20, 100*time.Millisecond)
		for i, r := range tr.Records {
			r.ConnReused = new(i%4 != 0)
		}
		cfg := one(10, 2*time.Second)
		cfg.Connections, cfg.MaxConns = row.policy, row.max
		s := &stub{answer: tokensAnswer(150*time.Millisecond, 0, 1)}
		if row.max > 0 {
			s.answer = tokensAnswer(101*time.Millisecond, 0, 1)
		}
		virtual(t, s, cfg, tr, func(t *testing.T, res *Result, _ *memory, err error) {
			if err != nil {
				t.Fatal(err)
			}
			l := &res.Levels[0]
			if l.ConnsOpened != row.opened || l.ConnsReused != row.reused || (len(l.Invalid) == 0) != row.valid || res.Outcomes[trace.OutcomeOK] != 20 {
				t.Errorf("%s, at most %d: %d opened, %d reused, invalid %q, %v", row.policy, row.max, l.ConnsOpened, l.ConnsReused, l.Invalid, res.Outcomes)
			}
		})
	}
}

func TestBadConnections(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"unknown":         func(c *Config) { c.Connections = "maybe" },
		"negative":        func(c *Config) { c.MaxConns = -1 },
		"HTTP/2":          func(c *Config) { c.HTTP2, c.MaxConns = true, 5 },
		"fresh at HTTP/2": func(c *Config) { c.HTTP2, c.Connections = true, ConnFresh },
	} {
		cfg := one(1, time.Second)
		cfg.Target = "http://127.0.0.1:1"
		change(&cfg)
		if err := Check(cfg, chatTrace(2, time.Second)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
