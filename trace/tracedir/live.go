package tracedir

import (
	"errors"
	"path/filepath"
	"sync"
	"time"
)

const (
	// livePeriod is how long a live part stays open: a little less than the
	// second that is promised, for the time it takes to close it.
	livePeriod = 900 * time.Millisecond
	// maxGathered is about how much memory the open second may take before it
	// is closed early.
	maxGathered = 16 << 20
)

// live closes parts by the clock and folds them. Its goroutines end with
// stop: the clock's, which only closes parts, and the folder's, which may
// take seconds for one fold and shares no lock with the first but that of the
// list of parts.
type live struct {
	stop  chan struct{}
	wake  chan struct{} // there may be something to fold
	done  sync.WaitGroup
	close sync.Mutex // held while parts are closed; taken before Writer.mu
	next  int        // number of the next part; guarded by close
}

func startLive(w *Writer) *live {
	l := &live{stop: make(chan struct{}), wake: make(chan struct{}, 1)}
	l.done.Go(func() { w.closeBySecond(l) })
	l.done.Go(func() { w.foldAsTheyAge(l) })
	return l
}

func (w *Writer) closeBySecond(l *live) {
	ticks := w.seams.ticks
	if ticks == nil {
		ticker := time.NewTicker(livePeriod)
		defer ticker.Stop()
		ticks = ticker.C
	}
	for {
		select {
		case <-l.stop:
			return
		case <-ticks:
			if w.rollWith(l) != nil {
				return
			}
		}
	}
}

func (w *Writer) roll() error { return w.rollWith(w.live) }

// rollWith closes what was gathered as one part per table. Writing goes on
// meanwhile, into new memory.
func (w *Writer) rollWith(l *live) error {
	l.close.Lock()
	defer l.close.Unlock()
	closeAll := w.takeAll(l.next)
	if closeAll == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.failed
	}
	l.next++
	err := closeAll()
	w.seams.at("closed")
	select {
	case l.wake <- struct{}{}:
	default:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.note(err)
}

// takeAll takes the gathered rows of all tables at one moment, and returns
// what closes them; nil where there are none.
func (w *Writer) takeAll(number int) (closeAll func() error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil || w.bytes == 0 {
		return nil
	}
	w.bytes = 0
	w.seams.at("taken")
	tables := []func() error{
		takeTable(w, w.bodies, number), takeTable(w, w.features, number), takeTable(w, w.requests, number),
		takeTable(w, w.capture, number), takeTable(w, w.telemetry, number),
	}
	return func() error {
		for _, closeTable := range tables {
			if err := closeTable(); err != nil {
				return err
			}
		}
		return nil
	}
}

func takeTable[T any](w *Writer, t *table[T], number int) func() error {
	rows := t.take()
	kv := metadata(filepath.Base(t.dir), w.manifest)
	return func() error {
		err := t.closePart(rows, number, kv)
		clear(rows)
		w.mu.Lock()
		t.spare = rows[:0]
		w.mu.Unlock()
		return err
	}
}

func (w *Writer) foldAsTheyAge(l *live) {
	for {
		select {
		case <-l.stop:
			return
		case <-l.wake:
			if w.foldAll(false) != nil {
				return
			}
		}
	}
}

// foldAll folds every table; all = for good, at the end.
func (w *Writer) foldAll(all bool) error {
	err := errors.Join(foldTable(w, w.bodies, all), foldTable(w, w.features, all), foldTable(w, w.requests, all),
		foldTable(w, w.capture, all), foldTable(w, w.telemetry, all))
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.note(err)
}

func foldTable[T any](w *Writer, t *table[T], all bool) error {
	w.mu.Lock()
	kv := metadata(filepath.Base(t.dir), w.manifest)
	w.mu.Unlock()
	return t.fold(w.options.MaxPartBytes, all, kv, w.seams.at)
}

// closeLive ends a live writer.
func (w *Writer) closeLive() error {
	w.mu.Lock()
	again := w.closed
	w.closed = true
	w.mu.Unlock()
	if !again {
		close(w.live.stop)
	}
	w.live.done.Wait()
	if again {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.failed
	}
	if w.roll() == nil {
		_ = w.foldAll(true) // noted
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.abandon()
	w.confirm()
	return w.failed
}
