package recorder

import (
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
)

// The decompressors that exist pull from an io.Reader, and keep an error for
// good; here bytes are pushed, packet by packet, and after each packet all that
// can be decoded must be out, since its time is that packet's. So each runs as
// a coroutine (iter.Pull) that is resumed with every packet and suspends where
// its Read finds no more input: no thread, no channel, nothing to wait for, and
// stop ends it for good. Rejected: io.Pipe with a goroutine (it cannot tell
// "all is out" from "not yet scheduled") and decoding again from the start with
// every packet (quadratic).

// errTrailing ends a coding that is complete while bytes follow.
var errTrailing = errors.New("bytes after the end of the coded body")

// decoder takes a coded body in pieces and gives what can be decoded. It must
// be closed.
type decoder struct {
	stages []*stage
	// failed: the coding is broken or unknown; what follows is counted only.
	failed bool
	// stopped: emit wanted no more.
	stopped bool
	// trailing is the number of bytes after the coded body's end.
	trailing int64
}

// maxCodings bounds the codings of one body, since each takes the memory of a
// decompressor; real ones have one, or two where a proxy adds its own.
const maxCodings = 4

// newDecoder returns a decoder of a body to which codings were applied in that
// order, and their names as they are recorded; nil if there is nothing to
// decode. An unknown coding fails at
// once, and so do too many.
func newDecoder(codings []string) (*decoder, string) {
	d := &decoder{}
	if len(codings) > maxCodings {
		return &decoder{failed: true}, "other"
	}
	var names []string
	for _, name := range codings {
		if name == "identity" {
			continue
		}
		open, known := codingNames[strings.TrimPrefix(name, "x-")]
		if !known {
			return &decoder{failed: true}, "other"
		}
		names = append(names, strings.TrimPrefix(name, "x-"))
		d.stages = append(d.stages, &stage{run: open})
	}
	if len(d.stages) == 0 {
		return nil, ""
	}
	slices.Reverse(d.stages)
	return d, strings.Join(names, ",")
}

var codingNames = map[string]func(*coded, func([]byte) bool) error{
	"gzip": runGzip, "deflate": runDeflate, "br": runBrotli, "zstd": runZstd,
}

// feed decodes the next bytes; emit may be called any number of times and
// returns false to stop for good.
func (d *decoder) feed(p []byte, emit func([]byte) bool) {
	if !d.failed {
		d.through(d.stages, p, emit)
	}
}

// unused is the number of bytes of the last piece that were not looked at
// because emit wanted no more.
func (d *decoder) unused() int64 {
	if !d.stopped {
		return 0
	}
	return max(1, int64(len(d.stages[0].in.data)))
}

func (d *decoder) through(stages []*stage, p []byte, emit func([]byte) bool) bool {
	if len(stages) == 0 {
		return emit(p)
	}
	if d.failed || d.stopped {
		return false
	}
	s := stages[0]
	if s.done {
		d.trailing += int64(len(p))
		return true
	}
	s.start()
	s.in.data = p
	for {
		out, ok := s.next()
		if !ok {
			s.done = true
			if s.err != nil {
				d.failed = !errors.Is(s.err, errTrailing)
			}
			d.trailing += int64(len(s.in.data))
			return !d.failed
		}
		if out == nil { // hungry
			return true
		}
		if !d.through(stages[1:], out, emit) {
			d.stopped = true
			return false
		}
	}
}

// close ends the coroutines.
func (d *decoder) close() {
	for _, s := range d.stages {
		if s.stop != nil {
			s.stop()
		}
		s.done = true
	}
}

// stage is one coding.
type stage struct {
	run  func(*coded, func([]byte) bool) error
	in   coded
	next func() ([]byte, bool)
	stop func()
	err  error
	done bool
}

func (s *stage) start() {
	if s.next != nil {
		return
	}
	s.next, s.stop = iter.Pull(func(yield func([]byte) bool) {
		s.in.hungry = func() bool { return yield(nil) }
		s.err = s.run(&s.in, func(b []byte) bool { return len(b) == 0 || yield(b) })
	})
}

// coded is the reader that a coroutine pulls from. It never reads ahead, and
// it suspends the coroutine where it has nothing.
type coded struct {
	data   []byte
	hungry func() bool
	ended  bool
}

func (r *coded) wait() bool {
	for len(r.data) == 0 {
		if r.ended || !r.hungry() {
			r.ended = true
			return false
		}
	}
	return true
}

// Read implements io.Reader.
func (r *coded) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if !r.wait() {
		return 0, io.EOF
	}
	n := copy(p, r.data)
	r.data = r.data[n:]
	return n, nil
}

// ReadByte implements io.ByteReader, which keeps flate from reading ahead.
func (r *coded) ReadByte() (byte, error) {
	if !r.wait() {
		return 0, io.EOF
	}
	c := r.data[0]
	r.data = r.data[1:]
	return c, nil
}

// pieceSize is the size of a decoder's output buffer.
const pieceSize = 8 << 10

func copyOut(r io.Reader, yield func([]byte) bool) error {
	buf := make([]byte, pieceSize)
	for {
		n, err := r.Read(buf)
		if !yield(buf[:n]) || errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// runGzip reads members up to the end (RFC 1952, section 2.2). What follows a
// member and is no member is trailing garbage.
func runGzip(in *coded, yield func([]byte) bool) error {
	for members := 0; ; members++ {
		if members > 0 && !in.wait() {
			return nil
		}
		if members > 0 && in.data[0] != gzipMagic[0] {
			return errTrailing
		}
		if err := gzipHeader(in); err != nil {
			return err
		}
		if err := copyOut(flate.NewReaderOpts(in, flate.WithPartialBlock()), yield); err != nil {
			return err
		}
		var trailer [8]byte // checksum and length: what was on the wire counts, right or wrong
		if _, err := io.ReadFull(in, trailer[:]); err != nil {
			return err
		}
	}
}

// gzipMagic is the magic number and the method.
const gzipMagic = "\x1f\x8b\x08"

var errGzip = errors.New("not gzip")

// gzipHeader reads a member's header (RFC 1952, section 2.3).
func gzipHeader(in *coded) error {
	var h [10]byte
	for i := range h {
		c, err := in.ReadByte()
		if err != nil {
			return err
		}
		if h[i] = c; i < 3 && c != gzipMagic[i] {
			return errGzip
		}
	}
	flags := h[3]
	if flags&4 != 0 {
		var n [2]byte
		if _, err := io.ReadFull(in, n[:]); err != nil {
			return err
		}
		if _, err := io.CopyN(io.Discard, in, int64(binary.LittleEndian.Uint16(n[:]))); err != nil {
			return err
		}
	}
	for _, bit := range []byte{8, 16} { // name, comment
		if err := skipString(in, flags&bit != 0); err != nil {
			return err
		}
	}
	if flags&2 != 0 {
		_, err := io.CopyN(io.Discard, in, 2)
		return err
	}
	return nil
}

func skipString(in *coded, there bool) error {
	for there {
		c, err := in.ReadByte()
		if err != nil {
			return err
		}
		there = c != 0
	}
	return nil
}

// runDeflate reads "deflate", which some send with the zlib header that the
// registry asks for and some without. A zlib header is two bytes that are a
// multiple of 31 with method 8 and no dictionary (RFC 1950, section 2.2); as
// the start of a raw stream they would be a stored block whose lengths do not
// fit, or are improbable.
func runDeflate(in *coded, yield func([]byte) bool) error {
	var h [2]byte
	if _, err := io.ReadFull(in, h[:]); err != nil {
		return err
	}
	var src io.Reader = in
	zlib := h[0]&0x0f == 8 && h[0]>>4 <= 7 && binary.BigEndian.Uint16(h[:])%31 == 0 && h[1]&0x20 == 0
	if !zlib {
		src = &pushedBack{head: h[:], coded: in}
	}
	if err := copyOut(flate.NewReaderOpts(src, flate.WithPartialBlock()), yield); err != nil {
		return err
	}
	if zlib {
		_, err := io.CopyN(io.Discard, in, 4)
		return err
	}
	return nil
}

// pushedBack is a coded body with bytes before it.
type pushedBack struct {
	head []byte
	*coded
}

// Read implements io.Reader.
func (r *pushedBack) Read(p []byte) (int, error) {
	if len(r.head) == 0 {
		return r.coded.Read(p)
	}
	n := copy(p, r.head)
	r.head = r.head[n:]
	return n, nil
}

// ReadByte implements io.ByteReader.
func (r *pushedBack) ReadByte() (byte, error) {
	if len(r.head) == 0 {
		return r.coded.ReadByte()
	}
	c := r.head[0]
	r.head = r.head[1:]
	return c, nil
}

func runBrotli(in *coded, yield func([]byte) bool) error {
	return copyOut(brotli.NewReader(in), yield)
}

// maxZstdWindow is what RFC 9659 lets a decoder of HTTP content refuse above.
const maxZstdWindow = 8 << 20

// runZstd reads frames up to the end.
func runZstd(in *coded, yield func([]byte) bool) error {
	d, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxZstdWindow))
	if err != nil {
		return err
	}
	defer d.Close()
	some := false
	err = copyOut(d, func(b []byte) bool {
		some = some || len(b) > 0
		return yield(b)
	})
	if some && errors.Is(err, zstd.ErrMagicMismatch) {
		return errTrailing
	}
	return err
}
