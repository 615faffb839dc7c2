package twin

import "time"

const (
	// coldAfter is the pause after which the GPU's pages are cold, and remapTime
	// what mapping them anew costs the first step. The published case went from
	// 127 to 418 ms at the 99th percentile with 8 in flight.
	coldAfter = 200 * time.Millisecond
	remapTime = 300 * time.Millisecond
)

// attachColdPages delays the first step after a pause. The fewer requests, the
// more of them come after a pause: the tail is worst at the lowest load.
func attachColdPages(e *Engine) {
	e.hooks.delay = append(e.hooks.delay, func(time.Duration) time.Duration {
		if time.Duration(e.now-e.idleAt) < coldAfter {
			return 0
		}
		return remapTime
	})
}
