package tracedir

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// partReader reads the rows of one part, row group after row group; pages are
// loaded as they are needed, and only those of T's columns. A column that the
// file lacks is left zero.
type partReader[T any] struct {
	path   string
	file   io.Closer
	groups []parquet.RowGroup
	schema *parquet.Schema
	exact  bool         // the file's columns are as T's in type and nesting
	rows   parquet.Rows // of the open row group
	buf    []parquet.Row
	failed error
}

func openRows[T any](path string) (*partReader[T], error) {
	f, pq, err := openPart(path)
	if err != nil {
		return nil, err
	}
	return newPartReader[T](path, f, pq)
}

// newPartReader reads an open part, and closes file at the end or on an error.
func newPartReader[T any](path string, file io.Closer, pq *parquet.File) (*partReader[T], error) {
	r := &partReader[T]{path: path, file: file, groups: pq.RowGroups()}
	err := guard(func() (err error) {
		r.schema, r.exact, err = schemaIn[T](pq)
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open part %q: %w", path, err), file.Close())
	}
	return r, nil
}

// read fills rows, which must be zero, and returns how many; 0 with io.EOF at
// the end. An error waits until the rows before it are returned.
func (r *partReader[T]) read(rows []T) (int, error) {
	for r.failed == nil {
		if r.rows == nil {
			if len(r.groups) == 0 {
				return 0, io.EOF
			}
			r.nextGroup()
			continue
		}
		n, err := r.readGroup(rows)
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			r.failed = r.endGroup()
		default:
			r.failed = err
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, r.wrap(r.failed)
}

func (r *partReader[T]) readGroup(rows []T) (n int, err error) {
	if len(r.buf) < len(rows) {
		r.buf = make([]parquet.Row, len(rows))
	}
	err = guard(func() error {
		n, err = r.rows.ReadRows(r.buf[:len(rows)])
		for i, row := range r.buf[:n] {
			if !complete(row, len(r.schema.Columns())) {
				n = i
				return fmt.Errorf("%w: a column ends before the others", errDamaged)
			}
			if err := r.schema.Reconstruct(&rows[i], row); err != nil {
				n = i
				return err
			}
		}
		return err
	})
	return n, err
}

// complete reports whether a row has values of every column. parquet-go gives
// out shorter rows where a column has fewer values than the others, and then
// takes one column's values for another's: an integer for the address of a
// string.
func complete(row parquet.Row, columns int) bool {
	next := 0
	for i := range row {
		switch column := row[i].Column(); column {
		case next:
			next++
		case next - 1: // one more value of a list
		default:
			return false
		}
	}
	return next == columns
}

// nextGroup opens a row group. Where the columns are as asked for, they are
// read directly: parquet-go's conversion of rows would read NULLs for every
// column of the file first, at half the speed.
func (r *partReader[T]) nextGroup() {
	group := r.groups[0]
	r.groups = r.groups[1:]
	r.failed = guard(func() error {
		conversion, err := parquet.Convert(r.schema, group.Schema())
		if err != nil {
			return err
		}
		group = parquet.ConvertRowGroup(group, conversion)
		if r.exact {
			r.rows = parquet.NewRowGroupRowReader(group)
		} else {
			r.rows = group.Rows()
		}
		return nil
	})
}

func (r *partReader[T]) endGroup() error {
	rows := r.rows
	r.rows = nil
	if rows == nil {
		return nil
	}
	return guard(rows.Close)
}

func (r *partReader[T]) wrap(err error) error {
	if !errors.Is(err, errDamaged) {
		err = fmt.Errorf("%w: %w", errDamaged, err)
	}
	return fmt.Errorf("read part %q: %w", r.path, err)
}

func (r *partReader[T]) close() error {
	return errors.Join(r.endGroup(), r.file.Close())
}
