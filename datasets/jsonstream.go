package datasets

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/lambdac/lambdac/trace"
)

// jsonStream reads a file of JSON values that may span lines or share one,
// piece by piece: a piece is taken whole from a window of the file, which
// grows where it does not hold it.
type jsonStream struct {
	jsonReader
	in io.Reader
	// window holds what was read and not yet taken, from on.
	window []byte
	from   int
	// line is that of window[from], from 1.
	line   int64
	done   error // of in; io.EOF at its end
	pieces int   // taken
}

const (
	// firstWindow is the window's size to begin with.
	firstWindow = 256 << 10
	// maxValue bounds the memory of one value that is read whole: a request of
	// WEKA with its block ids, a span with its attributes.
	maxValue = 16 << 20
)

var (
	errTooLong = fmt.Errorf("a value is longer than %d MiB", maxValue>>20)
	errNoJSON  = errors.New("no JSON from here on")
	errShape   = errors.New("a JSON value of another kind than this format has")
)

func newJSONStream(r io.Reader) *jsonStream {
	return &jsonStream{in: r, line: 1, window: make([]byte, 0, firstWindow)}
}

// fill reads on; false where there is no more, or no room.
func (s *jsonStream) fill() bool {
	if s.done != nil {
		return false
	}
	kept := len(s.window) - s.from
	room := s.window[:cap(s.window)]
	if kept > cap(s.window)/2 {
		if kept >= maxValue {
			s.done = errTooLong
			return false
		}
		room = make([]byte, 2*cap(s.window))
	}
	copy(room, s.window[s.from:])
	n := kept
	for n < len(room) && s.done == nil { // full, so that a long value is not begun often
		var more int
		more, s.done = s.in.Read(room[n:])
		n += more
	}
	s.window, s.from = room[:n], 0
	return n > kept
}

// piece has take read from the window, again with more of the file where it
// ends too soon. The error is one of the file; of a value that is of another
// kind than take wanted, the reader keeps the fault.
func (s *jsonStream) piece(take func()) error {
	s.pieces++
	fresh, depth := s.fresh, s.depth
	for {
		s.reset(s.window[s.from:])
		s.fresh, s.depth = fresh, depth
		take()
		if s.fault != jsonShort || !s.fill() {
			break
		}
	}
	switch {
	case s.fault == jsonBroken, s.fault == jsonShort && errors.Is(s.done, io.EOF):
		s.goOn()
		return errNoJSON
	case s.fault == jsonShort:
		return s.done
	case s.fault == jsonSound:
		s.goOn()
	default: // nothing of it is taken
		s.fresh, s.depth = fresh, depth
	}
	return nil
}

// goOn leaves behind what was taken.
func (s *jsonStream) goOn() {
	s.line += int64(bytes.Count(s.text[:s.at], []byte{'\n'}))
	s.from += s.at
}

// members visits the members of an object; one that visit does not take is
// skipped.
func (s *jsonStream) members(visit func(name string) error) error {
	next := func() (name string, more bool) {
		text, more := s.member()
		return string(text), more
	}
	return s.within('{', next, func(name string) error {
		before := s.pieces
		if err := visit(name); err != nil || s.pieces != before {
			return err
		}
		return s.piece(s.skip)
	})
}

// elements visits the elements of an array; visit must take each.
func (s *jsonStream) elements(visit func() error) error {
	return s.within('[', func() (string, bool) { return "", s.more() }, func(string) error { return visit() })
}

func (s *jsonStream) within(bracket byte, next func() (string, bool), visit func(string) error) error {
	var name string
	more := false
	if err := s.piece(func() { more = s.open(bracket) }); err != nil {
		return err
	}
	if s.fault != jsonSound {
		return errShape
	}
	for more {
		if err := s.piece(func() { name, more = next() }); err != nil {
			return err
		}
		if !more {
			break
		}
		if err := visit(name); err != nil {
			return err
		}
	}
	return nil
}

// whole takes one value, and tells the line on which it begins. An error is
// one of the file; what only does not fit is told by msg, and skipped.
func (s *jsonStream) whole(take func(*jsonReader)) (line int64, msg string, err error) {
	if err := s.piece(func() { s.kind() }); err != nil {
		return 0, "", err
	}
	line = s.line
	if err := s.piece(func() { take(&s.jsonReader) }); err != nil {
		return 0, "", err
	}
	if s.fault == jsonOther {
		msg = s.message()
		err = s.piece(s.skip)
	}
	return line, msg, err
}

// documents reads the values of a file one after the other. Where the JSON
// breaks off, what is behind is one bad row: what came before was good.
func documents(s *scan, read func(*jsonStream) error) error {
	in := newJSONStream(s.in)
	for {
		in.depth = 0
		if in.atEnd() {
			return nil
		}
		err := read(in)
		switch {
		case err == nil:
			continue
		case errors.Is(err, errNoJSON), errors.Is(err, errShape), errors.Is(err, errTooLong):
			return s.bad(in.line, fmt.Sprintf("%v: the rest of the file is not read", err))
		case in.done != nil && errors.Is(err, in.done):
			return s.bad(in.line, fmt.Sprintf("the file cannot be read on: %v", err))
		}
		return err
	}
}

// atEnd tells whether only blanks are left.
func (s *jsonStream) atEnd() bool {
	err := s.piece(func() { s.kind() })
	return err != nil && errors.Is(s.done, io.EOF) && len(bytes.TrimSpace(s.window[s.from:])) == 0
}

// emit gives a record or what is wrong to the scan.
func (s *scan) emit(line int64, r *trace.Record, msg string) error {
	if r == nil {
		return s.bad(line, msg)
	}
	return s.row(line, r)
}
