package tracedir

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// dropTextIndexes rewrites the end of a finished file so that its text
// columns have no column index.
//
// Why: a column without bounds still gets a column index from parquet-go
// v0.32, with "" as the least and the greatest value of every page. Engines
// that prune pages by it (Spark, DataFusion) take that for the truth and
// lose every row of a filter such as request_model = 'x'. The index is
// optional per column, so it is left out; truncated bounds were rejected, as
// they keep the first bytes of a text. The bytes of the other indexes are
// copied as they are; only their offsets change.
func dropTextIndexes(f partFile, meta *format.FileMetaData, text map[string]bool) error {
	if len(meta.RowGroups) == 0 {
		return nil
	}
	start := meta.RowGroups[0].Columns[0].ColumnIndexOffset
	tail := &tailWriter{src: f, at: start}
	for _, c := range chunks(meta) {
		if text[strings.Join(c.MetaData.PathInSchema, ".")] {
			c.ColumnIndexOffset, c.ColumnIndexLength = 0, 0
			continue
		}
		c.ColumnIndexOffset = tail.copy(c.ColumnIndexOffset, c.ColumnIndexLength)
	}
	for _, c := range chunks(meta) {
		c.OffsetIndexOffset = tail.copy(c.OffsetIndexOffset, c.OffsetIndexLength)
	}
	if tail.err != nil {
		return fmt.Errorf("copy page index: %w", tail.err)
	}
	if err := appendFooter(&tail.out, meta); err != nil {
		return err
	}
	return replaceTail(f, start, tail.out.Bytes())
}

// chunks yields the column chunks of a file by row group and column.
func chunks(meta *format.FileMetaData) []*format.ColumnChunk {
	var all []*format.ColumnChunk
	for g := range meta.RowGroups {
		for c := range meta.RowGroups[g].Columns {
			all = append(all, &meta.RowGroups[g].Columns[c])
		}
	}
	return all
}

// tailWriter gathers the new end of a file that begins at offset at.
type tailWriter struct {
	src io.ReaderAt
	at  int64
	out bytes.Buffer
	err error
}

// copy appends bytes of the old file and returns where they will be.
func (t *tailWriter) copy(offset int64, length int32) int64 {
	pos := t.at + int64(t.out.Len())
	if t.err != nil {
		return pos
	}
	buf := slices.Grow(t.out.AvailableBuffer(), int(length))[:length]
	if _, t.err = t.src.ReadAt(buf, offset); t.err == nil {
		t.out.Write(buf)
	}
	return pos
}

// appendFooter writes the metadata and the eight bytes that end a file.
func appendFooter(out *bytes.Buffer, meta *format.FileMetaData) error {
	before := out.Len()
	encoder := thrift.NewEncoder(new(thrift.CompactProtocol).NewWriter(out))
	if err := encoder.Encode(meta); err != nil {
		return fmt.Errorf("encode footer: %w", err)
	}
	size := binary.LittleEndian.AppendUint32(nil, uint32(out.Len()-before))
	out.Write(append(size, "PAR1"...))
	return nil
}

func replaceTail(f partFile, start int64, tail []byte) error {
	if err := f.Truncate(start); err != nil {
		return err
	}
	if _, err := f.Seek(start, io.SeekStart); err != nil {
		return err
	}
	_, err := f.Write(tail)
	return err
}
