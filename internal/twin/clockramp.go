package twin

import "time"

const (
	// rampAfter is the pause after which the GPU has lowered its clock, rampTime
	// how long raising it takes, and rampSlow how many times as long a step
	// lasts meanwhile.
	rampAfter = 200 * time.Millisecond
	rampTime  = 300 * time.Millisecond
	rampSlow  = 8
)

// clockRamp is a power saving GPU: as cold pages, it is slow after a pause, but
// its clock and its power state say so.
type clockRamp struct {
	e *Engine
	// until is when the clock is up again.
	until int64
}

func attachClockRamp(e *Engine) {
	c := &clockRamp{e: e}
	e.hooks.delay = append(e.hooks.delay, c.delay)
	e.hooks.clock = c.low
}

func (c *clockRamp) delay(length time.Duration) time.Duration {
	if time.Duration(c.e.now-c.e.idleAt) >= rampAfter {
		c.until = c.e.now + int64(rampTime)
	}
	if c.e.now >= c.until {
		return 0
	}
	return length * (rampSlow - 1)
}

// low reports whether the clock is down at a moment at which the engine is.
func (c *clockRamp) low(at int64) bool {
	paused := c.e.stepEnd == Never && time.Duration(at-c.e.idleAt) >= rampAfter
	return paused || at < c.until
}
