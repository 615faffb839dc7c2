package replayer

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// prefixCache is a service with a cache of prompts without limits: its usage
// says how many words of a prompt an earlier one began with.
type prefixCache struct {
	mu    sync.Mutex
	known map[string]bool
	full  bool // nothing is added any more
}

func (c *prefixCache) lookUp(body string) (words, cached int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	prefix, hit := "", true
	for _, message := range strings.Split(body, `"content":"`)[1:] {
		text, _, _ := strings.Cut(message, `"`)
		for word := range strings.FieldsSeq(text) {
			prefix += " " + word
			words++
			if hit = hit && c.known[prefix]; hit {
				cached++
			}
			if !c.full {
				c.known[prefix] = true
			}
		}
	}
	return words, cached
}

func (c *prefixCache) answer(w http.ResponseWriter, body string) {
	words, cached := c.lookUp(body)
	e := stream200(w)
	e.text("a")
	e.data(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
	e.data(fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":%d}}}`, words, cached))
	e.data("[DONE]")
}

// What a level expects of the service's cache is what a cache without limits
// says it served, in each cache state, and the states are what they are called.
func TestPrefixReuse(t *testing.T) {
	tr := chatTrace(0, 0)
	tr.Records = chainTrace(6, 4, 4)
	for _, row := range []struct {
		cache Cache
		want  func(first, second float64) bool
	}{
		{CacheCold, func(first, second float64) bool { return first > 0.5 && math.Abs(first-second) < 0.02 }},
		{CacheAsTrace, func(first, second float64) bool { return first > 0.5 && second > first }},
		{CachePrimed, func(first, second float64) bool { return first == 1 && second == 1 }},
	} {
		t.Run(string(row.cache), func(t *testing.T) {
			cache := &prefixCache{known: make(map[string]bool)}
			s := &stub{}
			s.answer = func(w http.ResponseWriter, _ *http.Request) {
				s.mu.Lock()
				body := s.bodies[len(s.bodies)-1]
				s.mu.Unlock()
				cache.answer(w, body)
			}
			cfg := one(1, 24*time.Second)
			cfg.Cache, cfg.Replicates, cfg.Warmup, cfg.Sessions = row.cache, 2, 6*time.Second, SessionsStrict
			cfg.MaxInFlight = 1 // so that the last body is that of the request in hand
			virtual(t, s, cfg, tr, func(t *testing.T, res *Result, out *memory, err error) {
				if err != nil || res.Validity.Verdict != trace.Valid {
					t.Fatal(err, res.Validity)
				}
				var share [2]float64
				for i := range res.Levels {
					p := res.Levels[i].Prefix
					expected, observed := p.Expected(), p.Observed()
					if expected == nil || observed == nil || math.Abs(*expected-*observed) > 0.005 {
						t.Fatalf("level %d: %+v: expected and observed differ", i, p)
					}
					share[i] = *expected
				}
				if !row.want(share[0], share[1]) {
					t.Errorf("expected hit rates %v", share)
				}
				if primed := len(s.bodies) - len(out.records); (primed > 0) != (row.cache == CachePrimed) {
					t.Errorf("%d requests have no record", primed)
				}
			})
		})
	}
}

// A warm-up leaves nothing in the cache that the window asks for.
func TestWarmUpIsDisjoint(t *testing.T) {
	tr := chatTrace(0, 0)
	tr.Records = chainTrace(6, 4, 4)
	s := &stub{answer: tokensAnswer(0, 0, 1)}
	cfg := one(1, 12*time.Second)
	cfg.Warmup, cfg.Sessions = 12*time.Second, SessionsStrict
	virtual(t, s, cfg, tr, func(t *testing.T, res *Result, _ *memory, err error) {
		if err != nil {
			t.Fatal(err)
		}
		cache := &prefixCache{known: make(map[string]bool)}
		warm := res.Scheduled - res.Levels[0].Scheduled
		for i, body := range s.bodies {
			cache.full = int64(i) >= warm
			if words, cached := cache.lookUp(body); cache.full && cached > 1 { // one word may be equal by chance
				t.Errorf("a prompt of the window begins with %d of its %d words as one of the warm-up", cached, words)
			}
		}
		if warm != 12 || !cache.full {
			t.Errorf("%d requests of a warm-up, %d in all", warm, len(s.bodies))
		}
	})
}

func TestPrimingFails(t *testing.T) {
	s := &stub{answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }}
	cfg := one(10, time.Second)
	cfg.Cache = CachePrimed
	virtual(t, s, cfg, chatTrace(10, 100*time.Millisecond), func(t *testing.T, res *Result, out *memory, err error) {
		if err == nil || !strings.Contains(err.Error(), "none of the 10 requests that fill the cache was answered") || len(out.records) != 0 {
			t.Errorf("%d records, %v", len(out.records), err)
		}
	})
}

// Levels that find the cache in different states are told apart.
func TestComparePrefixes(t *testing.T) {
	level := func(perS float64, repeated, cached int64) trace.Level {
		return trace.Level{OfferedPerS: perS, Prefix: &trace.PrefixReuse{PlannedTokens: 100, RepeatedTokens: repeated, ReportedTokens: 100, CachedTokens: cached}}
	}
	if got := comparePrefixes([]trace.Level{level(1, 40, 39), {}, level(2, 41, 40), level(3, 41, 39)}, CacheAsTrace); len(got) != 0 {
		t.Errorf("%q", got)
	}
	got := comparePrefixes([]trace.Level{level(1, 40, 2), level(2, 40, 39)}, CacheCold)
	if len(got) != 1 || strings.Contains(got[0], "--cache cold") || !strings.Contains(got[0], "observed hit rate is 2.0 % in level 1 (1/s) and 39.0 % in level 2") {
		t.Errorf("%q", got)
	}
}
