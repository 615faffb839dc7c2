package datasets

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// Every dataset opens by name and by path, has rows, a card that says what
// there is to say, and the bytes that SHA256SUMS names.
func TestDatasets(t *testing.T) {
	list, err := List()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 14 {
		t.Errorf("%d datasets", len(list))
	}
	for _, d := range list {
		t.Run(d.Name, func(t *testing.T) {
			dir, release, err := Open(d.Name)
			if err != nil {
				t.Fatal(err)
			}
			again, _, err := Open(dir.Path())
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, err := range tracedir.Rows[trace.Record](again) {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			if n < 200 || len(dir.Warnings()) > 0 {
				t.Errorf("%d rows, warnings %q", n, dir.Warnings())
			}
			card, err := files.ReadFile("data/" + d.Name + ".md")
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range []string{"# " + d.Name + "\n", "**How made**", "**Columns and units**", "**Unknown**", "**Checksums**", "**Licence**"} {
				if !strings.Contains(string(card), part) {
					t.Errorf("its card lacks %q", part)
				}
			}
			if err := release(); err != nil {
				t.Error(err)
			}
			if isDir(dir.Path()) {
				t.Error("what was unpacked is still there")
			}
		})
	}
}

func TestChecksums(t *testing.T) {
	sums, err := files.ReadFile("data/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{"data/SHA256SUMS": true}
	for line := range strings.Lines(string(sums)) {
		want, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		data, err := files.ReadFile("data/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(data)); got != want {
			t.Errorf("%s: sha256 %s, want %s", name, got, want)
		}
		named["data/"+name] = true
	}
	err = fs.WalkDir(files, "data", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !named[path] {
			t.Errorf("%s is not in SHA256SUMS", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestOpenUnknown(t *testing.T) {
	for _, name := range []string{"nope", "", "../open.go", "data"} {
		if _, _, err := Open(name); err == nil {
			t.Errorf("%q opened", name)
		}
	}
	if _, _, err := Open("nope"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error = %v, want fs.ErrNotExist", err)
	}
	if err := Unpack("healthy", t.TempDir()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error = %v, want fs.ErrExist", err)
	}
	if err := Unpack("healthy", filepath.Join(t.TempDir(), "new", "here")); err != nil {
		t.Error(err)
	}
}

// BenchmarkOpen unpacks and opens the largest dataset.
func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		_, release, err := Open("saturated")
		if err != nil {
			b.Fatal(err)
		}
		if err := release(); err != nil {
			b.Fatal(err)
		}
	}
}
