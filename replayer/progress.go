package replayer

import (
	"fmt"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// Progress is how far a replay is.
type Progress struct {
	// Level is the level being run. Its counts are set once it is done (Done).
	Level trace.Level
	Done  bool
	// LevelsDone of Levels; Levels is 0 where a Planner decides.
	LevelsDone, Levels int
	// Scheduled requests of this level, Sent of them dispatched or dropped,
	// Finished with an outcome, InFlight open now; the warm-up counts.
	Scheduled, Sent, Finished int64
	InFlight                  int32
	// Errors and Sheds so far in this level, by class.
	Errors, Sheds int64
	// Elapsed since the level's first send, and Left until its window ends.
	Elapsed, Left time.Duration
}

// String is one line for a person.
func (p Progress) String() string {
	place := fmt.Sprintf("level %d", p.Level.Order+1)
	if p.Levels > 0 {
		place += fmt.Sprintf(" of %d", p.Levels)
	}
	if p.Done {
		t := p.Level.Tally
		return fmt.Sprintf("%s, %.4g/s: done, %d ok, %d errors, %d sheds", place, p.Level.OfferedPerS, t.OK, t.Errors, t.Sheds)
	}
	return fmt.Sprintf("%s, %.4g/s: %d of %d sent, %d open, %d errors, %d sheds, %v left",
		place, p.Level.OfferedPerS, p.Sent, p.Scheduled, p.InFlight, p.Errors, p.Sheds, p.Left.Round(time.Second))
}
