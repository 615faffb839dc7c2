package replayer

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// TestClosedLoop: so many are in flight all the time, and the rate is what
// comes of that: N ÷ service time.
func TestClosedLoop(t *testing.T) {
	var mu sync.Mutex
	open, most := 0, 0
	begun := make(map[int]int) // by level, as told from what was open at most
	s := &stub{answer: func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		open++
		most = max(most, open)
		begun[most]++
		mu.Unlock()
		tokensAnswer(100*ms, 25*ms, 5)(w, r) // 200 ms
		mu.Lock()
		open--
		mu.Unlock()
	}}
	cfg := one(0, 10*time.Second)
	cfg.Loads, cfg.Warmup = []Load{{InFlight: 4}, {InFlight: 1}}, 2*time.Second
	virtual(t, s, cfg, chatTrace(7, 20*ms), func(t *testing.T, res *Result, out *memory, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Levels) != 2 || out.manifest.Run.Loop != "closed" || most != 4 {
			t.Fatalf("%d levels, loop %q, %d open at most", len(res.Levels), out.manifest.Run.Loop, most)
		}
		for i, want := range []struct {
			inFlight int32
			perS     float64
		}{{1, 5}, {4, 20}} {
			l := &res.Levels[i]
			if *l.Concurrency != want.inFlight || l.OfferedPerS != want.perS || l.AchievedPerS != want.perS || l.InFlightMax != want.inFlight ||
				l.Scheduled != int64(10*want.perS) || l.Tally.OK != l.Scheduled || len(l.Invalid) > 0 {
				t.Errorf("level %d: %+v", i, l)
			}
			if got := l.EndUnixNs - l.BeginUnixNs; got != int64(12*time.Second) {
				t.Errorf("level %d lasts %v", i, time.Duration(got))
			}
		}
		for _, r := range out.records {
			if *r.TFirstTokenUs != 100_000 || r.LagCause != nil {
				t.Errorf("%s: first token at %d µs, lag %v", r.RequestID, *r.TFirstTokenUs, r.LagCause)
			}
		}
	})
}

// TestClosedLoopOfNoAnswer: a service that never answers is asked N times.
func TestClosedLoopOfNoAnswer(t *testing.T) {
	s := &stub{answer: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }}
	cfg := one(0, 5*time.Second)
	cfg.Loads, cfg.Drain = []Load{{InFlight: 3}}, time.Second
	virtual(t, s, cfg, chatTrace(7, 20*ms), func(t *testing.T, res *Result, out *memory, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if len(out.records) != 3 || out.count(trace.OutcomeClientAbort, trace.DetailDrain) != 3 || res.Levels[0].InFlightAtEnd != 3 {
			t.Errorf("%d records, %+v", len(out.records), res.Levels[0])
		}
	})
}

func TestClosedLoopRefused(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"one run has one kind":      func(c *Config) { c.Loads = append(c.Loads, Load{PerS: 1}) },
		"-1 in flight":              func(c *Config) { c.Loads = []Load{{InFlight: -1}} },
		"9 in flight: want 1 to 8":  func(c *Config) { c.Loads, c.MaxInFlight = []Load{{InFlight: 9}}, 8 },
		"no arrivals to scale by":   func(c *Config) { c.Scaling = Compress },
		"sessions cannot be causal": func(c *Config) { c.Sessions = SessionsCausal },
		"has no ramp":               func(c *Config) { c.Ramp, c.Warmup = time.Second, time.Second },
		"cannot be sharded":         func(c *Config) { c.Shard = Shard{Index: 1, Count: 2, StartAt: time.Now().Add(time.Hour)} },
	} {
		cfg := one(0, time.Second)
		cfg.Target, cfg.Loads = "http://192.0.2.1", []Load{{InFlight: 2}}
		change(&cfg)
		if err := Check(cfg, chatTrace(3, ms)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want …%s…", err, want)
		}
	}
}
