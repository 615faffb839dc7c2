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

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/lambdac/lambdac/trace"
)

// wanted is a projection as the analyzer uses it: whole groups, single
// columns, and columns of a list.
type wanted struct {
	trace.Timing
	trace.Usage
	ID     string            `parquet:"request_id"`
	Faults []string          `parquet:"faults,list,optional"`
	Heads  map[string]string `parquet:"req_headers"`
	Chunks []struct {
		Kind trace.ChunkKind `parquet:"kind"`
	} `parquet:"chunks,list,optional"`
	Mine int `parquet:"-"`
}

func TestProjection(t *testing.T) {
	path := makeTrace(t, 200)
	d := open(t, path)
	got := collect[wanted](t, d)
	full := collect[trace.Record](t, d)
	if len(got) != 200 || len(full) != 200 {
		t.Fatalf("%d and %d rows, want 200", len(got), len(full))
	}
	for i, r := range full {
		want := &wanted{Timing: r.Timing, Usage: r.Usage, ID: r.RequestID, Faults: r.Faults, Heads: r.ReqHeaders, Chunks: got[i].Chunks}
		if diff := cmp.Diff(want, got[i]); diff != "" {
			t.Fatalf("row %d: %s", i, diff)
		}
		if len(got[i].Chunks) != len(r.Chunks) || (got[i].Chunks == nil) != (r.Chunks == nil) {
			t.Fatalf("row %d: %d chunks (nil %v), want %d (nil %v)", i, len(got[i].Chunks), got[i].Chunks == nil, len(r.Chunks), r.Chunks == nil)
		}
		for j := range r.Chunks {
			if got[i].Chunks[j].Kind != r.Chunks[j].Kind {
				t.Fatalf("row %d: chunk %d is %v, want %v", i, j, got[i].Chunks[j].Kind, r.Chunks[j].Kind)
			}
		}
	}
}

func TestRowsAreFresh(t *testing.T) {
	d := open(t, makeTrace(t, 300))
	kept, want := collect[trace.Record](t, d), collect[trace.Record](t, d)
	for _, r := range want {
		r.RequestID = "changed"
		for i := range r.Chunks {
			r.Chunks[i].Bytes = -1
		}
	}
	if diff := cmp.Diff(kept, collect[trace.Record](t, d)); diff != "" {
		t.Errorf("rows share memory: %s", diff)
	}
}

func TestUnknownColumns(t *testing.T) {
	d := open(t, makeTrace(t, 10))
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"misspelt column", firstError[struct {
			First *int64 `parquet:"t_frist_token_us"`
		}](d), `field First, column "t_frist_token_us"`},
		{"field without a tag", firstError[struct {
			Note string
			ID   string `parquet:"request_id"`
		}](d), `field Note`},
		{"narrower integer", firstError[struct {
			In *int32 `parquet:"input_tokens"`
		}](d), "optional columns are pointers"},
		{"value where NULL is possible", firstError[struct {
			In int64 `parquet:"input_tokens"`
		}](d), "optional columns are pointers"},
		{"list that hides NULL", firstError[struct {
			F []string `parquet:"faults,list"`
		}](d), `column "faults.list.element"`},
		{"column of another table", firstError[struct {
			V *float64 `parquet:"value"`
		}](d), `column "value"`},
		{"no struct", firstError[int](d), "want a struct"},
		{"no columns", firstError[struct{ A int }](d), "field A"},
		{"impossible type", firstError[struct {
			C chan int `parquet:"request_id"`
		}](d), "cannot be a row"},
	}
	for _, tt := range tests {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, tt.err, tt.want)
		}
		if tt.name != "no struct" && !errors.Is(tt.err, ErrUnknownColumn) {
			t.Errorf("%s: %v is no ErrUnknownColumn", tt.name, tt.err)
		}
	}
}

// firstError is what the first yield brings; a row first is a failure.
func firstError[T any](d *Dir) error {
	for row, err := range Rows[T](d) {
		if row != nil {
			return errors.New("a row came before the error")
		}
		return err
	}
	return nil
}

// TestOlderFile reads a file that lacks columns: scalars, lists, maps, and a
// field inside of a list.
func TestOlderFile(t *testing.T) {
	type oldChunk struct {
		GapUs int64 `parquet:"gap_us,delta"`
		Bytes int32 `parquet:"bytes,delta"`
	}
	type old struct {
		ID       string     `parquet:"request_id"`
		Accepted *bool      `parquet:"accepted"`
		Attempt  *int32     `parquet:"attempt"`
		Outcome  string     `parquet:"outcome,dict"`
		Chunks   []oldChunk `parquet:"chunks,list,optional"`
		Gone     string     `parquet:"never_was"`
	}
	path := makeTrace(t, 1)
	rows := []old{
		{ID: "a", Accepted: new(true), Attempt: new(int32(0)), Outcome: "ok", Chunks: []oldChunk{{1, 2}, {3, 4}}},
		{ID: "b", Outcome: "unknown"},
		{ID: "c", Accepted: new(false), Outcome: "ok", Chunks: []oldChunk{}},
	}
	writeOld(t, filepath.Join(path, tableRequests, partName{host: defaultHost}.String()), rows)
	got := collect[trace.Record](t, open(t, path))
	want := make([]*trace.Record, len(rows))
	for i, r := range rows {
		want[i] = new(trace.Record)
		want[i].RequestID, want[i].Accepted, want[i].Attempt, want[i].Outcome = r.ID, r.Accepted, r.Attempt, trace.Outcome(r.Outcome)
		if r.Chunks != nil {
			want[i].Chunks = []trace.Chunk{}
		}
		for _, c := range r.Chunks {
			want[i].Chunks = append(want[i].Chunks, trace.Chunk{GapUs: c.GapUs, Bytes: c.Bytes})
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("older file: %s", diff)
	}
}

func writeOld[T any](t *testing.T, path string, rows []T) {
	t.Helper()
	var out bytes.Buffer
	w := parquet.NewGenericWriter[T](&out)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), os.WriteFile(path, out.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// TestForeignTypes: a column with another type is an error, never a silent
// conversion.
func TestForeignTypes(t *testing.T) {
	path := makeTrace(t, 1)
	file := filepath.Join(path, tableRequests, partName{host: defaultHost}.String())
	writeOld(t, file, []struct {
		Start int32 `parquet:"start_unix_ns"`
	}{{7}})
	err := firstError[trace.Record](open(t, path))
	if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), `"start_unix_ns"`) {
		t.Errorf("error %v, want one that names file and column", err)
	}
	writeOld(t, file, []struct {
		Other int32 `parquet:"other"`
	}{{7}})
	if err := firstError[trace.Record](open(t, path)); err == nil || !strings.Contains(err.Error(), "none of the columns") {
		t.Errorf("error %v, want one that says there are no columns", err)
	}
}

// countingReader counts the bytes read.
type countingReader struct {
	io.ReaderAt
	n int64
}

func (c *countingReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.n += int64(n)
	return n, err
}

func (c *countingReader) Close() error { return nil }

// TestProjectionReadsItsColumnsOnly counts the bytes read from a part whose
// chunks take most of it.
func TestProjectionReadsItsColumnsOnly(t *testing.T) {
	path := t.TempDir()
	w, err := Create(path, sealed(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range benchRecords(3000, 50) {
		if err := w.Write(&r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(path, tableRequests, partName{host: defaultHost}.String()))
	if err != nil {
		t.Fatal(err)
	}
	all, few := bytesRead[trace.Record](t, data), bytesRead[struct {
		Outcome trace.Outcome `parquet:"outcome,dict"`
		TTFT    *int64        `parquet:"t_first_token_us"`
	}](t, data)
	if all < int64(len(data))*9/10 || few > all/5 {
		t.Errorf("read %d bytes for 2 columns, %d for all, of %d", few, all, len(data))
	}
}

func bytesRead[T any](t *testing.T, data []byte) int64 {
	t.Helper()
	counter := &countingReader{ReaderAt: bytes.NewReader(data)}
	pq, err := openParquet(counter, int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := newPartReader[T]("memory", counter, pq)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]T, 64)
	for err == nil {
		_, err = r.read(rows)
		clear(rows)
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	return counter.n
}

// TestDamagedPage flips a byte in the middle of a part: the rows before it
// are good, then comes an error with the part's name.
func TestDamagedPage(t *testing.T) {
	path := makeTrace(t, 500)
	file := filepath.Join(path, tableRequests, partName{host: defaultHost}.String())
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 1))
	for range 50 {
		bad := bytes.Clone(data)
		bad[4+rng.IntN(len(bad)*2/3)] ^= byte(1 + rng.IntN(255))
		if err := os.WriteFile(file, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		rows := 0
		for row, err := range Rows[trace.Record](open(t, path)) {
			if err != nil {
				if row != nil || !strings.Contains(err.Error(), file) {
					t.Fatalf("after %d rows: row %v, error %v, want one that names the part", rows, row != nil, err)
				}
				break
			}
			rows++
		}
	}
}

func TestStopEarly(t *testing.T) {
	n := 0
	for _, err := range Rows[trace.Record](open(t, makeTrace(t, 300))) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 100 {
			break
		}
	}
	if n != 100 {
		t.Errorf("%d rows", n)
	}
}

func TestVanishedPart(t *testing.T) {
	path := makeTrace(t, 10)
	d := open(t, path)
	if err := os.RemoveAll(filepath.Join(path, tableRequests)); err != nil {
		t.Fatal(err)
	}
	if err := firstError[trace.Record](d); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "open the directory again") {
		t.Errorf("error %v, want ErrNotExist with a hint", err)
	}
}
