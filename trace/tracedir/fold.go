package tracedir

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// foldWidth is the number of equally often folded parts that become one. Each
// fold reads all of its sources at once, so the width bounds memory; a row is
// rewritten log8(64 MiB ÷ size of a one-second part) times, 2 to 4.
const foldWidth = 8

// foldPlan picks the next parts to fold: the oldest run of foldWidth parts
// that were folded equally often, or fewer where the next would not fit. With
// all set, at the end, it is the longest run from the left that fits. Parts
// of more than half the limit stay as they are. It returns an empty range
// where there is nothing to do.
func foldPlan(parts []foldable, maxBytes int64, all bool) (from, to int) {
	for from = range parts {
		size, full := int64(0), false
		for to = from; to < len(parts) && !full; to++ {
			p := parts[to]
			size += p.size
			if p.size > maxBytes/2 || !all && (to-from == foldWidth || p.folds != parts[from].folds) {
				break
			}
			if full = size > maxBytes; full {
				break
			}
		}
		if n := to - from; n >= foldWidth || n > 1 && (all || full) {
			return from, to
		}
	}
	return 0, 0
}

// fold merges parts as long as there is something to merge. Only one
// goroutine may fold a table; parts may be added meanwhile.
func (t *table[T]) fold(maxBytes int64, all bool, kv map[string]string, at func(stage string)) error {
	for {
		t.mu.Lock()
		from, to := foldPlan(t.parts, maxBytes, all)
		sources := append([]foldable(nil), t.parts[from:to]...)
		t.mu.Unlock()
		if len(sources) == 0 {
			return nil
		}
		done, err := t.merge(sources, kv)
		if err != nil {
			return fmt.Errorf("fold %d parts of %q: %w", len(sources), t.dir, err)
		}
		at("folded")
		t.mu.Lock()
		t.parts = append(t.parts[:from:from], append([]foldable{done}, t.parts[to:]...)...)
		t.mu.Unlock()
		if err := removeParts(sources, at); err != nil {
			return err
		}
	}
}

func removeParts(parts []foldable, at func(stage string)) error {
	for _, p := range parts {
		if err := os.Remove(p.path); err != nil {
			return err
		}
		at("removed")
	}
	return nil
}

// merge writes the rows of the sources, each sorted by start, as one sorted
// part. Equal starts keep the order of their parts.
func (t *table[T]) merge(sources []foldable, kv map[string]string) (done foldable, err error) {
	if t.folder == nil {
		t.folder = newPartWriter[T](t.out.create)
	}
	out, first, last := t.folder, sources[0], sources[len(sources)-1]
	if err := out.begin(t.path(first.name.first, last.name.last)); err != nil {
		return done, err
	}
	rows, err := openCursors[T](sources)
	if err == nil {
		err = t.copySorted(out, rows)
	}
	err = errors.Join(err, closeCursors(rows))
	if err != nil {
		return done, errors.Join(err, out.abandon())
	}
	done.part, err = out.finish(kv)
	for _, s := range sources {
		done.folds = max(done.folds, s.folds+1)
	}
	return done, err
}

func (t *table[T]) copySorted(out *partWriter[T], rows []*cursor[T]) error {
	batch := make([]T, 0, batchRows)
	for len(rows) > 0 {
		best := 0
		if t.start != nil {
			for i := range rows {
				if t.start(rows[i].row()) < t.start(rows[best].row()) {
					best = i
				}
			}
		}
		batch = append(batch, *rows[best].row())
		if len(batch) == batchRows {
			if err := out.write(batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
		if err := rows[best].next(); errors.Is(err, io.EOF) {
			rows = append(rows[:best:best], rows[best+1:]...)
		} else if err != nil {
			return err
		}
	}
	return out.write(batch)
}

// cursor stands on one row of a part.
type cursor[T any] struct {
	r   *partReader[T]
	buf []T
	n   int // rows in buf
	i   int // the row it stands on
}

func openCursors[T any](sources []foldable) ([]*cursor[T], error) {
	var cursors []*cursor[T]
	for _, s := range sources {
		r, err := openRows[T](s.path)
		if err != nil {
			return cursors, err
		}
		c := &cursor[T]{r: r, buf: make([]T, batchRows/2)}
		cursors = append(cursors, c)
		if err := c.fill(); err != nil {
			return cursors, err
		}
	}
	return cursors, nil
}

func closeCursors[T any](cursors []*cursor[T]) error {
	var errs []error
	for _, c := range cursors {
		errs = append(errs, c.r.close())
	}
	return errors.Join(errs...)
}

func (c *cursor[T]) row() *T { return &c.buf[c.i] }

// next moves to the next row, or returns io.EOF.
func (c *cursor[T]) next() error {
	if c.i++; c.i < c.n {
		return nil
	}
	return c.fill()
}

func (c *cursor[T]) fill() (err error) {
	clear(c.buf)
	c.i = 0
	c.n, err = c.r.read(c.buf)
	return err
}
