package datasets

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// csvColumns names the columns that a CSV format reads, in the order in which
// its row function gets their fields. Those of must have to be in the header,
// those of may need not: their fields are "" then. Others are not read.
type csvColumns struct{ must, may []string }

// csvRow makes a record from the fields of one line; a nil record comes with
// what is wrong.
type csvRow func(fields []string) (*trace.Record, string)

// csv reads a file with a header line.
func (s *scan) csv(columns csvColumns, row csvRow) error {
	var header []string
	var at []int // of each column, its place in a line; −1 = not there
	fields := make([]string, len(columns.must)+len(columns.may))
	var cells []string
	return s.lines(func(line int64, raw []byte) (err error) {
		text := string(raw)
		cells, err = csvCells(cells[:0], text)
		switch {
		case err != nil:
			return s.bad(line, err.Error())
		case header == nil:
			header = slices.Clone(cells)
			at, err = columns.find(line, header, text)
			return err
		case len(cells) != len(header):
			return s.bad(line, fmt.Sprintf("%d fields, want %d", len(cells), len(header)))
		}
		for i, place := range at {
			fields[i] = ""
			if place >= 0 {
				fields[i] = cells[place]
			}
		}
		r, msg := row(fields)
		if r == nil {
			return s.bad(line, msg)
		}
		return s.row(line, r)
	})
}

// find places the columns in a header line.
func (c csvColumns) find(line int64, header []string, text string) ([]int, error) {
	var at []int
	var missing []string
	for _, name := range c.must {
		i := slices.Index(header, name)
		if i < 0 {
			missing = append(missing, name)
		}
		at = append(at, i)
	}
	if len(missing) > 0 {
		return nil, fileError(line, "lacks the columns %s (it reads %q)", strings.Join(missing, ", "), clip(text))
	}
	for _, name := range c.may {
		at = append(at, slices.Index(header, name))
	}
	return at, nil
}

// csvCells splits one line. A quoted field ends on its line.
func csvCells(dst []string, text string) ([]string, error) {
	if strings.IndexByte(text, '"') >= 0 {
		cells, err := csv.NewReader(strings.NewReader(text)).Read()
		if err != nil {
			return nil, fmt.Errorf("no line of CSV: its quotes do not match")
		}
		return cells, nil
	}
	for {
		cell, rest, more := strings.Cut(text, ",")
		dst = append(dst, cell)
		if !more {
			return dst, nil
		}
		text = rest
	}
}
