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

// ownFiles are the files that a trace or run directory may hold beside its
// tables; each may have a temporary twin.
var ownFiles = []string{manifestFile, levelsFile, marksFile, "analysis.json", "report.html"}

// prepare makes an empty directory at path, and removes an old trace from it
// where force allows.
func prepare(path string, force bool) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return os.MkdirAll(path, 0o755)
	}
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return nil
	}
	if !force {
		return fmt.Errorf("%w and is not empty: choose another path, or use --force to replace a trace", fs.ErrExist)
	}
	return empty(path, entries)
}

// controlDir holds an experiment's control arm, a run of its own.
const controlDir = "control"

// empty removes a trace's files. It looks at everything before it removes
// anything, follows no links, and refuses where there is a file that no trace
// has. Others write a manifest.json and a report.html too: beside a manifest
// that is not ours, or none, no document is believed to be ours.
func empty(path string, entries []fs.DirEntry) error {
	remove, err := removable(path, entries)
	if err != nil {
		return err
	}
	// The manifest goes first: without it the rest is no trace to anyone.
	manifest := filepath.Join(path, manifestFile)
	if slices.Contains(remove, manifest) {
		remove = slices.Insert(slices.DeleteFunc(remove, func(n string) bool { return n == manifest }), 0, manifest)
	}
	for _, name := range remove {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// hasOwnManifest reports whether the directory's manifest says that it is one.
func hasOwnManifest(path string) bool {
	name := filepath.Join(path, manifestFile)
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return false
	}
	data, err := os.ReadFile(name)
	var m trace.Manifest
	return err == nil && json.Unmarshal(data, &m) == nil && m.Schema == trace.ManifestSchema
}

// ownParts lists the files of a table.
func ownParts(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if _, ok := parsePartName(strings.TrimSuffix(e.Name(), tmpSuffix)); !ok || !e.Type().IsRegular() {
			return nil, foreign(name)
		}
		files = append(files, name)
	}
	return files, nil
}

func foreign(name string) error {
	return fmt.Errorf("%w and holds %q, which is no part of a trace: nothing was removed; choose another path", fs.ErrExist, name)
}

// removable lists what a trace has written below a path, or refuses.
func removable(path string, entries []fs.DirEntry) (remove []string, err error) {
	ours := hasOwnManifest(path)
	for _, e := range entries {
		name := filepath.Join(path, e.Name())
		switch {
		case ours && e.Type().IsRegular() && slices.Contains(ownFiles, strings.TrimSuffix(e.Name(), tmpSuffix)):
		case e.IsDir() && slices.Contains(tableNames, e.Name()):
			parts, err := ownParts(name)
			if err != nil {
				return nil, err
			}
			remove = append(remove, parts...)
		case e.IsDir() && ours && e.Name() == controlDir:
			arm, err := os.ReadDir(name)
			if err != nil {
				return nil, err
			}
			below, err := removable(name, arm)
			if err != nil {
				return nil, err
			}
			remove = append(remove, below...)
		default:
			return nil, foreign(name)
		}
		remove = append(remove, name)
	}
	return remove, nil
}
