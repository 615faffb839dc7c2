package tracedir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// TextPlace says where in a Parquet file a text stands.
type TextPlace struct {
	// Where is "column", "dictionary", or "bytes" for what stands outside the
	// pages' bodies: page headers with their bounds, page index, footer with
	// its statistics and metadata.
	Where string
	// Column is the path of the column, "" outside of one.
	Column string
	// Row is that of the file, from 0; -1 where it is not known.
	Row int64
}

// VisitTexts calls visit with every text of a Parquet file: each value and
// each dictionary entry of the columns that hold bytes, and the bytes outside
// the pages' bodies, in pieces as the file has them. The bytes are valid until
// visit returns. It says how many rows it read; an error says that not all
// of the file was.
func VisitTexts(path string, visit func(TextPlace, []byte)) (rows int64, err error) {
	f, pq, err := openPart(path)
	if err != nil {
		return 0, err
	}
	v := &textVisitor{file: f, visit: visit, buf: make([]parquet.Value, 256)}
	err = guard(func() error { return v.all(pq) })
	if err := errors.Join(err, f.Close()); err != nil {
		return pq.NumRows(), fmt.Errorf("read texts of %q: %w", path, err)
	}
	return pq.NumRows(), nil
}

// textVisitor visits the texts of one file.
type textVisitor struct {
	file  *os.File
	visit func(TextPlace, []byte)
	buf   []parquet.Value
}

func (v *textVisitor) all(pq *parquet.File) error {
	if err := v.outside(pq.Metadata(), pq.Size()); err != nil {
		return err
	}
	first := int64(0)
	for _, group := range pq.RowGroups() {
		for i, chunk := range group.ColumnChunks() {
			if k := chunk.Type().Kind(); k != parquet.ByteArray && k != parquet.FixedLenByteArray {
				continue
			}
			name := strings.Join(pq.Schema().Columns()[i], ".")
			if err := v.column(name, chunk, first); err != nil {
				return fmt.Errorf("column %q: %w", name, err)
			}
		}
		first += group.NumRows()
	}
	return nil
}

// column visits the values of a column, and its dictionary, in which there
// can be entries that no row has.
func (v *textVisitor) column(name string, chunk parquet.ColumnChunk, row int64) error {
	pages := chunk.Pages()
	defer func() { _ = pages.Close() }()
	row-- // a value that repeats nothing begins the next
	seen := false
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if d := page.Dictionary(); d != nil && !seen {
			seen = true
			for i := range d.Len() {
				v.value(TextPlace{"dictionary", name, -1}, d.Index(int32(i)))
			}
		}
		if row, err = v.values(name, page.Values(), row); err != nil {
			return err
		}
		parquet.Release(page)
	}
}

func (v *textVisitor) values(name string, r parquet.ValueReader, row int64) (int64, error) {
	for {
		n, err := r.ReadValues(v.buf)
		for _, value := range v.buf[:n] {
			if value.RepetitionLevel() == 0 {
				row++
			}
			v.value(TextPlace{"column", name, row}, value)
		}
		if errors.Is(err, io.EOF) {
			return row, nil
		}
		if err != nil {
			return row, err
		}
	}
}

func (v *textVisitor) value(at TextPlace, value parquet.Value) {
	if value.IsNull() {
		return
	}
	if text := value.ByteArray(); len(text) > 0 {
		v.visit(at, text)
	}
}

// outside visits the bytes outside the bodies of pages, where values lie
// compressed and side by side.
func (v *textVisitor) outside(meta *format.FileMetaData, size int64) error {
	var bodies [][2]int64
	for _, c := range chunks(meta) {
		start := c.MetaData.DataPageOffset
		if d := c.MetaData.DictionaryPageOffset; d > 0 && d < start {
			start = d
		}
		found, err := v.pageBodies(start, min(size, start+c.MetaData.TotalCompressedSize))
		if err != nil {
			return err
		}
		bodies = append(bodies, found...)
	}
	slices.SortFunc(bodies, func(a, b [2]int64) int { return int(a[0] - b[0]) })
	at := int64(0)
	for _, body := range append(bodies, [2]int64{size, size}) {
		if body[0] > at {
			piece := make([]byte, body[0]-at)
			if _, err := v.file.ReadAt(piece, at); err != nil {
				return fmt.Errorf("read at byte %d: %w", at, err)
			}
			v.visit(TextPlace{"bytes", "", -1}, piece)
		}
		at = max(at, body[1])
	}
	return nil
}

// pageBodies are the ranges of the pages' bodies in [at, end).
func (v *textVisitor) pageBodies(at, end int64) (bodies [][2]int64, err error) {
	if end <= at {
		return nil, nil
	}
	chunk := make([]byte, end-at)
	if _, err := v.file.ReadAt(chunk, at); err != nil {
		return nil, fmt.Errorf("read pages at byte %d: %w", at, err)
	}
	for from := int64(0); from < int64(len(chunk)); {
		var header format.PageHeader
		r := new(thrift.CompactProtocol).NewReaderFromBytes(chunk[from:])
		if err := thrift.NewDecoder(r).Decode(&header); err != nil {
			return nil, fmt.Errorf("%w: page header at byte %d", errDamaged, at+from)
		}
		body := from + int64(r.BytesRead())
		next := body + int64(header.CompressedPageSize)
		if header.CompressedPageSize < 0 || next > int64(len(chunk)) {
			return nil, fmt.Errorf("%w: page at byte %d reaches past its chunk", errDamaged, at+from)
		}
		bodies = append(bodies, [2]int64{at + body, at + next})
		from = next
	}
	return bodies, nil
}
