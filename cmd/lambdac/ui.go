package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// ui writes what a person reads while a command works: messages and progress
// on stderr, never results.
type ui struct {
	w        io.Writer
	quiet    bool
	terminal bool
	last     time.Time
	open     bool // a progress line without its end
}

func newUI(c *cobra.Command) *ui {
	quiet, _ := c.Flags().GetBool("quiet")
	u := &ui{w: c.ErrOrStderr(), quiet: quiet}
	if f, ok := u.w.(*os.File); ok {
		u.terminal = term.IsTerminal(int(f.Fd()))
	}
	return u
}

// say prints one message.
func (u *ui) say(format string, args ...any) {
	if u.quiet {
		return
	}
	u.endLine()
	fmt.Fprintf(u.w, format+"\n", args...)
}

// warn prints a doubt, quiet or not: it belongs to the result.
func (u *ui) warn(format string, args ...any) {
	u.endLine()
	fmt.Fprintf(u.w, "lambdac: warning: "+format+"\n", args...)
}

// progress prints a status line: rewritten in place five times a second on a
// terminal, a new line every five seconds elsewhere.
func (u *ui) progress(format string, args ...any) {
	if !u.due() {
		return
	}
	u.last = time.Now()
	line := fmt.Sprintf(format, args...)
	if !u.terminal {
		fmt.Fprintln(u.w, line)
		return
	}
	fmt.Fprintf(u.w, "\r\x1b[K%s", line)
	u.open = true
}

// due reports whether progress would print.
func (u *ui) due() bool {
	every := 5 * time.Second
	if u.terminal {
		every = 200 * time.Millisecond
	}
	return !u.quiet && time.Since(u.last) >= every
}

func (u *ui) endLine() {
	if u.open {
		fmt.Fprint(u.w, "\r\x1b[K")
		u.open = false
	}
}

// printJSON writes one indented JSON document.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write json: %w", err)
	}
	return nil
}
