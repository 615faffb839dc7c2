package datasets

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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

// jsonLines reads a file with one JSON object a line. row makes a record from
// one; a nil record comes with what is wrong.
func jsonLines[T any](s *scan, row func(in *T) (*trace.Record, string)) error {
	options := jsonOptions()
	return s.lines(func(line int64, text []byte) error {
		in := new(T)
		if err := json.Unmarshal(text, in, options); err != nil {
			return s.bad(line, jsonFault(err))
		}
		r, msg := row(in)
		if r == nil {
			return s.bad(line, msg)
		}
		return s.row(line, r)
	})
}

// jsonOptions forgive what says nothing about the numbers.
func jsonOptions() json.Options {
	return json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// jsonFault says what is wrong with a row of JSON, and in which column,
// without its text.
func jsonFault(err error) string {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return fmt.Sprintf("no JSON object of this format: column %d is no JSON", syntax.ByteOffset+1)
	}
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		name := strings.TrimPrefix(clip(string(semantic.JSONPointer)), "/")
		if name == "" {
			return "no JSON object of this format"
		}
		return fmt.Sprintf("%s: a JSON %s of another kind than this format has", name, kindName(semantic.JSONKind))
	}
	return "no JSON object of this format"
}

// blockIDs are the ids of a row: most of the bytes of the formats that have
// them, so they are read without reflection.
type blockIDs []int64

// UnmarshalJSONFrom reads a list of whole numbers.
func (ids *blockIDs) UnmarshalJSONFrom(in *jsontext.Decoder) error {
	raw, err := in.ReadValue()
	if err != nil {
		return err
	}
	*ids = nil
	if raw.Kind() != '[' {
		return errShape
	}
	list := make(blockIDs, 0, bytes.Count(raw, []byte{','})+1)
	n, digits := int64(0), 0
	for _, c := range raw[1:] {
		switch {
		case c >= '0' && c <= '9':
			digits++
			n = n*10 + int64(c-'0')
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case c == ',' || c == ']':
			if digits > 18 || digits == 0 && len(list) > 0 {
				return errShape
			}
			if digits > 0 {
				list = append(list, n)
			}
			n, digits = 0, 0
		default:
			return errShape
		}
	}
	*ids = list
	return nil
}

func kindName(k jsontext.Kind) string {
	if k == 0 {
		return "value"
	}
	return k.String()
}

// clip shortens outside text for a message.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
