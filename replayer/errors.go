package replayer

import (
	"errors"
	"fmt"
)

// What a caller branches on; each message ends with what to do about it.
var (
	// ErrInput: the configuration, the trace or the target cannot be used;
	// nothing was sent that counts.
	ErrInput = errors.New("replay cannot start")
	// ErrStopped: a safety stop or the user ended the replay early. What was
	// measured until then is written.
	ErrStopped = errors.New("replay stopped")
	// ErrOutput: the records could no longer be written (a full disk). What was
	// written before is kept.
	ErrOutput = errors.New("replay cut short: output")
)

// inputError is an ErrInput with a hint.
func inputError(hint, format string, args ...any) error {
	return fmt.Errorf("%w: %w (%s)", ErrInput, fmt.Errorf(format, args...), hint)
}

// unmergeable is an ErrInput of a merge, which starts no replay.
type unmergeable struct{ err error }

func (e unmergeable) Error() string { return fmt.Sprintf("runs cannot be merged: %v", e.err) }

func (unmergeable) Is(target error) bool { return target == ErrInput }

// mergeError is an ErrInput of a merge with a hint.
func mergeError(hint, format string, args ...any) error {
	return unmergeable{fmt.Errorf("%w (%s)", fmt.Errorf(format, args...), hint)}
}

// Causes with which a request's context is cancelled. The cause decides the
// outcome of the record.
var (
	errFirstToken = errors.New("deadline for the first token passed")
	errIdle       = errors.New("deadline between events passed")
	errTotal      = errors.New("deadline for the whole answer passed")
	errPlan       = errors.New("given up where the recorded client gave up")
	errDrain      = errors.New("still open when the drain ended")
	errKill       = errors.New("stopped by the user")
	errBudget     = errors.New("the budget of tokens or cost is spent")
)
