package leaktest

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// canary looks like nothing else, and is no longer after compression.
const canary = "canary-7f3a9c51e2b84d06"

type row struct {
	ID   string `parquet:"id"`
	Dict string `parquet:"dict,dict"`
	Body []byte `parquet:"body"`
	Back string `parquet:"back,delta"`
}

// write makes a Parquet file without bounds, but for what options say.
func write(t *testing.T, rows []row, options ...parquet.WriterOption) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, c := range []string{"id", "dict", "body", "back"} {
		if c == "id" && len(options) > 0 {
			continue
		}
		options = append(options, parquet.SkipPageBounds(c), parquet.SkipPageStatistics(c))
	}
	w := parquet.NewGenericWriter[row](&out, append(options, parquet.Compression(&zstd.Codec{}))...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// filler makes rows that compress, so that a plain search is blind.
func filler(change func(r *row)) []row {
	rng := rand.New(rand.NewPCG(1, 1))
	words := strings.Fields("the quick brown fox jumps over the lazy dog while canary birds sing in c5 and e2")
	rows := make([]row, 100)
	for i := range rows {
		for range 40 {
			rows[i].Body = append(append(rows[i].Body, words[rng.IntN(len(words))]...), ' ')
		}
		rows[i].ID, rows[i].Dict, rows[i].Back = "id "+words[i%5], words[i%3], words[i%7]
	}
	if change != nil {
		change(&rows[50])
	}
	return rows
}

func TestFind(t *testing.T) {
	inBody := write(t, filler(func(r *row) { r.Body = append(r.Body, canary+canary...) }))
	tests := []struct {
		name string
		file string
		data []byte
		want []string // places
	}{
		{"nothing", "a.parquet", write(t, filler(nil)), nil},
		{"body", "a.parquet", inBody, []string{"column body"}},
		{"dictionary", "a.parquet", write(t, filler(func(r *row) { r.Dict = "x" + canary })), []string{"column dict", "dictionary of dict"}},
		{"prefix-compressed", "a.parquet", write(t, filler(func(r *row) { r.Back = canary })), []string{"column back"}},
		{"bounds", "a.parquet", write(t, filler(func(r *row) { r.ID = canary }), parquet.DataPageStatistics(true)), []string{"bytes", "column id", "column index of id", "page header", "statistics of id"}},
		{"metadata", "a.parquet", write(t, filler(nil), parquet.KeyValueMetadata("note", canary)), []string{"bytes", "metadata"}},
		{"JSON", "manifest.json", []byte(`{"source":{"file":"` + canary + `"}}`), []string{"bytes"}},
		{"file name", canary + ".json", []byte(`{}`), []string{"name"}},
		{"unfinished part", "a.parquet.tmp", inBody[:len(inBody)-200], []string{"zstd frame"}},
		{"plain temporary file", "manifest.json.tmp", []byte(canary[:20] + canary), []string{"bytes"}},
		{"empty part", "a.parquet", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.MkdirAll(filepath.Join(root, "requests"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, "requests", tt.file), tt.data, 0o644); err != nil {
				t.Fatal(err)
			}
			hits, err := Find(root, [][]byte{[]byte("not there"), []byte(canary)})
			if err != nil {
				t.Fatal(err)
			}
			var places []string
			for _, h := range hits {
				if h.Needle != 1 || h.File != filepath.Join("requests", tt.file) {
					t.Errorf("hit %v", h)
				}
				if strings.Contains(strings.TrimPrefix(h.String(), h.File), canary) {
					t.Errorf("hit prints the needle: %v", h.Where)
				}
				places = append(places, h.Where)
			}
			if !slices.Equal(places, tt.want) {
				t.Errorf("found in %q, want %q", places, tt.want)
			}
		})
	}
}

// TestCompressedIsBlind proves that the search is needed: the plain bytes of
// the file do not show what its body holds.
func TestCompressedIsBlind(t *testing.T) {
	data := write(t, filler(func(r *row) { r.Body = bytes.Repeat([]byte("dog canary-7f3a"), 3) }))
	if bytes.Contains(data, []byte("dog canary-7f3a")) {
		t.Fatal("this compressor left the value in one piece: the test proves nothing")
	}
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a.parquet"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	hits, err := Find(root, [][]byte{[]byte("dog canary-7f3a")})
	if err != nil || len(hits) != 1 {
		t.Errorf("hits %v, error %v, want one hit", hits, err)
	}
}

// TestSplitIsNoHit: values that lie side by side in a page do not make one.
func TestSplitIsNoHit(t *testing.T) {
	rows := []row{{ID: canary[:10], Body: []byte(canary[:10])}, {ID: canary[10:], Body: []byte(canary[10:])}}
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a.parquet"), write(t, rows), 0o644); err != nil {
		t.Fatal(err)
	}
	hits, err := Find(root, [][]byte{[]byte(canary)})
	if err != nil || len(hits) != 0 {
		t.Errorf("hits %v, error %v, want none", hits, err)
	}
}

func TestFindRefusesNothingToFind(t *testing.T) {
	for _, needles := range [][][]byte{nil, {[]byte("a"), {}}} {
		if _, err := Find(t.TempDir(), needles); err == nil {
			t.Errorf("Find with needles %q: no error", needles)
		}
	}
}
