package tracedir

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

type textRow struct {
	ID    string   `parquet:"id"`
	Dict  string   `parquet:"dict,dict"`
	Tags  []string `parquet:"tags,list"`
	Opt   *string  `parquet:"opt,optional"`
	Count int64    `parquet:"count"`
}

// textFile writes rows and returns the file's path.
func textFile(t *testing.T, rows []textRow, options ...parquet.WriterOption) string {
	t.Helper()
	var out bytes.Buffer
	w := parquet.NewGenericWriter[textRow](&out, append(options, parquet.Compression(&zstd.Codec{}))...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestVisitTexts(t *testing.T) {
	const planted = "planted-value"
	value := planted
	rows := make([]textRow, 40)
	for i := range rows {
		rows[i].ID, rows[i].Dict = "id", "word"
	}
	rows[7].Tags = []string{"a", planted, "b"}
	rows[9].Dict = planted
	rows[11].Opt = &value
	path := textFile(t, rows, parquet.KeyValueMetadata("note", planted), parquet.SkipPageBounds("dict"))
	var got []TextPlace
	n, err := VisitTexts(path, func(at TextPlace, text []byte) {
		if bytes.Contains(text, []byte(planted)) {
			got = append(got, at)
		}
	})
	if err != nil || n != 40 {
		t.Fatalf("%d rows, error %v", n, err)
	}
	for _, want := range []TextPlace{
		{"bytes", "", -1}, {"dictionary", "dict", -1}, {"column", "dict", 9}, {"column", "tags.list.element", 7}, {"column", "opt", 11},
	} {
		if !slices.Contains(got, want) {
			t.Errorf("not seen at %+v; seen at %+v", want, got)
		}
	}
}

// TestVisitTextsOfDamage: whatever the bytes are, an error and no panic.
func TestVisitTextsOfDamage(t *testing.T) {
	whole, err := os.ReadFile(textFile(t, make([]textRow, 3)))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.parquet")
	for at := 0; at < len(whole); at += 5 {
		damaged := slices.Clone(whole)
		damaged[at] ^= 0xff
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _ = VisitTexts(path, func(TextPlace, []byte) {})
	}
	for _, n := range []int{0, 3, 12, len(whole) / 2, len(whole) - 1} {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := VisitTexts(path, func(TextPlace, []byte) {}); err == nil {
			t.Errorf("cut at byte %d: no error", n)
		}
	}
	if _, err := VisitTexts(filepath.Join(t.TempDir(), "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
