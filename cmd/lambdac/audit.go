package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lambdac/lambdac/sanitizer/audit"
)

// auditDir searches a directory, prints what it found, and fails where that is
// anything.
func auditDir(c *cobra.Command, dir string, o *sanitizeFlags) error {
	if o.out != "" || o.mode != "" || o.policy != "" || o.force {
		return usage(seeSanitize, "--audit only reads: it goes with --json and nothing else")
	}
	r, err := audit.Audit(dir)
	if err != nil {
		return err
	}
	r.Version = version
	u := newUI(c)
	for _, warning := range r.Warnings {
		u.warn("%s", warning)
	}
	if o.asJSON {
		err = printJSON(c.OutOrStdout(), r)
	} else {
		err = printAudit(c.OutOrStdout(), r)
	}
	if err != nil || r.Clean {
		return err
	}
	return &exitError{exitMissed, errors.New("the audit has findings"), "sanitize it again, to a stricter mode or by a policy that covers them, and keep the original in place"}
}

// printAudit prints a line per finding, and one of what was read.
func printAudit(w io.Writer, r *audit.Report) error {
	for _, f := range r.Findings {
		at := []string{f.Where, f.Column, f.Why}
		if f.Row != nil {
			at = append(at, "row", strconv.FormatInt(*f.Row, 10))
		}
		at = slices.DeleteFunc(at, func(s string) bool { return s == "" })
		if _, err := fmt.Fprintf(w, "%-18s %6d × %s: %s\n", f.Rule, f.Count, f.File, strings.Join(at, " ")); err != nil {
			return fmt.Errorf("print findings: %w", err)
		}
	}
	verdict := "nothing found"
	if !r.Clean {
		verdict = fmt.Sprintf("%d findings", len(r.Findings))
	}
	if _, err := fmt.Fprintf(w, "%s in %d files, %d texts, by %d rules\n", verdict, r.Files, r.Texts, len(r.Rules)); err != nil {
		return fmt.Errorf("print findings: %w", err)
	}
	return nil
}
