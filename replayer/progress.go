package replayer

import (
	"time"

	"github.com/lambdac/lambdac/trace"
)

// Progress is how far a replay is.
type Progress struct {
	// Level is the level being run. Its counts are set once it is done (Done).
	Level trace.Level
	Done  bool
	// Priming: no level has begun; Sent of Scheduled requests that fill the
	// service's cache are on their way.
	Priming bool
	// LevelsDone of Levels; Levels is 0 where a Planner decides.
	LevelsDone, Levels int
	// Scheduled requests of this level, Sent of them dispatched or dropped,
	// Finished with an outcome, InFlight open now; the warm-up counts.
	Scheduled, Sent, Finished int64
	InFlight                  int32
	// Errors and Sheds so far in this level, by class.
	Errors, Sheds int64
	// TTFTUs is the median time to the first token of what was answered since
	// the last report; nil where nothing was. Failed and Answered are the
	// requests that ended since then, with and without an error or shed.
	TTFTUs           *int64
	Failed, Answered int64
	// Tokens of the budget are spent, those of prompts already drawn up
	// included; Budget is 0 where there is none.
	Tokens, Budget int64
	// Cost of those tokens, and its limit; both 0 where no price was given.
	Cost, MaxCost float64
	// Elapsed since the level's first send, and Left until its window ends.
	Elapsed, Left time.Duration
}
