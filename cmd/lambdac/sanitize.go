package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lambdac/lambdac/sanitizer"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// sanitizeFlags are the flags of sanitize.
type sanitizeFlags struct {
	out    string
	mode   string
	policy string
	print  bool
	audit  bool
	force  bool
	asJSON bool
}

func newSanitize() *cobra.Command {
	var o sanitizeFlags
	c := &cobra.Command{
		Use:   "sanitize (TRACE -o DIR [--mode MODE] [--policy FILE] | --audit DIR | --print-policy)",
		Short: "Sanitize a trace again, to a stricter mode or by another policy, or audit one",
		Long: `Write a trace anew in a stricter mode, or by another policy. Ids, times, sizes
and block ids stay, so that results of the old trace still join with the new
one. The modes, from the strictest: shape keeps no text; filler keeps texts as
other words of as many tokens; redact keeps texts but for what detectors find.
What a mode or a policy took away cannot be brought back. A run is refused: its
rows are those of its trace, so sanitize that and replay it.

--audit reads a trace or run, and changes nothing: every text of every file is
searched for what looks like a credential or a person, by rules of its own. It
lists rule, file, place and count, never the value, and exits 1 on a finding,
or where something cannot be read. Names and addresses it does not recognise.

--print-policy prints a policy in the form of a policy file: the default one, or
that of --policy.`,
		Example: `  lambdac sanitize traces/monday --mode shape -o traces/monday-shape
  lambdac sanitize traces/monday --policy strict -o traces/monday-strict
  lambdac sanitize --audit traces/monday
  lambdac sanitize --print-policy --policy strict`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if o.print {
				return printPolicy(c, o.policy)
			}
			if len(args) != 1 {
				return usage(seeSanitize, "sanitize takes one TRACE, got %d arguments", len(args))
			}
			if o.audit {
				return auditDir(c, args[0], &o)
			}
			return sanitize(c, args[0], &o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.out, "out", "o", "", "trace directory to make")
	f.StringVar(&o.mode, "mode", "", "what to keep of texts: shape, filler or redact (default: the trace's)")
	f.StringVar(&o.policy, "policy", "", policyHelp)
	f.BoolVar(&o.audit, "audit", false, "search a trace or run for what must not be in it, read-only")
	f.BoolVar(&o.print, "print-policy", false, "print a policy as YAML")
	f.BoolVar(&o.force, "force", false, "replace an existing trace directory")
	f.BoolVar(&o.asJSON, "json", false, "print the summary, or the findings, as one JSON document")
	return c
}

const seeSanitize = "see lambdac sanitize --help"

func printPolicy(c *cobra.Command, name string) error {
	p, err := loadPolicy(name)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(c.OutOrStdout(), p.YAML()); err != nil {
		return fmt.Errorf("print policy: %w", err)
	}
	return nil
}

func sanitize(c *cobra.Command, path string, o *sanitizeFlags) error {
	if o.out == "" {
		return usage(seeSanitize, "-o is needed: where the new trace goes")
	}
	if overlap(path, o.out) {
		return usage("choose a folder beside it", "-o %q is the trace itself, in it or around it", o.out)
	}
	policy, err := loadPolicy(o.policy)
	if err != nil {
		return err
	}
	dir, err := tracedir.Open(path)
	if err != nil {
		return err
	}
	again, err := o.resanitizer(dir.Manifest(), policy)
	if err != nil {
		return err
	}
	defer again.Close()
	u := newUI(c)
	for _, warning := range dir.Warnings() {
		u.warn("%s", warning)
	}
	seal := again.Seal()
	manifest := *dir.Manifest()
	manifest.Version, manifest.Seal, manifest.Clean = version, &seal, false
	w, err := tracedir.Create(filepath.Clean(o.out), &manifest, tracedir.Options{Force: o.force})
	if err != nil {
		return err
	}
	if err := copyAgain(c.Context(), dir, w, again); err != nil {
		return err
	}
	return show(c, o.out, o.asJSON)
}

// resanitizer chooses the mode: the trace's, unless another is asked for.
func (o *sanitizeFlags) resanitizer(m *trace.Manifest, policy sanitizer.Policy) (*sanitizer.Resanitizer, error) {
	if m.Run != nil {
		return nil, usage("sanitize the trace that it replayed, and replay that", "a run cannot be sanitized again: its rows are those of its trace, %s", m.Run.TraceID)
	}
	mode := trace.Mode(o.mode)
	if mode == "" {
		mode = m.Seal.Mode
	}
	if mode == trace.ModeImport {
		mode = trace.ModeShape
	}
	again, err := sanitizer.NewResanitizer(sanitizer.Config{Policy: policy, Mode: mode, Version: version}, *m.Seal)
	if err != nil {
		return nil, usage("use --mode "+string(trace.ModeShape)+", or the mode of the trace", "%w", err)
	}
	return again, nil
}

// copyAgain sanitizes each row on its way, and closes the new trace whatever
// happens.
func copyAgain(ctx context.Context, from *tracedir.Dir, to *tracedir.Writer, again *sanitizer.Resanitizer) error {
	ran := copyTables(ctx, from, to, again)
	stored := to.SetManifest(func(m *trace.Manifest) {
		m.Clean = from.Manifest().Clean && ran == nil
		m.Warnings = slices.Concat(m.Warnings, from.Warnings(), again.Warnings())
	})
	err := cmp.Or(ran, stored, to.Close())
	if errors.Is(err, context.Canceled) {
		return &exitError{exitInvalid, errors.New("stopped before the trace's end"), "what was written is complete and readable, but a part is missing"}
	}
	return err
}

func copyTables(ctx context.Context, from *tracedir.Dir, to *tracedir.Writer, again *sanitizer.Resanitizer) error {
	if again.KeepsBodies() {
		if err := copyBodies(ctx, from, to, again); err != nil {
			return err
		}
	}
	return cmp.Or(
		eachRow(ctx, from, func(r *trace.Record) error {
			again.Record(r)
			return to.Write(r)
		}),
		eachRow(ctx, from, to.WriteFeatures),
		eachRow(ctx, from, to.WriteCapture),
		eachRow(ctx, from, to.WriteSample),
	)
}

// requestColumns are those by which bodies are read.
type requestColumns struct {
	RequestID    string        `parquet:"request_id"`
	APIKind      trace.APIKind `parquet:"api_kind,dict"`
	RequestModel *string       `parquet:"request_model,dict"`
}

func copyBodies(ctx context.Context, from *tracedir.Dir, to *tracedir.Writer, again *sanitizer.Resanitizer) error {
	err := eachRow(ctx, from, func(r *requestColumns) error {
		again.Request(r.RequestID, r.APIKind, r.RequestModel)
		return nil
	})
	if err != nil {
		return err
	}
	return eachRow(ctx, from, func(b *trace.Body) error {
		if !again.Body(b) {
			return nil
		}
		return to.WriteBody(b)
	})
}

// eachRow calls do with each row of a table, until it fails or ctx ends.
func eachRow[T any](ctx context.Context, from *tracedir.Dir, do func(*T) error) error {
	for row, err := range tracedir.Rows[T](from) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		if err := do(row); err != nil {
			return err
		}
	}
	return nil
}

// overlap reports whether one of two paths is the other or inside it: with
// --force the new trace would replace the old one before it is read.
func overlap(a, b string) bool {
	inside := func(a, b string) bool {
		rel, err := filepath.Rel(resolved(a), resolved(b))
		return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
	}
	return inside(a, b) || inside(b, a)
}

// resolved is the path without links, as far as it is there.
func resolved(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolved(parent), filepath.Base(path))
}
