package main

import (
	"fmt"
	"time"

	"github.com/lambdac/lambdac/replayer"
)

// replayProgress shows how a replay goes: a live view on a terminal, else a
// line every few seconds, with the time left.
type replayProgress struct {
	ui       *ui
	prefix   string
	perLevel time.Duration
	live     *liveView
}

func newReplayProgress(u *ui, cfg replayer.Config, prefix string) *replayProgress {
	return &replayProgress{ui: u, prefix: prefix, perLevel: cfg.Warmup + cfg.Hold}
}

// begin draws the live view where there is a terminal to draw on; end takes it
// away.
func (r *replayProgress) begin() (end func()) {
	if !r.ui.terminal || r.ui.quiet {
		return func() {}
	}
	r.live = startLive(r.left)
	return r.live.close
}

func (r *replayProgress) show(p replayer.Progress) {
	switch {
	case r.live != nil:
		r.live.show(p)
	case p.Priming:
		r.ui.progress("%s%s", r.prefix, primingLine(p))
	case p.Done:
		r.ui.say("%s%s", r.prefix, levelLine(p))
	default:
		r.ui.progress("%slevel %d/%s %.4g/s: %d of %d ended, %d in flight, errors %d, sheds %d, %s left", r.prefix,
			p.LevelsDone+1, levels(p.Levels), p.Level.OfferedPerS, p.Finished, p.Scheduled, p.InFlight, p.Errors, p.Sheds, r.left(p).Round(time.Second))
	}
}

// primingLine is how far the filling of the cache is.
func primingLine(p replayer.Progress) string {
	return fmt.Sprintf("filling the cache before the first level: %d of %d prompts sent", p.Sent, p.Scheduled)
}

// levelLine sums up a level that is done.
func levelLine(p replayer.Progress) string {
	l := &p.Level
	return fmt.Sprintf("level %d/%s %6.4g/s: %d scheduled, ok %d, errors %d, sheds %d, excluded %d, lag p99 %s",
		p.LevelsDone, levels(p.Levels), l.OfferedPerS, l.Scheduled, l.Tally.OK, l.Tally.Errors, l.Tally.Sheds, l.Tally.Excluded, lag(l.LagP99Us))
}

// left is the time to the end of the last level's window; of this level's
// where nobody knows how many follow.
func (r *replayProgress) left(p replayer.Progress) time.Duration {
	left := p.Left
	if more := p.Levels - p.LevelsDone - 1; more > 0 {
		left += time.Duration(more) * r.perLevel
	}
	return left
}

func levels(n int) string {
	if n == 0 {
		return "?"
	}
	return fmt.Sprint(n)
}
