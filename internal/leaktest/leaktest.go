// Package leaktest searches files for planted values that must not be in
// them. A plain search does not do: Parquet pages are compressed and encoded,
// dictionaries are pages of their own, and a footer repeats values as bounds.
// It is a test helper.
package leaktest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Hit is one place where a needle was found. It does not hold the needle.
type Hit struct {
	// File is the path below the root.
	File string
	// Where is the place in the file: "name", "bytes", "page header",
	// "column C", "dictionary of C", "statistics of C", "column index of C",
	// "metadata", or "zstd frame" of an unfinished file.
	Where string
	// Needle is the index of the needle.
	Needle int
}

// String names the place and the needle's number.
func (h Hit) String() string { return fmt.Sprintf("%s: %s: needle %d", h.File, h.Where, h.Needle) }

// Find searches every regular file below root, its name and its bytes, and of
// Parquet files each value and dictionary entry after decoding, statistics,
// column indexes and metadata. Files that begin like Parquet but are not
// complete are searched in each zstd frame that can be decoded.
//
// A needle is found inside one value; one that is split over two values that
// happen to lie side by side is no hit. In bounds, which are cut to a
// length, the first 8 bytes of a needle are enough. Hits are sorted by file,
// place and needle, each once. No needle, or an empty one, is an error: such
// a search would prove nothing.
func Find(root string, needles [][]byte) ([]Hit, error) {
	if len(needles) == 0 || slices.ContainsFunc(needles, func(n []byte) bool { return len(n) == 0 }) {
		return nil, errors.New("search for leaks: no needles, or an empty one")
	}
	var hits []Hit
	index := newIndex(needles)
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		s := &search{file: name, needles: needles, index: index, seen: make(map[Hit]bool)}
		s.in("name", []byte(name))
		if e.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			s.bytes(data)
		}
		hits = append(hits, s.hits...)
		return nil
	})
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Where, b.Where), cmp.Compare(a.Needle, b.Needle))
	})
	return hits, err
}

// search is the search of one file.
type search struct {
	file    string
	needles [][]byte
	index   *index
	hits    []Hit
	seen    map[Hit]bool
}

func (s *search) in(where string, data []byte) {
	s.index.find(data, func(needle int) { s.hit(where, needle) })
}

func (s *search) hit(where string, needle int) {
	h := Hit{File: s.file, Where: where, Needle: needle}
	if !s.seen[h] {
		s.seen[h] = true
		s.hits = append(s.hits, h)
	}
}

// inBound searches a bound, which may be a needle's beginning: writers cut
// bounds, and count the last byte of an upper one up.
func (s *search) inBound(where string, bound []byte) {
	const telling = 8
	s.in(where, bound)
	for i, needle := range s.needles {
		if n := len(bound) - 1; n >= telling && bytes.HasPrefix(needle, bound[:n]) {
			s.hit(where, i)
		}
	}
}

// bytes searches a file's content.
func (s *search) bytes(data []byte) {
	if !bytes.HasPrefix(data, []byte("PAR1")) {
		s.in("bytes", data)
		return
	}
	if err := s.parquet(data); err != nil {
		s.in("bytes", data)
		s.frames(data)
	}
}
