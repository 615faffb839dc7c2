package datasets

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lambdac/lambdac/trace/tracedir"
)

// files are the datasets, with a card each and SHA256SUMS. They are made by
// `make datasets`.
//
//go:embed data
var files embed.FS

// Named is a dataset that comes with the program.
type Named struct {
	Name string `json:"name"`
	// About is the first paragraph of its card.
	About string `json:"about"`
}

// List names the datasets that come with the program, in order of name.
func List() ([]Named, error) {
	cards, err := fs.Glob(files, "data/*.md")
	if err != nil {
		return nil, fmt.Errorf("list datasets: %w", err)
	}
	var list []Named
	for _, card := range cards {
		text, err := files.ReadFile(card)
		if err != nil {
			return nil, fmt.Errorf("list datasets: %w", err)
		}
		paragraphs := strings.SplitN(string(text), "\n\n", 3)
		if len(paragraphs) < 2 {
			return nil, fmt.Errorf("list datasets: %s has no first paragraph", card)
		}
		list = append(list, Named{strings.TrimSuffix(path.Base(card), ".md"), paragraphs[1]})
	}
	return list, nil
}

// Open opens a dataset by its name, or a trace or run by its path. release
// removes what was unpacked for it; call it when the directory is no longer
// read. An unknown name matches fs.ErrNotExist.
func Open(name string) (dir *tracedir.Dir, release func() error, err error) {
	if strings.ContainsAny(name, `/\`) || isDir(name) {
		dir, err = tracedir.Open(name)
		return dir, func() error { return nil }, err
	}
	temp, err := os.MkdirTemp("", "lambdac-dataset-")
	if err != nil {
		return nil, nil, fmt.Errorf("open dataset %q: %w", name, err)
	}
	release = func() error { return os.RemoveAll(temp) }
	path := filepath.Join(temp, name)
	if err := Unpack(name, path); err != nil {
		return nil, nil, errors.Join(err, release())
	}
	if dir, err = tracedir.Open(path); err != nil {
		return nil, nil, errors.Join(err, release())
	}
	return dir, release, nil
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// Unpack writes a dataset to a new directory. An unknown name matches
// fs.ErrNotExist, a directory that is there fs.ErrExist.
func Unpack(name, out string) error {
	list, err := List()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(n Named) bool { return n.Name == name }) {
		return fmt.Errorf("open dataset %q: %w", name, fs.ErrNotExist)
	}
	if err := unpack("data/"+name, out); err != nil {
		return fmt.Errorf("unpack dataset %q: %w", name, err)
	}
	return nil
}

func unpack(inside, out string) error {
	from, err := fs.Sub(files, inside)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(out)), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(out, 0o755); err != nil { // one that is there is not added to
		return err
	}
	return os.CopyFS(out, from)
}
