package recorder

import (
	"container/heap"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync/atomic"
)

// fileSource reads capture files, all at once, and merges their packets by
// time: files of one capture that follow each other come out one after the
// other, files of two capture points interleaved. A packet that is in two of
// them is a repetition for the reassembler, and counts once.
type fileSource struct {
	intake
	files fileHeap
	// inputs are those of all files, ended ones too.
	inputs []*captureInput
	links  map[uint32]bool
	// keys are the secrets that the files themselves hold.
	keys *KeyLog
	// current is the file whose packet is in use.
	current *captureFile
	// failed is the first damage found; it is reported when the rest is read.
	failed  error
	closers []io.Closer
	closed  atomic.Bool
}

// captureFile is one open file and the packet that it comes to next.
type captureFile struct {
	name   string
	in     *captureInput
	reader packetReader
	index  int
	head   packet
}

// fileHeap orders files by the time of their next packet, then as given.
type fileHeap []*captureFile

func (h fileHeap) Len() int { return len(h) }
func (h fileHeap) Less(i, j int) bool {
	if h[i].head.time != h[j].head.time {
		return h[i].head.time < h[j].head.time
	}
	return h[i].index < h[j].index
}
func (h fileHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *fileHeap) Push(x any)   { *h = append(*h, x.(*captureFile)) }
func (h *fileHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// OpenFiles opens pcap and pcapng files; "-" is the standard input. Where
// ports are given, only connections to servers on these ports are read. It
// waits for the first bytes of each, as for the writer of a named pipe; after
// that, Close ends a wait.
//
// A file that is no capture is a [*CaptureError] here. A file that ends within
// a packet is named in Stats; one that is damaged further on is read up to
// there, the others to their end, and then Next returns the *CaptureError.
func OpenFiles(paths []string, ports ...int) (Source, error) {
	var inputs []Input
	for _, path := range paths {
		file, name, err := openInput(path)
		if err != nil {
			for _, in := range inputs {
				err = errors.Join(err, in.Reader.(io.Closer).Close())
			}
			return nil, fmt.Errorf("open capture: %w", err)
		}
		inputs = append(inputs, Input{name, file})
	}
	return OpenReaders(inputs, ports...)
}

// Input is one capture to read, forwards and once. Name is used in messages.
type Input struct {
	Name   string
	Reader io.Reader
}

// OpenReaders is OpenFiles for captures that come from readers. Those that are
// an [io.Closer] are closed with the source, or with the error. Close ends the
// wait of a Read only where the reader's own Close does.
func OpenReaders(inputs []Input, ports ...int) (Source, error) {
	s := newFileSource(ports)
	for _, in := range inputs {
		if c, ok := in.Reader.(io.Closer); ok {
			s.closers = append(s.closers, c)
		}
	}
	for _, in := range inputs {
		if err := s.addFile(in.Reader, in.Name); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

func newFileSource(ports []int) *fileSource {
	return &fileSource{intake: intake{tracker: newTracker(ports)}, links: make(map[uint32]bool), keys: newKeyLog("")}
}

func (s *fileSource) addFile(r io.Reader, name string) error {
	f := &captureFile{name: name, in: &captureInput{r: r}, index: len(s.inputs)}
	s.inputs = append(s.inputs, f.in)
	var err error
	if f.reader, err = newPacketReader(f.in, name); err != nil {
		return err
	}
	if ng, ok := f.reader.(*ngReader); ok {
		ng.keys = s.keys
	}
	if s.advance(f) {
		heap.Push(&s.files, f)
	} else if f.in.off == 0 { // damaged from the start
		return s.failed
	}
	return nil
}

// advance reads the file's next packet; false where there is none.
func (s *fileSource) advance(f *captureFile) bool {
	var err error
	if f.head, err = f.reader.next(); err == nil {
		return true
	}
	switch {
	case errors.Is(err, io.EOF), s.closed.Load():
	case errors.Is(err, io.ErrUnexpectedEOF):
		s.stats.Cut = append(s.stats.Cut, fmt.Sprintf("capture %q ends within a packet, at byte %d; all before it was read", filepath.Base(f.name), f.in.off))
	case s.failed == nil:
		s.failed = fmt.Errorf("read capture %q: %w", f.name, err)
		if broken := (*CaptureError)(nil); errors.As(err, &broken) {
			s.failed = broken
		}
	default:
		s.warn(fmt.Sprintf("capture %q could be read up to byte %d only", filepath.Base(f.name), f.in.off))
	}
	if ng, ok := f.reader.(*ngReader); ok {
		s.stats.KernelDrops += ng.drops()
	}
	return false
}

// warn keeps a warning for the user; a few are as good as many. Warnings go
// into the trace, so they name files without their folders.
func (s *fileSource) warn(text string) {
	if len(s.stats.Warnings) < 16 {
		s.stats.Warnings = append(s.stats.Warnings, text)
	}
}

// Next implements [Source].
func (s *fileSource) Next() (Segment, error) {
	for {
		if s.closed.Load() {
			return Segment{}, io.EOF
		}
		if seg, ok := s.tracker.next(); ok {
			return seg, nil
		}
		p, ok := s.nextPacket()
		if !ok {
			if s.failed != nil && !s.closed.Load() {
				return Segment{}, s.failed
			}
			return Segment{}, io.EOF
		}
		if s.take(&p) == unknownLink && !s.links[p.link] {
			s.links[p.link] = true
			s.warn(fmt.Sprintf("capture %q: packets of %s cannot be read", filepath.Base(s.current.name), linkName(p.link)))
		}
	}
}

// nextPacket returns the earliest packet of all files. The file it is from is
// only moved on at the next call, since that overwrites the packet.
func (s *fileSource) nextPacket() (packet, bool) {
	if s.current != nil {
		if s.advance(s.current) {
			heap.Fix(&s.files, 0)
		} else {
			heap.Pop(&s.files)
		}
		s.current = nil
	}
	if len(s.files) == 0 {
		return packet{}, false
	}
	s.current = s.files[0]
	return s.current.head, true
}

func (s *fileSource) embeddedKeys() *KeyLog { return s.keys }

// Stats implements [Source].
func (s *fileSource) Stats() SourceStats {
	counts := s.counts()
	for _, in := range s.inputs {
		counts.ReadBytes += in.off
	}
	return counts
}

// Close implements [Source].
func (s *fileSource) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Name implements [Source].
func (s *fileSource) Name() string { return "pcap" }
