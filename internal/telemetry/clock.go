package telemetry

import "time"

// clock is the time of a session: the wall clock at its start plus what has
// passed since, so that a step of the wall clock bends no series.
type clock struct{ start time.Time }

func newClock() clock { return clock{time.Now()} }

// now is in nanoseconds since the Unix epoch.
func (c clock) now() int64 { return c.start.UnixNano() + int64(time.Since(c.start)) }

// step is by how much the wall clock was set since the start.
func (c clock) step() time.Duration { return time.Duration(time.Now().UnixNano() - c.now()) }
