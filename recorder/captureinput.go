package recorder

import (
	"errors"
	"fmt"
	"io"
)

// CaptureError says what is wrong with a capture, where, and what to try.
type CaptureError struct {
	// File is the name it was opened by.
	File string
	// Offset is the number of bytes before the header that is at fault.
	Offset int64
	// Problem and Hint are for the user; Hint may be empty.
	Problem, Hint string
}

// Error names file, offset, problem and hint.
func (e *CaptureError) Error() string {
	text := fmt.Sprintf("read capture %q: byte %d: %s", e.File, e.Offset, e.Problem)
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

const (
	// inputBuffer is what one open file holds of its bytes, as long as no
	// packet is larger.
	inputBuffer = 256 << 10
	// maxPacket bounds one packet or block. Linux cuts captures at 256 KiB;
	// its largest frames (BIG TCP) have 512 KiB.
	maxPacket = 16 << 20
)

// captureInput reads a stream once, forwards. It hands out pieces of its own buffer,
// which grows only after that many bytes have really come: a length field
// that lies reserves nothing.
type captureInput struct {
	r   io.Reader
	buf []byte
	// buf[lo:hi] is read and not yet taken; off is the place of buf[lo].
	lo, hi int
	off    int64
	err    error
}

// peek returns the next n bytes, valid until the next call. Where the stream
// ends before, it returns what there is and io.EOF (nothing left) or
// io.ErrUnexpectedEOF.
func (in *captureInput) peek(n int) ([]byte, error) {
	for in.hi-in.lo < n && in.err == nil {
		in.fill(n)
	}
	if have := in.hi - in.lo; have < n {
		if errors.Is(in.err, io.EOF) && have > 0 {
			return in.buf[in.lo:in.hi], io.ErrUnexpectedEOF
		}
		return in.buf[in.lo:in.hi], in.err
	}
	return in.buf[in.lo : in.lo+n], nil
}

// fill reads once, after making room for more of the n bytes wanted.
func (in *captureInput) fill(n int) {
	if in.lo > 0 && (in.lo == in.hi || in.lo+n > len(in.buf)) {
		copy(in.buf, in.buf[in.lo:in.hi])
		in.lo, in.hi = 0, in.hi-in.lo
	}
	if in.hi == len(in.buf) {
		grown := make([]byte, max(inputBuffer, 2*len(in.buf)))
		copy(grown, in.buf[:in.hi])
		in.buf = grown
	}
	got, err := in.r.Read(in.buf[in.hi:])
	in.hi += got
	in.err = err
}

// take drops n bytes that peek has returned.
func (in *captureInput) take(n int) {
	in.lo += n
	in.off += int64(n)
}

// discard drops n bytes, whether or not they fit into the buffer.
func (in *captureInput) discard(n int64) error {
	for n > 0 {
		have, err := in.peek(1)
		if len(have) == 0 {
			return err
		}
		step := min(int64(in.hi-in.lo), n)
		in.take(int(step))
		n -= step
	}
	return nil
}
