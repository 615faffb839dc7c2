// Command datagen makes the datasets of the repository: small traces and runs
// of the serving model in virtual time, so that equal programs give equal
// rows. `make datasets` runs it.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lambdac/lambdac/analyzer"
	"github.com/lambdac/lambdac/trace/tracedir"
)

func main() {
	out := flag.String("o", "datasets/data", "folder to write to")
	flag.Parse()
	if err := writeAll(*out); err != nil {
		fmt.Fprintln(os.Stderr, "datagen:", err)
		os.Exit(1)
	}
}

// writeAll writes every dataset, its card, and the checksums of all.
func writeAll(out string) error {
	for _, d := range all() {
		path := filepath.Join(out, d.name)
		if err := d.write(path); err != nil {
			return fmt.Errorf("make %s: %w", d.name, err)
		}
		if err := analyze(path); err != nil {
			return fmt.Errorf("analyze %s: %w", d.name, err)
		}
		if err := os.WriteFile(filepath.Join(out, d.name+".md"), []byte(d.card()), 0o644); err != nil {
			return err
		}
	}
	return checksums(out)
}

// analyze writes what lambdac analyze would, where the directory is a run.
func analyze(path string) error {
	dir, err := tracedir.Open(path)
	if err != nil || dir.Manifest().Run == nil {
		return err
	}
	a, err := analyzer.Analyze(dir, analyzer.Options{})
	if err != nil {
		return err
	}
	a.Version = madeBy
	text, err := json.MarshalIndent(a, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(path, "analysis.json"), append(text, '\n'), 0o644)
}

// checksums writes SHA256SUMS, as sha256sum -c reads it.
func checksums(out string) error {
	var sums strings.Builder
	err := filepath.WalkDir(out, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "SHA256SUMS" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(out, path)
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), filepath.ToSlash(name))
		return err
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}
