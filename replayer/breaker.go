package replayer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// Breaker stops a replay against a service that only fails. Sheds (429, 503
// and their kin) never count: refusing is what an overloaded service should
// do. Answers that blame the request (other 4xx) count, although they say
// nothing of the load: where all requests are wrong nothing is measured.
//
// The zero value is the built-in breaker: at the first level, which is the
// lowest load, half of the answers failed; at any other, where failing may be
// what the replay is to show, all of them did. It also trips at the end of a
// level when nothing but failures was seen for MinRequests, however many
// levels ago that began.
type Breaker struct {
	// ErrorRate in (0, 1] trips at that share of errors at every level; 0 = the
	// built-in rule.
	ErrorRate float64
	// Over is the sliding window, or a whole level where that is shorter;
	// 0 = 30 s.
	Over time.Duration
	// MinRequests is the fewest answers to judge by; 0 = 20.
	MinRequests int
	// Off switches the breaker off.
	Off bool
}

const (
	breakerOver        = 30 * time.Second
	breakerMinRequests = 20
	firstLevelRate     = 0.5
	laterLevelRate     = 1
)

func (b Breaker) withDefaults() Breaker {
	b.Over = orDefault(b.Over, breakerOver)
	b.MinRequests = orDefault(b.MinRequests, breakerMinRequests)
	return b
}

// checkBreaker returns an ErrInput where the breaker makes no sense.
func (c *Config) checkBreaker() error {
	if b := c.Breaker; !(b.ErrorRate >= 0 && b.ErrorRate <= 1) || b.Over < 0 || b.MinRequests < 0 {
		return inputError("give --stop-errors as '50% over 30s'", "a stop at %v of %d answers over %v: out of range", b.ErrorRate, b.MinRequests, b.Over)
	}
	return nil
}

// rate is the share of errors that trips at a level.
func (b *Breaker) rate(first bool) float64 {
	switch {
	case b.ErrorRate > 0:
		return b.ErrorRate
	case first:
		return firstLevelRate
	}
	return laterLevelRate
}

// fuse watches one level for the breaker.
type fuse struct {
	rule  Breaker
	rate  float64
	began time.Time
	slots []tally // one a second, a ring over rule.Over
	at    int64   // the second that slots[at % len] stands for
	// streak is the number of failures since the last answer that was none;
	// the next level goes on with it.
	streak int64
	kinds  map[string]int64 // failures by how they failed
}

type tally struct{ errors, all int64 }

func newFuse(rule Breaker, first bool, began time.Time, streak int64) *fuse {
	n := max(int(rule.Over.Seconds()), 1)
	return &fuse{
		rule: rule, rate: rule.rate(first), began: began, slots: make([]tally, n),
		streak: streak, kinds: make(map[string]int64),
	}
}

// add counts one result that was there at a time and returns why the replay
// must stop, or "".
func (f *fuse) add(at time.Time, r *trace.Result) string {
	class := r.Class()
	if f.rule.Off || class == trace.ClassExcluded && !blamesRequest(r) {
		return ""
	}
	f.turn(at)
	slot := &f.slots[f.at%int64(len(f.slots))]
	slot.all++
	if class == trace.ClassError || class == trace.ClassExcluded {
		slot.errors++
		f.streak++
		f.kinds[failure(r)]++
	} else {
		f.streak = 0
	}
	if at.Sub(f.began) < f.rule.Over {
		return "" // not a full window yet; see end
	}
	return f.verdict()
}

// turn empties the seconds that have passed since the last result.
func (f *fuse) turn(at time.Time) {
	second := max(int64(at.Sub(f.began)/time.Second), f.at)
	for n := int64(0); f.at < second && n < int64(len(f.slots)); n++ {
		f.at++
		f.slots[f.at%int64(len(f.slots))] = tally{}
	}
	f.at = second
}

// end is the verdict at the end of a level, however short it was.
func (f *fuse) end() string {
	if f.rule.Off {
		return ""
	}
	if why := f.verdict(); why != "" {
		return why
	}
	if f.streak >= int64(f.rule.MinRequests) {
		return fmt.Sprintf("the last %d answers failed, %s", f.streak, f.mostly())
	}
	return ""
}

// blamesRequest reports whether a service refused a request as wrong.
func blamesRequest(r *trace.Result) bool {
	return r.StatusCode != nil && *r.StatusCode >= 400 && *r.StatusCode < 500
}

// failure names how a request failed.
func failure(r *trace.Result) string {
	switch {
	case r.StatusCode != nil && *r.StatusCode >= 300:
		return fmt.Sprintf("status %d", *r.StatusCode)
	case r.OutcomeDetail != nil:
		return fmt.Sprintf("%s (%s)", r.Outcome, *r.OutcomeDetail)
	}
	return string(r.Outcome)
}

// mostly names the commonest failure of the level.
func (f *fuse) mostly() string {
	names := slices.SortedFunc(maps.Keys(f.kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(f.kinds[b], f.kinds[a]), cmp.Compare(a, b))
	})
	if len(names) == 0 {
		return "all before this level"
	}
	return "mostly " + names[0]
}

func (f *fuse) verdict() string {
	var sum tally
	for _, s := range f.slots {
		sum.errors, sum.all = sum.errors+s.errors, sum.all+s.all
	}
	if sum.all < int64(f.rule.MinRequests) || float64(sum.errors) < f.rate*float64(sum.all) {
		return ""
	}
	return fmt.Sprintf("%d of the last %d answers failed, %s (limit %.0f %% over %v)", sum.errors, sum.all, f.mostly(), 100*f.rate, f.rule.Over)
}
