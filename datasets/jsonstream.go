package datasets

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/lambdac/lambdac/trace"
)

// jsonStream reads a file of JSON values that may span lines or share one,
// element by element.
type jsonStream struct {
	*jsontext.Decoder
	in bounded
}

func newJSONStream(r io.Reader) *jsonStream {
	s := &jsonStream{in: bounded{in: r, line: 1}}
	s.Decoder = jsontext.NewDecoder(&s.in, jsonOptions())
	return s
}

// bounded counts lines, and ends the reading of one value at maxValue bytes.
type bounded struct {
	in   io.Reader
	left int
	// line is that of the offset asked for last; ends are the line ends seen
	// behind it, of the seen bytes.
	line int64
	ends []int64
	seen int64
}

// maxValue bounds the memory of one value that is read whole: a request of
// WEKA with its block ids, a span with its attributes.
const maxValue = 16 << 20

var errTooLong = fmt.Errorf("a value is longer than %d MiB", maxValue>>20)

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.in.Read(p[:min(len(p), b.left)])
	b.left -= n
	for i, c := range p[:n] {
		if c == '\n' {
			b.ends = append(b.ends, b.seen+int64(i))
		}
	}
	b.seen += int64(n)
	return n, err
}

// at is the line of an offset, which must not decrease from call to call.
func (b *bounded) at(offset int64) int64 {
	n := 0
	for n < len(b.ends) && b.ends[n] < offset {
		n++
	}
	b.line += int64(n)
	b.ends = append(b.ends[:0], b.ends[n:]...)
	return b.line
}

// next makes room for one more value.
func (s *jsonStream) next() { s.in.left = maxValue }

// members visits the members of an object; one that visit does not read is
// skipped.
func (s *jsonStream) members(visit func(name string) error) error {
	return s.within('{', func() error {
		name, err := s.ReadToken()
		if err != nil {
			return err
		}
		text, before := name.String(), s.InputOffset()
		if err := visit(text); err != nil || s.InputOffset() != before {
			return err
		}
		return s.SkipValue()
	})
}

// elements visits the elements of an array; each must be read.
func (s *jsonStream) elements(visit func() error) error { return s.within('[', visit) }

// errShape says that a value is not of the kind that the format has there.
var errShape = errors.New("a JSON value of another kind than this format has")

func (s *jsonStream) within(open jsontext.Kind, visit func() error) error {
	s.next()
	if kind := s.PeekKind(); kind != open {
		if kind == 0 {
			_, err := s.ReadToken()
			return err
		}
		return errShape
	}
	if _, err := s.ReadToken(); err != nil {
		return err
	}
	for {
		s.next()
		switch s.PeekKind() {
		case '}', ']':
			_, err := s.ReadToken()
			return err
		}
		if err := visit(); err != nil {
			return err
		}
	}
}

// value reads one value whole, and tells the line on which it begins. An error
// is one of the stream; what only does not fit is told by msg.
func (s *jsonStream) value(into any) (line int64, msg string, err error) {
	s.next()
	raw, err := s.ReadValue()
	if err != nil {
		return 0, "", err
	}
	line = s.in.at(s.InputOffset() - int64(len(raw)))
	if err := json.Unmarshal(raw, into, jsonOptions()); err != nil {
		return line, jsonFault(err), nil
	}
	return line, "", nil
}

// documents reads the values of a file one after the other. Where the JSON
// breaks off, what is behind is one bad row: what came before was good.
func documents(s *scan, read func(*jsonStream) error) error {
	in := newJSONStream(s.in)
	for {
		in.next()
		err := read(in)
		var syntax *jsontext.SyntacticError
		switch {
		case err == nil:
			continue
		case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && in.StackDepth() == 0:
			return nil
		case errors.As(err, &syntax):
			return s.bad(in.in.at(syntax.ByteOffset), "no JSON from here on: the rest of the file is not read")
		case errors.Is(err, errShape), errors.Is(err, errTooLong), errors.Is(err, io.ErrUnexpectedEOF):
			return s.bad(in.in.at(in.InputOffset()), fmt.Sprintf("%v: the rest of the file is not read", err))
		}
		return err
	}
}

// emit gives a record or what is wrong to the scan.
func (s *scan) emit(line int64, r *trace.Record, msg string) error {
	if r == nil {
		return s.bad(line, msg)
	}
	return s.row(line, r)
}
