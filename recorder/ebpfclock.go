package recorder

import (
	"fmt"
	"time"
)

const (
	// sampleClock is how often the kernel's two clocks are compared.
	sampleClock = int64(2e9)
	// clockStep is the least difference that is a step and not the noise of
	// comparing.
	clockStep = int64(20e6)
)

// bootClock turns times of CLOCK_BOOTTIME, which never jump, into Unix times.
// The difference between the clocks is that at the start of the recording, so
// that a step of the wall clock (NTP, an administrator) bends no gap between
// two events; steps are told to the user.
type bootClock struct {
	// read returns both clocks, in ns, read at one moment.
	read func() (boot, wall int64)
	// offset is wall - boot at the start, last that of the last comparison.
	offset, last int64
	checked      int64
	steps        int
}

func newBootClock(read func() (boot, wall int64)) *bootClock {
	boot, wall := read()
	return &bootClock{read: read, offset: wall - boot, last: wall - boot, checked: boot}
}

// unix is a boot time in Unix ns.
func (c *bootClock) unix(boot int64) int64 { return boot + c.offset }

// boot is the inverse of unix.
func (c *bootClock) boot(unix int64) int64 { return unix - c.offset }

// now is the present, in the same time as all events. It compares the clocks
// when it is time to.
func (c *bootClock) now() int64 {
	boot, wall := c.read()
	if boot-c.checked >= sampleClock {
		c.checked = boot
		if d := wall - boot - c.last; d > clockStep || d < -clockStep {
			c.steps++
		}
		c.last = wall - boot
	}
	return c.unix(boot)
}

// warning is what to tell of steps; "" without any.
func (c *bootClock) warning() string {
	if c.steps == 0 {
		return ""
	}
	return fmt.Sprintf("the wall clock was set %d times during the recording, by %s in all; times are by the clock at its start",
		c.steps, time.Duration(c.last-c.offset).Round(time.Millisecond))
}
