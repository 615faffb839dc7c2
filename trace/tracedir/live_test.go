package tracedir

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// TestOnDiskWithinASecond: when a second has ended and its parts are closed,
// what was written before is there for good, in complete parts, while the
// writer is still open.
func TestOnDiskWithinASecond(t *testing.T) {
	if livePeriod >= time.Second {
		t.Errorf("a part stays open for %v", livePeriod)
	}
	ticks, closed := make(chan time.Time), make(chan bool)
	s := noSeams()
	s.ticks = ticks
	s.at = func(stage string) {
		if stage == "closed" {
			closed <- true
		}
	}
	path := t.TempDir()
	w, err := create(path, sealed(), Options{Live: true}, s)
	if err != nil {
		t.Fatal(err)
	}
	written := 0
	for second := range 20 {
		for range 1 + second%3 {
			r := &trace.Record{Features: new(trace.Features)}
			r.RequestID = fmt.Sprint(written)
			if err := w.Write(r); err != nil {
				t.Fatal(err)
			}
			written++
		}
		ticks <- time.Time{}
		<-closed
		checkOnDisk(t, path, written)
	}
	go func() { <-closed }()
	if err := errors.Join(w.Write(new(trace.Record)), w.Close()); err != nil {
		t.Fatal(err)
	}
	if parts := open(t, path).parts[tableRequests]; len(parts) != 1 || parts[0].rows != int64(written)+1 {
		t.Errorf("after Close: parts %v, want one of %d rows", parts, written+1)
	}
}

// checkOnDisk counts the rows of a directory that is being written: parts may
// be folded between the listing and the reading.
func checkOnDisk(t *testing.T, path string, want int) {
	t.Helper()
	for {
		rows, err := count[trace.Record](path)
		if err == nil && rows == want {
			rows, err = count[trace.Features](path)
		}
		if err == nil && rows != want {
			t.Fatalf("%d rows on disk, want %d", rows, want)
		}
		if err == nil {
			return
		}
		if !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

func count[T any](path string) (n int, err error) {
	d, err := Open(path)
	if err != nil {
		return 0, err
	}
	for _, err := range Rows[T](d) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// TestFoldedPartsAreSorted writes starts out of order over many parts.
func TestFoldedPartsAreSorted(t *testing.T) {
	path := t.TempDir()
	w, err := Create(path, sealed(), Options{Live: true})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(6, 1))
	for range 20 {
		for range 150 {
			r := new(trace.Record)
			r.StartUnixNs = rng.Int64N(1000) // with ties
			if err := w.Write(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.roll(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	rows := collect[trace.Record](t, open(t, path))
	if len(rows) != 3000 {
		t.Errorf("%d rows, want 3000", len(rows))
	}
	if !slices.IsSortedFunc(rows, func(a, b *trace.Record) int { return cmp.Compare(a.StartUnixNs, b.StartUnixNs) }) {
		t.Error("rows are not sorted by start")
	}
}

// TestFoldedPartsStayBelowTheLimit gives a limit of a few parts.
func TestFoldedPartsStayBelowTheLimit(t *testing.T) {
	path := t.TempDir()
	const limit = 250_000
	w, err := Create(path, sealed(), Options{Live: true, MaxPartBytes: limit})
	if err != nil {
		t.Fatal(err)
	}
	records := benchRecords(4000, 10)
	for i := range records {
		if err := w.Write(&records[i]); err != nil {
			t.Fatal(err)
		}
		if i%200 == 199 {
			if err := w.roll(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d := open(t, path)
	if n := len(d.parts[tableRequests]); n < 2 || n > 12 {
		t.Errorf("%d parts of 20, want fewer, but several", n)
	}
	for _, p := range d.parts[tableRequests] {
		if p.size > limit {
			t.Errorf("%v has %d bytes, limit %d", p.name, p.size, limit)
		}
	}
	if got := len(collect[trace.Record](t, d)); got != 4000 {
		t.Errorf("%d rows, want 4000", got)
	}
}

// TestFloodIsClosedEarly: rows beyond the memory bound do not wait for the
// second to end.
func TestFloodIsClosedEarly(t *testing.T) {
	path := t.TempDir()
	s := noSeams()
	s.ticks = make(chan time.Time) // the second never ends
	w, err := create(path, sealed(), Options{Live: true}, s)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		r := &trace.Record{Bodies: []trace.Body{{Side: trace.SideRequest, Body: make([]byte, maxGathered*2/3)}}}
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(collect[trace.Record](t, open(t, path))); got != 2 {
		t.Errorf("%d rows on disk before the second ended, want 2", got)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestConcurrentWriters(t *testing.T) {
	path := t.TempDir()
	s := noSeams()
	s.ticks = time.Tick(time.Millisecond)
	w, err := create(path, sealed(), Options{Live: true}, s)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 200 {
				r := new(trace.Record)
				r.RequestID = fmt.Sprintf("%d/%d", g, i)
				err := errors.Join(w.Write(r), w.WriteCapture(new(trace.CaptureWindow)), w.WriteSample(new(trace.Sample)))
				if i%50 == 0 {
					err = errors.Join(err, w.SetManifest(func(m *trace.Manifest) { m.Losses.ExchangesSeen++ }))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d := open(t, path)
	ids := make(map[string]bool)
	for _, r := range collect[trace.Record](t, d) {
		ids[r.RequestID] = true
	}
	if len(ids) != 800 || len(collect[trace.CaptureWindow](t, d)) != 800 || d.Manifest().Losses.ExchangesSeen != 16 {
		t.Errorf("%d exchanges, want 800; manifest %d, want 16", len(ids), d.Manifest().Losses.ExchangesSeen)
	}
}

// TestNoFileIsHeldOpen: a part is on disk only while it is closed.
func TestNoFileIsHeldOpen(t *testing.T) {
	path := t.TempDir()
	w, err := Create(path, sealed(), Options{Live: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(new(trace.Record)), w.roll()); err != nil {
		t.Fatal(err)
	}
	tmp, err := filepath.Glob(filepath.Join(path, "*", "*"+tmpSuffix))
	if err != nil || len(tmp) != 0 {
		t.Errorf("temporary files %q, error %v", tmp, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(path, tableBodies)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder for a table without rows: %v", err)
	}
}
