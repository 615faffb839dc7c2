package tracedir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/parquet-go/parquet-go"
)

const (
	// batchRows are the rows given to the Parquet writer at once: it is 2.5
	// times faster than row by row, and more than this it splits itself.
	batchRows = 64
	// rowGroupBytes bounds what the Parquet writer holds in memory: rows vary
	// too much in size to be counted.
	rowGroupBytes = 32 << 20
)

// partFile is what a part is written to; an *os.File but in tests.
type partFile interface {
	io.Writer
	io.ReaderAt
	io.Seeker
	io.Closer
	Truncate(size int64) error
	Sync() error
}

func createFile(path string) (partFile, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o644)
}

// partWriter writes parts of one table, one after the other; its Parquet
// writer is made once, since that costs more than a small part. It is not
// safe for concurrent use.
type partWriter[T any] struct {
	text   map[string]bool
	out    *parquet.GenericWriter[T]
	create func(path string) (partFile, error)

	file    partFile // nil between parts
	tmp     string
	rows    int64
	flushed int64 // size of the row groups that are complete
}

func newPartWriter[T any](create func(path string) (partFile, error)) *partWriter[T] {
	p := &partWriter[T]{text: make(map[string]bool), create: create}
	options := []parquet.WriterOption{
		parquet.Compression(newPageCodec()),
		parquet.CreatedBy("lambdac", "1", ""),
	}
	for _, path := range textColumns[T]() {
		p.text[strings.Join(path, ".")] = true
		options = append(options, parquet.SkipPageStatistics(path...), parquet.SkipPageBounds(path...))
	}
	p.out = parquet.NewGenericWriter[T](io.Discard, options...)
	return p
}

// begin opens a part that will be named path.
func (p *partWriter[T]) begin(path string) error {
	f, err := p.create(path + tmpSuffix)
	if err != nil {
		return err
	}
	p.file, p.tmp, p.rows, p.flushed = f, path+tmpSuffix, 0, 0
	p.out.Reset(f)
	return nil
}

// write appends rows and cuts the row group where it has grown enough.
func (p *partWriter[T]) write(rows []T) error {
	n, err := p.out.Write(rows)
	p.rows += int64(n)
	if err != nil {
		return err
	}
	if p.out.Size()-p.flushed < rowGroupBytes {
		return nil
	}
	err = p.out.Flush()
	p.flushed = p.out.Size()
	return err
}

// size is about what the part takes on disk: complete row groups exactly,
// the open one before its last pages are compressed.
func (p *partWriter[T]) size() int64 { return p.out.Size() }

// finish completes the part: footer, sync, check, rename. On an error the
// temporary file is removed.
func (p *partWriter[T]) finish(kv map[string]string) (part, error) {
	for key, value := range kv {
		p.out.SetKeyValueMetadata(key, value)
	}
	err := p.out.Close()
	if err == nil {
		err = dropTextIndexes(p.file, p.out.File().Metadata(), p.text)
	}
	if err == nil {
		err = p.file.Sync()
	}
	if closeErr := p.file.Close(); err == nil {
		err = closeErr
	}
	tmp := p.tmp
	p.file = nil
	if err != nil {
		return part{}, errors.Join(err, removeIfThere(tmp))
	}
	return p.commit(tmp)
}

// commit checks a complete temporary file and gives it its name.
func (p *partWriter[T]) commit(tmp string) (part, error) {
	path := strings.TrimSuffix(tmp, tmpSuffix)
	done, err := checkPart(tmp)
	if err == nil && done.rows != p.rows {
		err = fmt.Errorf("check %q: %d rows in the footer, %d written", filepath.Base(tmp), done.rows, p.rows)
	}
	if err != nil {
		return part{}, errors.Join(err, removeIfThere(tmp))
	}
	if err := publish(tmp, path); err != nil {
		return part{}, err
	}
	done.path = path
	done.name, _ = parsePartName(filepath.Base(path))
	return done, nil
}

// abandon drops an unfinished part.
func (p *partWriter[T]) abandon() error {
	if p.file == nil {
		return nil
	}
	err := p.file.Close()
	p.file = nil
	return errors.Join(err, removeIfThere(p.tmp))
}
