package tracedir

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/parquet-go/parquet-go"
)

// partReader reads the rows of one part, row group after row group; pages are
// loaded as they are needed, and only those of T's columns. A column that the
// file lacks is left zero.
type partReader[T any] struct {
	path   string
	file   *os.File
	groups []parquet.RowGroup
	schema *parquet.Schema
	rows   *parquet.GenericReader[T] // of the open row group
	failed error
}

func openRows[T any](path string) (*partReader[T], error) {
	f, pq, err := openPart(path)
	if err != nil {
		return nil, err
	}
	r := &partReader[T]{path: path, file: f, groups: pq.RowGroups()}
	err = guard(func() error {
		r.schema, err = schemaIn[T](pq)
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open part %q: %w", path, err), f.Close())
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
	err = guard(func() error {
		n, err = r.rows.Read(rows)
		return err
	})
	return n, err
}

func (r *partReader[T]) nextGroup() {
	group := r.groups[0]
	r.groups = r.groups[1:]
	r.failed = guard(func() error {
		r.rows = parquet.NewGenericRowGroupReader[T](group, r.schema)
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
