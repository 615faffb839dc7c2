package hostcheck

import "golang.org/x/sys/unix"

// ClockSynced asks the kernel whether an NTP client holds the clock to a
// reference (adjtimex(2)); nil where it may not be asked.
func ClockSynced() *bool {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return nil
	}
	return new(state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0)
}
