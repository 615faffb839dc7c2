package replayer

import (
	"strings"
	"testing"
	"time"
)

// A wall clock that is stepped within a level changes no send and no verdict,
// and the level says by how much it moved; slewing below the limit is not told.
func TestSteppedClock(t *testing.T) {
	for _, row := range []struct {
		step time.Duration
		want string // "" = nothing is said
	}{
		{0, ""},
		{100 * ms, ""},
		{101 * ms, "moved by +0.101 s"},
		{-time.Hour, "moved by -3.6e+03 s"},
	} {
		t.Run(row.step.String(), func(t *testing.T) {
			cfg := one(10, 10*time.Second)
			reads := 0
			cfg.wallClock = func() time.Time {
				reads++
				return wallTime().Add(time.Duration(reads) * row.step)
			}
			virtual(t, &stub{answer: tokensAnswer(0, 0, 1)}, cfg, chatTrace(100, 100*ms), func(t *testing.T, res *Result, _ *memory, err error) {
				if err != nil {
					t.Fatal(err)
				}
				l := res.Levels[0]
				told := strings.Join(l.Warnings, "\n")
				if len(l.Invalid) != 0 || row.want == "" && told != "" || !strings.Contains(told, row.want) {
					t.Errorf("invalid %q, warnings %q", l.Invalid, l.Warnings)
				}
				if *l.LagP99Us != 0 || l.Tally.OK != l.Scheduled {
					t.Errorf("lag p99 %d µs, %d of %d answered", *l.LagP99Us, l.Tally.OK, l.Scheduled)
				}
			})
		})
	}
}
