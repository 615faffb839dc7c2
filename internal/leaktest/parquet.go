package leaktest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// parquet searches a complete Parquet file. An error says that a part of it
// could not be decoded.
func (s *search) parquet(data []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("the file's structure contradicts itself")
		}
	}()
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	s.outsidePages(data, f.Metadata())
	s.footer(f)
	for _, group := range f.RowGroups() {
		for i, chunk := range group.ColumnChunks() {
			name := strings.Join(f.Schema().Columns()[i], ".")
			if err := s.column(name, chunk); err != nil {
				return fmt.Errorf("column %q: %w", name, err)
			}
		}
	}
	return nil
}

// footer searches what the footer says in words.
func (s *search) footer(f *parquet.File) {
	for _, kv := range f.Metadata().KeyValueMetadata {
		s.in("metadata", []byte(kv.Key))
		s.in("metadata", []byte(kv.Value))
	}
	columns := len(f.Schema().Columns())
	for i, index := range f.ColumnIndexes() {
		name := "column index of " + strings.Join(f.Schema().Columns()[i%columns], ".")
		for _, bound := range slices.Concat(index.MinValues, index.MaxValues) {
			s.inBound(name, bound)
		}
	}
	for _, group := range f.Metadata().RowGroups {
		for _, c := range group.Columns {
			name := "statistics of " + strings.Join(c.MetaData.PathInSchema, ".")
			st := c.MetaData.Statistics
			for _, bound := range [][]byte{st.MinValue, st.MaxValue, st.Min, st.Max} {
				s.inBound(name, bound)
			}
		}
	}
}

// column searches the values of a column, and its dictionary, in which there
// can be entries that no row has.
func (s *search) column(name string, chunk parquet.ColumnChunk) error {
	pages := chunk.Pages()
	defer func() { _ = pages.Close() }()
	values := make([]parquet.Value, 256)
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if d := page.Dictionary(); d != nil {
			for i := range d.Len() {
				s.value("dictionary of "+name, d.Index(int32(i)))
			}
		}
		if err := s.values("column "+name, page.Values(), values); err != nil {
			return err
		}
		parquet.Release(page)
	}
}

func (s *search) values(where string, r parquet.ValueReader, buf []parquet.Value) error {
	for {
		n, err := r.ReadValues(buf)
		for _, v := range buf[:n] {
			s.value(where, v)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *search) value(where string, v parquet.Value) {
	if k := v.Kind(); k == parquet.ByteArray || k == parquet.FixedLenByteArray {
		s.in(where, v.ByteArray())
	}
}

// outsidePages searches the plain bytes of the file but for the bodies of
// pages, where values lie side by side and which are searched decoded.
func (s *search) outsidePages(data []byte, meta *format.FileMetaData) {
	var bodies [][2]int64
	for _, group := range meta.RowGroups {
		for _, c := range group.Columns {
			start := c.MetaData.DataPageOffset
			if d := c.MetaData.DictionaryPageOffset; d > 0 && d < start {
				start = d
			}
			bodies = append(bodies, pageBodies(data, start, start+c.MetaData.TotalCompressedSize)...)
		}
	}
	slices.SortFunc(bodies, func(a, b [2]int64) int { return int(a[0] - b[0]) })
	from := int64(0)
	for _, body := range bodies {
		s.in("page header", data[from:body[0]])
		from = body[1]
	}
	s.in("bytes", data[from:])
}

// pageBodies are the ranges of the pages' bodies in [at, end).
func pageBodies(data []byte, at, end int64) (bodies [][2]int64) {
	for at < end {
		var header format.PageHeader
		r := new(thrift.CompactProtocol).NewReaderFromBytes(data[at:end])
		if err := thrift.NewDecoder(r).Decode(&header); err != nil || header.CompressedPageSize < 0 {
			return bodies
		}
		body := at + int64(r.BytesRead())
		at = body + int64(header.CompressedPageSize)
		if at > end {
			return bodies
		}
		bodies = append(bodies, [2]int64{body, at})
	}
	return bodies
}

// zstdMagic begins every zstd frame (RFC 8878, section 3.1.1).
const zstdMagic = "\x28\xb5\x2f\xfd"

// frames searches each zstd frame of a file that has no footer to say where
// its pages are.
func (s *search) frames(data []byte) {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return
	}
	defer decoder.Close()
	for at := 0; ; at += len(zstdMagic) {
		next := bytes.Index(data[at:], []byte(zstdMagic))
		if next < 0 {
			return
		}
		at += next
		var page bytes.Buffer
		if err := decoder.Reset(bytes.NewReader(data[at:])); err == nil {
			// It ends with an error, since no frame follows; what came before
			// that error is the page.
			_, _ = io.Copy(&page, decoder)
		}
		s.in("zstd frame", page.Bytes())
	}
}
