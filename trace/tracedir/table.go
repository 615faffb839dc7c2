package tracedir

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// table writes the parts of one folder. Rows are gathered by the Writer's
// caller; see [Writer] for who holds which lock.
type table[T any] struct {
	dir  string
	host string
	// start orders rows when a live part is closed and when parts are folded;
	// nil keeps the order of writing.
	start func(*T) int64
	out   *partWriter[T]
	rows  []T // gathered: a batch, or when live all of the open second
	spare []T // the memory of the rows that were closed before
	// folder writes folded parts; made by the one goroutine that folds.
	folder *partWriter[T]

	mu    sync.Mutex // guards parts
	parts []foldable
	next  int // number of the next part, when not live
}

// foldable is a complete part and how often it was folded.
type foldable struct {
	part
	folds int
}

func newTable[T any](w *Writer, name string, start func(*T) int64) *table[T] {
	return &table[T]{
		dir: filepath.Join(w.path, name), host: w.options.Host, start: start,
		out: newPartWriter[T](w.seams.create),
	}
}

// path is where a part of this table lies.
func (t *table[T]) path(first, last int) string {
	return filepath.Join(t.dir, partName{host: t.host, first: first, last: last}.String())
}

// append adds rows to a part that grows until it is large enough.
func (t *table[T]) append(rows []T, maxBytes int64, kv map[string]string) error {
	if t.out.file == nil {
		if err := t.begin(t.path(t.next, t.next)); err != nil {
			return err
		}
	}
	if err := t.out.write(rows); err != nil || t.out.size() < maxBytes {
		return err
	}
	return t.end(kv)
}

// end completes the growing part.
func (t *table[T]) end(kv map[string]string) error {
	if t.out.file == nil {
		return nil
	}
	if _, err := t.out.finish(kv); err != nil {
		return err
	}
	t.next++
	return nil
}

func (t *table[T]) begin(path string) error {
	if err := os.Mkdir(t.dir, 0o755); err == nil {
		if err := syncDir(filepath.Dir(t.dir)); err != nil {
			return err
		}
	}
	return t.out.begin(path)
}

// take hands over the gathered rows and starts gathering anew.
func (t *table[T]) take() []T {
	rows := t.rows
	t.rows, t.spare = t.spare[:0], nil
	return rows
}

// closePart writes taken rows as one complete part.
func (t *table[T]) closePart(rows []T, number int, kv map[string]string) error {
	if len(rows) == 0 {
		return nil
	}
	if err := t.begin(t.path(number, number)); err != nil {
		return err
	}
	if err := t.writeSorted(rows); err != nil {
		return err
	}
	done, err := t.out.finish(kv)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parts = append(t.parts, foldable{part: done})
	return nil
}

// writeSorted writes rows by start. It sorts their numbers, since a Record is
// more than a kilobyte to move.
func (t *table[T]) writeSorted(rows []T) error {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	if t.start != nil {
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Compare(t.start(&rows[a]), t.start(&rows[b]))
		})
	}
	batch := make([]T, 0, batchRows)
	for chunk := range slices.Chunk(order, batchRows) {
		batch = batch[:0]
		for _, i := range chunk {
			batch = append(batch, rows[i])
		}
		if err := t.out.write(batch); err != nil {
			return err
		}
	}
	return nil
}
