package datasets

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// maxLine bounds a line of a source; the longest that is known, of a coding
// agent's trace, has some 100 KB. A longer one is a bad row, not the end of
// the import.
const maxLine = 1 << 20

// lines calls fn for each line that is not empty, without its end (LF or
// CRLF), and bad for each that is too long. Lines count from 1. The text is
// valid until fn returns.
func (s *scan) lines(fn func(line int64, text []byte) error) error {
	in := bufio.NewReaderSize(s.in, maxLine)
	for line := int64(1); ; line++ {
		raw, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = skipLine(in)
			if bad := s.bad(line, fmt.Sprintf("longer than %d bytes", maxLine)); bad != nil {
				return bad
			}
			raw = nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return s.bad(line, fmt.Sprintf("the file cannot be read on: %v", err))
		}
		if fnErr := emitLine(line, raw, fn); fnErr != nil {
			return fnErr
		}
		if err != nil {
			return nil
		}
	}
}

func emitLine(line int64, text []byte, fn func(int64, []byte) error) error {
	text = bytes.TrimRight(text, "\r\n")
	if line == 1 {
		text = bytes.TrimPrefix(text, []byte("\ufeff"))
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	return fn(line, text)
}

func skipLine(in *bufio.Reader) error {
	for {
		_, err := in.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// jsonLines reads a file with one JSON object a line. read takes its members
// into a zero T, and row makes a record of that; a nil record comes with what
// is wrong.
func jsonLines[T any](s *scan, read func(in *jsonReader, to *T), row func(from *T) (*trace.Record, string)) error {
	var in jsonReader
	var zero, to T
	return s.lines(func(line int64, text []byte) error {
		in.reset(text)
		to = zero
		if read(&in, &to); in.fault == jsonSound {
			in.end()
		}
		if msg := in.message(); msg != "" {
			return s.bad(line, msg)
		}
		r, msg := row(&to)
		return s.emit(line, r, msg)
	})
}

// jsonClock passes over the arrivals of a file with one JSON object a line:
// the numbers that their members name.
func jsonClock(name string) func(*scan) error {
	return func(s *scan) error {
		var in jsonReader
		return s.lines(func(line int64, text []byte) error {
			in.reset(text)
			for member := range in.members() {
				if string(member) != name {
					in.skip()
					continue
				}
				if ns, ok := decimalNs(in.number(), s.unit); ok && ns >= 0 {
					return s.row(line, s.blank(ns))
				}
				break
			}
			return nil
		})
	}
}

// clip shortens outside text for a message.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
