package tracedir

import (
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

// fullDisk lets files grow by so many bytes together.
type fullDisk struct {
	mu   sync.Mutex
	left int
}

func (d *fullDisk) create(path string) (partFile, error) {
	f, err := os.Create(path)
	return &fullFile{f, d}, err
}

type fullFile struct {
	*os.File
	disk *fullDisk
}

func (f *fullFile) Write(p []byte) (int, error) {
	f.disk.mu.Lock()
	n := min(len(p), f.disk.left)
	f.disk.left -= n
	f.disk.mu.Unlock()
	written, err := f.File.Write(p[:n])
	if err == nil && n < len(p) {
		err = syscall.ENOSPC
	}
	return written, err
}

func TestFullDisk(t *testing.T) {
	for _, live := range []bool{false, true} {
		disk := &fullDisk{left: 700_000}
		path := t.TempDir()
		s := noSeams()
		s.create = disk.create
		w, err := create(path, sealed(), Options{Live: live, MaxPartBytes: 200_000}, s)
		if err != nil {
			t.Fatal(err)
		}
		fillDisk(t, path, w, live)
	}
}

// fillDisk writes until the disk is full, and checks what is left.
func fillDisk(t *testing.T, path string, w *Writer, live bool) {
	t.Helper()
	var first error
	written := 0
	records := benchRecords(20_000, 10)
	for i := range records {
		if first = w.Write(&records[i]); first != nil {
			break
		}
		written++
		if live && written%500 == 0 {
			_ = w.roll() // shows with the next write
		}
	}
	if !errors.Is(first, syscall.ENOSPC) || !strings.Contains(first.Error(), path) {
		t.Fatalf("live=%v: error %v after %d rows, want ENOSPC that names the trace", live, first, written)
	}
	for _, again := range []error{w.Write(new(trace.Record)), w.Close(), w.Close()} {
		if again == nil || again.Error() != first.Error() {
			t.Errorf("live=%v: later error %v, want the first one, %v", live, again, first)
		}
	}
	d := open(t, path)
	if got := len(collect[trace.Record](t, d)); got == 0 || got > written {
		t.Errorf("live=%v: %d rows readable of %d written", live, got, written)
	}
	if got := d.Warnings(); len(got) != 0 {
		t.Errorf("live=%v: left behind: %q", live, got)
	}
}
