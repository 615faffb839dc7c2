//go:build !unix

package replayer

import "time"

// processCPU tells that the system does not say.
func processCPU() (time.Duration, bool) { return 0, false }

// maxOpenFiles tells that the system does not say.
func maxOpenFiles() (int, bool) { return 0, false }
