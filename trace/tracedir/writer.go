package tracedir

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/lambdac/lambdac/trace"
)

const (
	defaultMaxPartBytes = 64 << 20
	defaultHost         = "local"
)

// Options say how a directory is written. The zero value is right for
// everything but a live recording.
type Options struct {
	// Force empties an existing trace directory first.
	Force bool
	// Live closes a complete part every second and folds parts as they age,
	// so that a kill loses one second at most.
	Live bool
	// Host names the writer in part names, as a pseudonym: letters, digits,
	// '_', '.', '-'. Writers of one directory need different hosts. Empty =
	// "local".
	Host string
	// MaxPartBytes is the size that parts grow to; 0 = 64 MiB.
	MaxPartBytes int64
}

// Writer fills a trace directory. It is safe for concurrent use.
//
// The first error of the disk ends it: that error is returned by every call
// from then on, the open part is removed, and what was closed before stays
// readable. A refused row ([ErrNotFinite]) does not end it.
type Writer struct {
	path    string
	options Options

	// mu guards what follows, and the gathered rows of the tables.
	mu       sync.Mutex
	manifest *trace.Manifest
	failed   error
	closed   bool
	complete bool  // all parts are closed
	bytes    int64 // about the memory of the rows gathered

	requests  *table[trace.Record]
	features  *table[trace.Features]
	bodies    *table[trace.Body]
	capture   *table[trace.CaptureWindow]
	telemetry *table[trace.Sample]

	live  *live // nil when not live
	seams seams
}

// seams are where a test reaches in.
type seams struct {
	create func(path string) (partFile, error)
	// ticks end the open second; nil = a clock.
	ticks <-chan time.Time
	// at is told of the stages that a crash can fall between: taken, closed,
	// folded, removed.
	at func(stage string)
}

func noSeams() seams { return seams{create: createFile, at: func(string) {}} }

// Create makes a trace directory and writes its manifest, which must carry a
// seal; schema, schema version and a missing trace id are filled in. A
// directory that is not empty is refused with [fs.ErrExist] unless
// Options.Force empties it, which it does only where everything in it could
// be part of a trace.
//
// Close the Writer in any case.
func Create(path string, m *trace.Manifest, o Options) (*Writer, error) {
	return create(path, m, o, noSeams())
}

func create(path string, m *trace.Manifest, o Options, s seams) (*Writer, error) {
	if o.Host == "" {
		o.Host = defaultHost
	}
	if o.MaxPartBytes == 0 {
		o.MaxPartBytes = defaultMaxPartBytes
	}
	if err := checkHost(o.Host); err != nil {
		return nil, err
	}
	if err := m.CheckSeal(); err != nil {
		return nil, err
	}
	if err := prepare(path, o.Force); err != nil {
		return nil, fmt.Errorf("create trace %q: %w", path, err)
	}
	w := newWriter(path, m, o, s)
	if err := w.writeManifest(); err != nil {
		return nil, fmt.Errorf("create trace %q: %w", path, err)
	}
	if o.Live {
		w.live = startLive(w)
	}
	return w, nil
}

func newWriter(path string, m *trace.Manifest, o Options, s seams) *Writer {
	w := &Writer{path: path, options: o, manifest: completed(m), seams: s}
	w.requests = newTable(w, tableRequests, func(r *trace.Record) int64 { return r.StartUnixNs })
	w.features = newTable[trace.Features](w, tableFeatures, nil)
	w.bodies = newTable[trace.Body](w, tableBodies, nil)
	w.capture = newTable(w, tableCapture, func(c *trace.CaptureWindow) int64 { return c.WindowStartUnixNs })
	w.telemetry = newTable(w, tableTelemetry, func(s *trace.Sample) int64 { return s.AtUnixNs })
	return w
}

// Write stores one exchange with its features and bodies, and takes ownership
// of it. It sets StartTS. A NaN or an infinity is refused with
// [ErrNotFinite], and nothing of the exchange is written.
func (w *Writer) Write(r *trace.Record) error {
	if err := checkRecord(r); err != nil {
		return err
	}
	r.StartTS = floorDiv(r.StartUnixNs, 1000)
	return w.add(recordBytes(r), func() error {
		if r.Features != nil {
			r.Features.RequestID, r.Features.Level = r.RequestID, r.Level
			if err := gather(w, w.features, *r.Features); err != nil {
				return err
			}
		}
		for _, b := range r.Bodies {
			b.RequestID = r.RequestID
			if err := gather(w, w.bodies, b); err != nil {
				return err
			}
		}
		return gather(w, w.requests, *r)
	})
}

// WriteFeatures stores the features of an exchange that was written without:
// they may take longer to make than the exchange may wait.
func (w *Writer) WriteFeatures(f *trace.Features) error {
	if err := checkFeatures(f); err != nil {
		return err
	}
	return w.add(featuresBytes, func() error { return gather(w, w.features, *f) })
}

// WriteBody stores one text of an exchange that was written without.
func (w *Writer) WriteBody(b *trace.Body) error {
	return w.add(int64(len(b.Body)+4*len(b.DeltaBytes)), func() error { return gather(w, w.bodies, *b) })
}

// WriteCapture stores one row of the capture table.
func (w *Writer) WriteCapture(c *trace.CaptureWindow) error {
	return w.add(smallRowBytes, func() error { return gather(w, w.capture, *c) })
}

// WriteSample stores one row of the telemetry table. A value that is not
// finite is refused with [ErrNotFinite].
func (w *Writer) WriteSample(s *trace.Sample) error {
	if err := checkSample(s); err != nil {
		return err
	}
	return w.add(smallRowBytes, func() error { return gather(w, w.telemetry, *s) })
}

// add runs one write under the lock, and closes a live part early where much
// was gathered: a flood costs more parts, not more memory.
func (w *Writer) add(bytes int64, write func() error) error {
	w.mu.Lock()
	err := w.usable()
	if err == nil {
		err = w.note(write())
	}
	w.bytes += bytes
	roll := w.live != nil && err == nil && w.bytes >= maxGathered
	w.mu.Unlock()
	if roll {
		return w.roll()
	}
	return err
}

// gather adds a row to its table. The caller holds w.mu.
func gather[T any](w *Writer, t *table[T], row T) error {
	t.rows = append(t.rows, row)
	if w.live != nil || len(t.rows) < batchRows {
		return nil
	}
	return flush(w, t)
}

func flush[T any](w *Writer, t *table[T]) error {
	if len(t.rows) == 0 {
		return nil
	}
	err := t.append(t.rows, w.options.MaxPartBytes, metadata(filepath.Base(t.dir), w.manifest))
	clear(t.rows)
	t.rows = t.rows[:0]
	return err
}

// usable returns why nothing more can be written, or nil. The caller holds mu.
func (w *Writer) usable() error {
	if w.failed != nil {
		return w.failed
	}
	if w.closed {
		return fmt.Errorf("write trace %q: %w", w.path, os.ErrClosed)
	}
	return nil
}

// note keeps the first error of the disk. The caller holds mu.
func (w *Writer) note(err error) error {
	if err != nil && w.failed == nil {
		w.failed = fmt.Errorf("write trace %q: %w", w.path, err)
	}
	return w.failed
}

// Close completes the last parts, folds a live recording's parts, and returns
// the Writer's first error. The manifest is left as it was last set, but for
// the word of a clean end where there was an error. A second call does nothing.
func (w *Writer) Close() error {
	if w.live != nil {
		return w.closeLive()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.failed
	}
	w.closed = true
	if w.failed == nil {
		w.note(cmp.Or(w.endAll()...))
	}
	w.abandon()
	w.confirm()
	return w.failed
}

func (w *Writer) endAll() []error {
	return []error{endTable(w, w.bodies), endTable(w, w.features), endTable(w, w.requests), endTable(w, w.capture), endTable(w, w.telemetry)}
}

func endTable[T any](w *Writer, t *table[T]) error {
	if err := flush(w, t); err != nil {
		return err
	}
	return t.end(metadata(filepath.Base(t.dir), w.manifest))
}

// abandon removes what is unfinished.
func (w *Writer) abandon() {
	w.note(cmp.Or(w.bodies.out.abandon(), w.features.out.abandon(), w.requests.out.abandon(),
		w.capture.out.abandon(), w.telemetry.out.abandon()))
}

const (
	smallRowBytes = 256
	featuresBytes = 2048
)

// recordBytes is about the memory that an exchange takes.
func recordBytes(r *trace.Record) int64 {
	n := 2048 + 32*len(r.Chunks) + 8*len(r.PrefixBlockIDs) + 8*len(r.Messages)
	for i := range r.Bodies {
		n += len(r.Bodies[i].Body) + 4*len(r.Bodies[i].DeltaBytes)
	}
	return int64(n)
}

// floorDiv is a ÷ b rounded down, also for times before the epoch.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
