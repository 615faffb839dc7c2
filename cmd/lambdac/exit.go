package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"github.com/lambdac/lambdac/trace"
)

// Exit codes; see the root command's help.
const (
	exitOK      = 0
	exitMissed  = 1
	exitInvalid = 2
	exitUsage   = 3
	exitStopped = 4
)

// exitError is an error that decides the exit code and says what to try next.
// With a nil err it only sets the code: all has been said.
type exitError struct {
	code int
	err  error
	hint string
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage is an error of the command line: exit 3 with a hint.
func usage(hint, format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...), hint: hint}
}

// exitCode prints an error as one line and its hint as another, and returns the
// exit code. Style: lower case, no period, never a captured value.
func exitCode(w io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = classify(err)
	}
	if exit.err != nil {
		fmt.Fprintf(w, "lambdac: error: %s\n", oneLine(exit.err))
		if exit.hint != "" {
			fmt.Fprintf(w, "lambdac: hint: %s\n", exit.hint)
		}
	}
	return exit.code
}

// oneLine is an error's text; errors that were joined stand in a row.
func oneLine(err error) string {
	return strings.Join(strings.Split(strings.TrimSpace(err.Error()), "\n"), "; ")
}

// classify gives an error from a stage its exit code and hint.
func classify(err error) *exitError {
	switch {
	case damaged(err): // it says what to try
		return &exitError{code: exitUsage, err: err}
	case errors.Is(err, trace.ErrUnsanitized):
		return &exitError{exitUsage, err, "record or import it with lambdac; other tools' directories have no seal"}
	case errors.Is(err, syscall.ENOSPC):
		return &exitError{exitInvalid, err, "free space or choose another -o; what was closed before is complete and readable"}
	case errors.Is(err, fs.ErrExist):
		return &exitError{exitUsage, err, "choose another -o, or add --force to replace it"}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return &exitError{exitUsage, err, "choose a place that you may use, grant the missing permission, or run as root"}
	case errors.Is(err, syscall.EMFILE):
		return &exitError{exitUsage, err, "raise the limit of open files (ulimit -n), or give fewer captures at a time"}
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR):
		return &exitError{exitUsage, err, "check the path: a file is a capture, a directory is a trace or a run, a table of another tool goes with --csv"}
	case errors.Is(err, fs.ErrNotExist):
		return &exitError{exitUsage, err, "check the path"}
	case errors.Is(err, context.Canceled):
		return &exitError{exitStopped, errors.New("stopped by the user"), ""}
	}
	return &exitError{exitUsage, err, "see lambdac --help for what each command wants"}
}
