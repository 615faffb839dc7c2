package tracedir

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

// FuzzOpenPart reads arbitrary bytes as a part: rows or an error, never a
// panic. Seeds: golden parts whole, cut and with bytes flipped, and what the
// fuzzer found (testdata/fuzz).
func FuzzOpenPart(f *testing.F) {
	parts, err := filepath.Glob("testdata/v1/*/*.parquet")
	if err != nil || len(parts) == 0 {
		f.Fatalf("no golden parts: %v", err)
	}
	rng := rand.New(rand.NewPCG(11, 1))
	for _, name := range parts {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)/2])
		for range 20 {
			bad := bytes.Clone(data)
			bad[rng.IntN(len(bad))] ^= byte(1 + rng.IntN(255))
			f.Add(bad)
			bad = bytes.Clone(data)
			bad[len(bad)-9-rng.IntN(len(bad)/3)] ^= byte(1 + rng.IntN(255)) // in the footer
			f.Add(bad)
		}
	}
	f.Add([]byte("PAR1\xff\xff\xff\x7fPAR1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		readAny[trace.Record](t, data)
		readAny[timingRow](t, data)
		readAny[trace.CaptureWindow](t, data)
		readAny[trace.Body](t, data)
	})
}

type nopCloser struct{}

func (nopCloser) Close() error { return nil }

func readAny[T any](t *testing.T, data []byte) {
	pq, err := openParquet(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return
	}
	r, err := newPartReader[T]("a part", nopCloser{}, pq)
	if err != nil {
		return
	}
	rows := make([]T, 16)
	for n := 0; err == nil && n < 100; n++ {
		_, err = r.read(rows)
		clear(rows)
	}
	if err != nil && !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), `"a part"`) {
		t.Errorf("error %v does not name the part", err)
	}
	_ = r.close()
}

// FuzzPartName: what parses prints the same, and nothing else parses.
func FuzzPartName(f *testing.F) {
	for _, name := range []string{
		"part-a-000000000-000000007.parquet", "part-a-b-000000001-000000001.parquet", "part--000000000-000000000.parquet",
		"part-a-1-2.parquet", "part-a-000000002-000000001.parquet", "part-a-000000000-000000007.parquet.tmp", "-", "part-1000000000-1000000000.parquet",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, file string) {
		if name, ok := parsePartName(file); ok && (name.String() != file || name.first > name.last) {
			t.Errorf("%q parses as %v", file, name)
		}
	})
}
