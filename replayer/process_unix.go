//go:build unix

package replayer

import (
	"math"
	"syscall"
	"time"
)

// processCPU is the CPU time of this process so far, user and system.
func processCPU() (time.Duration, bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}

// maxOpenFiles is how many files and connections this process may hold.
func maxOpenFiles() (int, bool) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, false
	}
	return int(min(uint64(l.Cur), math.MaxInt32)), true
}
