package main

import (
	"fmt"
	"time"

	"github.com/lambdac/lambdac/replayer"
)

// replayProgress turns a replay's progress into lines with the time left.
type replayProgress struct {
	ui       *ui
	prefix   string
	perLevel time.Duration
}

func newReplayProgress(u *ui, cfg replayer.Config, prefix string) *replayProgress {
	return &replayProgress{ui: u, prefix: prefix, perLevel: cfg.Warmup + cfg.Hold}
}

func (r *replayProgress) show(p replayer.Progress) {
	if p.Done {
		l := &p.Level
		r.ui.say("%slevel %d/%s %6.4g/s: %d scheduled, ok %d, errors %d, sheds %d, excluded %d, lag p99 %s", r.prefix,
			p.LevelsDone, levels(p.Levels), l.OfferedPerS, l.Scheduled, l.Tally.OK, l.Tally.Errors, l.Tally.Sheds, l.Tally.Excluded, lag(l.LagP99Us))
		return
	}
	left := p.Left
	if more := p.Levels - p.LevelsDone - 1; more > 0 {
		left += time.Duration(more) * r.perLevel
	}
	r.ui.progress("%slevel %d/%s %.4g/s: %d of %d ended, %d in flight, errors %d, sheds %d, %s left", r.prefix,
		p.LevelsDone+1, levels(p.Levels), p.Level.OfferedPerS, p.Finished, p.Scheduled, p.InFlight, p.Errors, p.Sheds, left.Round(time.Second))
}

func levels(n int) string {
	if n == 0 {
		return "?"
	}
	return fmt.Sprint(n)
}
