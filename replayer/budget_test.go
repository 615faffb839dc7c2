package replayer

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// A replay stops before it costs more than it may: the requests that would are
// recorded as not sent.
func TestCostLimit(t *testing.T) {
	s := &stub{answer: tokensAnswer(0, 0, 10)}
	cfg := one(10, 10*time.Second)
	cfg.Price = Price{Input: 0.5, Output: 4} // 20 in and 10 out: 50 µ each
	cfg.MaxCost = 25.4 * 50e-6
	virtual(t, s, cfg, chatTrace(100, 100*time.Millisecond), func(t *testing.T, res *Result, out *memory, err error) {
		if !errors.Is(err, ErrStopped) || !strings.Contains(err.Error(), "budget of tokens or cost") {
			t.Fatal(err)
		}
		if sent, left := res.Outcomes[trace.OutcomeOK], out.count(trace.OutcomeNotSent, trace.DetailBudget); sent != 25 || left != 75 {
			t.Errorf("%d sent, %d not for the budget, want 25 and 75", sent, left)
		}
	})
}

// Answers whose length nobody knows before are charged when they are there.
func TestUnpinnedAnswersAreCharged(t *testing.T) {
	tr := chatTrace(100, 100*time.Millisecond)
	for _, r := range tr.Records {
		r.OutputTokens = nil
	}
	s := &stub{answer: tokensAnswer(0, 0, 480)}
	cfg := one(10, 10*time.Second)
	cfg.MaxTokens, cfg.MaxInFlight = 5000, 1
	virtual(t, s, cfg, tr, func(t *testing.T, res *Result, out *memory, err error) {
		// Some are drawn up ahead, for their prompts alone.
		if sent := res.Outcomes[trace.OutcomeOK]; !errors.Is(err, ErrStopped) || sent < 10 || sent > 10+maxLookAhead/8 {
			t.Errorf("%d answers of 500 tokens sent for 5000: %v", sent, err)
		}
	})
}

func TestBadBudget(t *testing.T) {
	nan := 0.0
	nan /= nan
	for name, change := range map[string]func(*Config){
		"no price":       func(c *Config) { c.MaxCost = 5 },
		"negative cost":  func(c *Config) { c.MaxCost, c.Price.Input = -5, 1 },
		"price is NaN":   func(c *Config) { c.MaxCost, c.Price.Input = 5, nan },
		"breaker share":  func(c *Config) { c.Breaker.ErrorRate = 1.5 },
		"breaker window": func(c *Config) { c.Breaker.Over = -time.Second },
	} {
		cfg := one(1, time.Second)
		cfg.Target = "http://127.0.0.1:1"
		change(&cfg)
		if err := Check(cfg, chatTrace(2, time.Second)); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "(give --") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A breaker of the user's own trips at every level, at its share.
func TestOwnBreaker(t *testing.T) {
	n := 0
	s := &stub{}
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		n++
		fail := n%5 == 0
		s.mu.Unlock()
		if fail {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		tokensAnswer(0, 0, 1)(w, r)
	}
	for rate, stops := range map[float64]bool{0.1: true, 0.3: false} {
		cfg := one(10, 10*time.Second)
		cfg.Breaker = Breaker{ErrorRate: rate, Over: 2 * time.Second}
		virtual(t, s, cfg, chatTrace(100, 100*time.Millisecond), func(t *testing.T, _ *Result, _ *memory, err error) {
			if errors.Is(err, ErrStopped) != stops {
				t.Errorf("20 %% of errors at a limit of %v: %v", rate, err)
			}
		})
	}
}
