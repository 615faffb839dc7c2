package tracedir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
)

// readBatch is the number of rows decoded at once.
const readBatch = 64

// Rows iterates over one table: requests for T = [trace.Record], features for
// [trace.Features], bodies for [trace.Body], capture for
// [trace.CaptureWindow], telemetry for [trace.Sample]. Any other struct is a
// projection of requests: it embeds the groups of Record (trace.Timing) or
// repeats some of its columns with their tags, and only these are read.
//
// Rows come in the order of the parts, in which a live recording is sorted by
// start; overall they are not sorted. Each *T is fresh and belongs to the
// caller. Memory is bounded by the pages of one row group.
//
// A column of T that no schema version has is an error before the first row
// ([ErrUnknownColumn]); one that an older file lacks is nil or zero. A row
// that cannot be read ends the iteration with an error that names the part;
// the rows before it were good. T may leave no column out by mistake: what is
// not in T is not read, which is not the same as unknown.
func Rows[T any](d *Dir) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		table, known := tableOf[T]()
		if err := checkRow[T](known); err != nil {
			yield(nil, err)
			return
		}
		for _, p := range d.parts[table] {
			if !yieldPart(p.path, yield) {
				return
			}
		}
	}
}

// yieldPart yields the rows of one part and reports whether to go on.
func yieldPart[T any](path string, yield func(*T, error) bool) bool {
	r, err := openRows[T](path)
	if err != nil {
		yield(nil, vanished(err))
		return false
	}
	goOn, err := yieldRows(r, yield)
	if closeErr := r.close(); err == nil {
		err = closeErr
	}
	if err != nil {
		if goOn {
			yield(nil, err)
		}
		return false
	}
	return goOn
}

func yieldRows[T any](r *partReader[T], yield func(*T, error) bool) (goOn bool, err error) {
	batch := make([]T, readBatch)
	for {
		n, err := r.read(batch)
		for i := range n {
			row := new(T)
			*row = batch[i]
			if !yield(row, nil) {
				return false, nil
			}
		}
		clear(batch[:n])
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return true, err
		}
	}
}

// vanished explains a part that was there when the directory was opened.
func vanished(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: it was folded by a writer meanwhile; open the directory again", err)
	}
	return err
}
