package recorder

import (
	"strings"
	"testing"
	"time"
)

// TestClockStep: the wall clock is set an hour back and then forth again by
// two; no gap between two events bends, and both steps are told of.
func TestClockStep(t *testing.T) {
	const start = int64(1_700_000_000e9)
	boot, step := int64(1000e9), int64(0)
	c := newBootClock(func() (int64, int64) { return boot, start + boot + step })
	var events []int64
	for second := range 12 {
		switch second {
		case 4:
			step -= time.Hour.Nanoseconds()
		case 8:
			step += 2 * time.Hour.Nanoseconds()
		}
		events = append(events, c.unix(boot))
		if got := c.now(); got != start+boot {
			t.Errorf("second %d: now %d, want %d", second, got, start+boot)
		}
		boot += 1e9
	}
	for i := range events[1:] {
		if gap := events[i+1] - events[i]; gap != 1e9 {
			t.Errorf("gap %d is %d ns", i, gap)
		}
	}
	if got := c.warning(); !strings.Contains(got, "set 2 times") || !strings.Contains(got, "1h0m0s") {
		t.Errorf("warning %q", got)
	}
}

// TestClockDrift: what an NTP client slews, and the noise of reading two
// clocks, is no step.
func TestClockDrift(t *testing.T) {
	boot, drift := int64(0), int64(0)
	c := newBootClock(func() (int64, int64) { return boot, boot + drift })
	for range 1000 {
		boot += 1e9
		drift += 500_000 // 500 ppm, the most that adjtime(2) slews
		c.now()
	}
	if got := c.warning(); got != "" {
		t.Errorf("warning %q", got)
	}
}
