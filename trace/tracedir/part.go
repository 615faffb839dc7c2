package tracedir

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// part is one complete file of a table.
type part struct {
	path string
	name partName
	rows int64
	size int64 // bytes
}

// errDamaged reports a part that cannot be read.
var errDamaged = errors.New("damaged part")

// openPart opens a part's footer. The caller closes the file. Whatever the
// bytes are, it returns an error rather than panic.
func openPart(path string) (f *os.File, pq *parquet.File, err error) {
	f, err = os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		pq, err = openParquet(f, info.Size())
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open part %q: %w", path, err), f.Close())
	}
	return f, pq, nil
}

// openParquet reads the footer of size bytes of r. Page index and Bloom
// filters are left alone: nothing here uses them.
func openParquet(r io.ReaderAt, size int64) (pq *parquet.File, err error) {
	if err := checkTail(r, size); err != nil {
		return nil, err
	}
	err = guard(func() error {
		pq, err = parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
		return err
	})
	if err == nil {
		err = checkChunks(pq.Metadata(), size)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return pq, nil
}

// checkChunks refuses what the Parquet library cannot be trusted with: chunks
// outside the file, and LZ4, whose decoder never returns on damaged input
// (parquet-go v0.32 doubles its buffer for ever).
func checkChunks(meta *format.FileMetaData, size int64) error {
	for _, c := range chunks(meta) {
		m := &c.MetaData
		switch m.Codec {
		case format.Uncompressed, format.Snappy, format.Gzip, format.Brotli, format.Zstd:
		default:
			return fmt.Errorf("compression %v is not supported: rewrite the file with zstd", m.Codec)
		}
		if m.TotalCompressedSize < 0 || m.DataPageOffset < 0 || m.DataPageOffset > size || m.TotalCompressedSize > size {
			return fmt.Errorf("column chunk of %d bytes at %d in a file of %d", m.TotalCompressedSize, m.DataPageOffset, size)
		}
	}
	return nil
}

// checkTail compares the footer's length with the file's before anyone
// allocates it.
func checkTail(r io.ReaderAt, size int64) error {
	const ends = 12 // magic, footer length, magic
	if size < ends {
		return fmt.Errorf("%w: %d bytes are too few for a Parquet file", errDamaged, size)
	}
	var tail [8]byte
	if _, err := r.ReadAt(tail[:], size-8); err != nil {
		return fmt.Errorf("read footer: %w", err)
	}
	if string(tail[4:]) != "PAR1" {
		return fmt.Errorf("%w: no Parquet footer at its end", errDamaged)
	}
	if n := int64(binary.LittleEndian.Uint32(tail[:4])); n > size-ends {
		return fmt.Errorf("%w: a footer of %d bytes in a file of %d", errDamaged, n, size)
	}
	return nil
}

// guard turns a panic of the Parquet library, which trusts its input, into an
// error. The panic's text is kept out: it may quote bytes of the file.
func guard(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: its structure contradicts itself", errDamaged)
		}
	}()
	return do()
}

// checkPart reads a file's footer.
func checkPart(path string) (part, error) {
	f, pq, err := openPart(path)
	if err != nil {
		return part{}, err
	}
	p := part{path: path, rows: pq.NumRows(), size: pq.Size()}
	p.name, _ = parsePartName(filepath.Base(path))
	return p, f.Close()
}
