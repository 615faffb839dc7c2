package replayer

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Shard is one of several processes that share a replay: each draws up the
// whole schedule and sends the conversations that fall to it by hash, all of
// them starting each level at the same moment. The zero value is the whole.
type Shard struct {
	// Index counts from 1 to Count.
	Index, Count int
	// StartAt is when the first level's warm-up begins, on the clocks of all
	// shards. Each level has a slot of fixed length after that.
	StartAt time.Time
}

// ParseShard reads "i/N", 1 ≤ i ≤ N.
func ParseShard(s string) (Shard, error) {
	left, right, ok := strings.Cut(s, "/")
	i, err1 := strconv.Atoi(left)
	n, err2 := strconv.Atoi(right)
	if !ok || err1 != nil || err2 != nil || i < 1 || i > n {
		return Shard{}, inputError("give --shard as i/N, such as 2/8", "shard %q", s)
	}
	return Shard{Index: i, Count: n}, nil
}

// String is "i/N".
func (s Shard) String() string {
	if s.Count == 0 {
		return "1/1"
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Count)
}

// split reports whether the replay has other shards.
func (s Shard) split() bool { return s.Count > 1 }

// slotSlack is the time between the end of one slot's drain and the start of
// the next, in which records are written and prompts drawn up.
const slotSlack = 5 * time.Second

// slot is when the warm-up of the nth level begins.
func (s Shard) slot(cfg *Config, n int) time.Time {
	return s.StartAt.Add(time.Duration(n) * (cfg.Warmup + cfg.Hold + cfg.Drain + cfg.Settle + slotSlack))
}

// keep leaves the arrivals that fall to the shard: whole conversations of one
// copy.
func (s Shard) keep(arrivals []arrival, unit []uint64) []arrival {
	if !s.split() {
		return arrivals
	}
	return slices.DeleteFunc(arrivals, func(a arrival) bool {
		return mix(unit[a.rec], uint64(a.instance), saltShard)%uint64(s.Count) != uint64(s.Index-1)
	})
}

// begins waits for the level's slot and says when it starts. An error: the
// slot has passed.
func (s Shard) begins(ctx context.Context, cfg *Config, n int) (time.Time, error) {
	if !s.split() {
		return time.Now().Add(lead), nil
	}
	at := s.slot(cfg, n)
	if late := -time.Until(at); late > 0 {
		return at, stopped(fmt.Sprintf("shard %s came %v too late for level %d: the shards no longer run together", s, late.Round(time.Millisecond), n+1))
	}
	pause(ctx, time.Until(at.Add(-lead)))
	return at, nil
}

// checkShard refuses what shards cannot do together.
func (c *Config) checkShard() error {
	s := c.Shard
	switch {
	case !s.split():
		return nil
	case s.Index < 1 || s.Index > s.Count:
		return inputError("give --shard as i/N, such as 2/8", "shard %d/%d", s.Index, s.Count)
	case s.StartAt.IsZero():
		return inputError("give all shards the same --start-at, some seconds from now", "shard %s has no common start", s)
	case time.Until(s.StartAt) <= 0:
		return inputError("give all shards the same --start-at, some seconds from now", "the common start %s is over", s.StartAt.Format(time.RFC3339))
	case c.Planner != nil:
		return inputError("give --rate, --levels or --scale", "shards cannot search: none sees what the others measure")
	}
	return nil
}
