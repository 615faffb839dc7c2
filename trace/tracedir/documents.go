package tracedir

import (
	"crypto/rand"
	"fmt"
	"path/filepath"

	"github.com/lambdac/lambdac/trace"
)

// completed is a copy of the manifest with what the package knows filled in.
func completed(m *trace.Manifest) *trace.Manifest {
	c := *m
	c.Schema, c.SchemaVersion = trace.ManifestSchema, trace.SchemaVersion
	if c.TraceID == "" {
		c.TraceID = rand.Text()
	}
	if c.TimeBase == "" {
		c.TimeBase = trace.TimeUnix
	}
	if c.Warnings == nil {
		c.Warnings = []string{} // a list in JSON, never null
	}
	return &c
}

// SetManifest changes the manifest and replaces manifest.json in one step.
// update must not keep the pointer, call the Writer, or remove the seal. That
// the end was clean reaches the disk with [Writer.Close] only, and not where
// that fails: before, rows may still be missing.
func (w *Writer) SetManifest(update func(*trace.Manifest)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := *w.manifest
	update(&next)
	if err := next.CheckSeal(); err != nil {
		return err
	}
	w.manifest = completed(&next)
	if err := w.writeManifest(); err != nil {
		return fmt.Errorf("write trace %q: %w", w.path, err)
	}
	return nil
}

func (w *Writer) writeManifest() error {
	m := *w.manifest
	m.Clean = m.Clean && w.complete
	return writeJSON(filepath.Join(w.path, manifestFile), &m)
}

// confirm makes it known that all rows are there. The caller holds mu.
func (w *Writer) confirm() {
	if w.failed != nil {
		return
	}
	w.complete = true
	if w.manifest.Clean {
		w.note(w.writeManifest())
	}
}

// SetLevels replaces levels.json.
func (w *Writer) SetLevels(levels []trace.Level) error {
	doc := levelsDoc{Schema: levelsSchema, Warnings: []string{}, Levels: levels}
	return w.setDocument(levelsFile, func(version string) any { doc.Version = version; return doc })
}

// SetMarks replaces marks.json.
func (w *Writer) SetMarks(marks []trace.Mark) error {
	doc := marksDoc{Schema: marksSchema, Warnings: []string{}, Marks: marks}
	return w.setDocument(marksFile, func(version string) any { doc.Version = version; return doc })
}

func (w *Writer) setDocument(file string, doc func(version string) any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := writeJSON(filepath.Join(w.path, file), doc(w.manifest.Version)); err != nil {
		return fmt.Errorf("write trace %q: %w", w.path, err)
	}
	return nil
}
