package replayer

import (
	"fmt"
	"time"
)

// maxClockStep is how far the wall clock may move against the monotonic one
// within a level before that is said.
const maxClockStep = 100 * time.Millisecond

// wallTime reads the wall clock alone.
func wallTime() time.Time { return time.Now().Round(0) }

// clockWatch compares the wall clock with the monotonic one, by which requests
// are sent and timed: a step moves neither, but shifts what else is joined to
// the run by the time of day.
type clockWatch struct {
	read  func() time.Time
	wall  time.Time
	since time.Time
}

func watchClock(read func() time.Time) clockWatch {
	return clockWatch{read: read, wall: read(), since: time.Now()}
}

// moved is how far the wall clock went beyond the time that passed; below 0 it
// was set back.
func (c *clockWatch) moved() time.Duration {
	return c.read().Sub(c.wall) - time.Since(c.since)
}

// judgeClock says where the wall clock was stepped.
func (f *facts) judgeClock() {
	if f.clockMoved.Abs() > maxClockStep {
		f.level.Warnings = append(f.level.Warnings, fmt.Sprintf(
			"the wall clock moved by %+.3g s against the monotonic one: requests were sent and timed by the latter; telemetry and marks are joined by the former and may be off by as much",
			f.clockMoved.Seconds()))
	}
}
