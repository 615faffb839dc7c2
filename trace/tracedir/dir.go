package tracedir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

const (
	manifestFile = "manifest.json"
	levelsFile   = "levels.json"
	marksFile    = "marks.json"

	levelsSchema = "lambdac.levels/v1"
	marksSchema  = "lambdac.marks/v1"
)

// Dir is a trace or run directory open for reading. It is safe for concurrent
// use. Nothing is kept open: parts are opened as they are read.
type Dir struct {
	path     string
	manifest *trace.Manifest
	parts    map[string][]part
	warnings []string
}

// Open reads the manifest and the footers of all parts. A directory without a
// sanitizer's seal is refused with [trace.ErrUnsanitized]. Temporary files,
// and parts that are empty or damaged, are left out, counted and named in
// [Dir.Warnings].
func Open(path string) (*Dir, error) {
	m, err := readManifest(path)
	if err != nil {
		return nil, fmt.Errorf("open trace %q: %w", path, err)
	}
	d := &Dir{path: path, manifest: m, parts: make(map[string][]part)}
	if m.SchemaVersion > trace.SchemaVersion {
		d.warn("schema version %d is newer than this program's %d: its new columns are not read", m.SchemaVersion, trace.SchemaVersion)
	}
	for _, table := range tableNames {
		if err := d.list(table); err != nil {
			return nil, fmt.Errorf("open trace %q: %w", path, err)
		}
	}
	return d, nil
}

func readManifest(dir string) (*trace.Manifest, error) {
	data, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		if _, statErr := os.Stat(dir); statErr != nil {
			return nil, statErr
		}
		return nil, fmt.Errorf("it has no %s, so it is no trace of lambdac: %w", manifestFile, trace.ErrUnsanitized)
	}
	if err != nil {
		return nil, err
	}
	m := new(trace.Manifest)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("parse %s: %w", manifestFile, err)
	}
	if m.Schema != trace.ManifestSchema {
		return nil, fmt.Errorf("parse %s: schema %q, want %q", manifestFile, m.Schema, trace.ManifestSchema)
	}
	return m, m.CheckSeal()
}

// list finds the parts of one table.
func (d *Dir) list(table string) error {
	entries, err := os.ReadDir(filepath.Join(d.path, table))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var names []partName
	var unfinished, strange []string
	for _, e := range entries {
		name, ok := parsePartName(e.Name())
		switch {
		case ok:
			names = append(names, name)
		case strings.HasSuffix(e.Name(), tmpSuffix):
			unfinished = append(unfinished, e.Name())
		default:
			strange = append(strange, e.Name())
		}
	}
	d.warnNames(table, "unfinished files of an interrupted writer ignored", unfinished)
	d.warnNames(table, "files that are no parts ignored", strange)
	d.choose(table, names)
	return nil
}

// choose keeps the readable parts that are not inside another readable part.
// Outer ones come first, so a damaged outer part gives way to its sources.
func (d *Dir) choose(table string, names []partName) {
	sortNames(names)
	var kept []part
	var damaged []string
	for _, name := range names {
		if slices.ContainsFunc(kept, func(p part) bool { return name.within(p.name) }) {
			continue
		}
		p, err := checkPart(filepath.Join(d.path, table, name.String()))
		if err != nil {
			damaged = append(damaged, name.String())
			continue
		}
		if i := slices.IndexFunc(kept, func(p part) bool { return name.overlaps(p.name) }); i >= 0 {
			d.warn("%s: %s and %s share a part of their ranges: rows may be there twice", table, kept[i].name, name)
		}
		kept = append(kept, p)
	}
	d.warnNames(table, "damaged or empty parts ignored", damaged)
	d.parts[table] = kept
}

func (d *Dir) warnNames(table, what string, names []string) {
	if len(names) == 0 {
		return
	}
	const shown = 5
	list := strings.Join(names[:min(shown, len(names))], ", ")
	if len(names) > shown {
		list += ", …"
	}
	d.warn("%s: %d %s: %s", table, len(names), what, list)
}

func (d *Dir) warn(format string, args ...any) {
	d.warnings = append(d.warnings, fmt.Sprintf(format, args...))
}

// Manifest is the directory's manifest as it was when opened.
func (d *Dir) Manifest() *trace.Manifest { return d.manifest }

// Path is the directory's path as it was given.
func (d *Dir) Path() string { return d.path }

// Warnings are doubts about what was read: what was left out, and why.
func (d *Dir) Warnings() []string { return slices.Clone(d.warnings) }

// Levels are the levels of a run; none where the directory is a trace.
func (d *Dir) Levels() ([]trace.Level, error) {
	var doc levelsDoc
	err := readJSON(filepath.Join(d.path, levelsFile), levelsSchema, &doc, &doc.Schema)
	return doc.Levels, err
}

// Marks are the fault windows of a run.
func (d *Dir) Marks() ([]trace.Mark, error) {
	var doc marksDoc
	err := readJSON(filepath.Join(d.path, marksFile), marksSchema, &doc, &doc.Schema)
	return doc.Marks, err
}

// levelsDoc is levels.json.
type levelsDoc struct {
	Schema   string        `json:"schema"`
	Version  string        `json:"version"`
	Warnings []string      `json:"warnings"`
	Levels   []trace.Level `json:"levels"`
}

// marksDoc is marks.json.
type marksDoc struct {
	Schema   string       `json:"schema"`
	Version  string       `json:"version"`
	Warnings []string     `json:"warnings"`
	Marks    []trace.Mark `json:"marks"`
}

// readJSON reads a document and checks its schema; a missing file leaves it
// empty.
func readJSON(path, schema string, doc any, got *string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, doc); err != nil {
		return fmt.Errorf("parse %q: %w", path, err)
	}
	if *got != schema {
		return fmt.Errorf("parse %q: schema %q, want %q", path, *got, schema)
	}
	return nil
}
