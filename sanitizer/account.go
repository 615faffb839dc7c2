package sanitizer

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

var errClosed = errors.New("the sanitizer is closed")

// counts are those of the open window.
type counts struct {
	written, dropped, unwritten int64
	abandoned                   int64 // over the whole trace
}

// write hands a record on. The error is the output's: the disk is full, say.
func (s *Sanitizer) write(rec *trace.Record) error {
	if err := s.out.Write(rec); err != nil {
		s.count.unwritten++
		return fmt.Errorf("write record: %w", err)
	}
	s.count.written++
	return nil
}

// enqueue gives the answer to the tokenizer. It reports false where that has
// too much to do and the traffic does not wait.
func (s *Sanitizer) enqueue(rec *trace.Record, texts [][]byte) bool {
	j := &job{rec: rec, texts: texts, done: make(chan struct{})}
	if s.cfg.Live {
		select {
		case s.worker.jobs <- j:
		default:
			s.count.abandoned++
			return false
		}
	} else {
		s.worker.jobs <- j
	}
	s.pending = append(s.pending, j)
	return true
}

// settle writes the records whose answers have been counted, in order. With
// all it leaves none: it waits, or where the traffic does not, writes the rest
// without those numbers.
func (s *Sanitizer) settle(all bool) error {
	for len(s.pending) > 0 {
		j := s.pending[0]
		switch {
		case isDone(j):
		case !all:
			return nil
		case s.cfg.Live:
			j.abandoned.Store(true)
			s.count.abandoned++
			s.pending = s.pending[1:]
			if err := s.write(j.rec); err != nil {
				return err
			}
			continue
		default:
			<-j.done
		}
		s.pending = s.pending[1:]
		if j.stats != nil {
			j.stats.fill(j.rec.Features)
		}
		if err := s.write(j.rec); err != nil {
			return err
		}
	}
	s.pending = nil
	return nil
}

func isDone(j *job) bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// Window completes the recorder's row with what was written and what was
// dropped here since the last one, and writes it. The manifest learns of hosts
// captured since.
func (s *Sanitizer) Window(w *trace.CaptureWindow) error {
	if s.closed {
		return fmt.Errorf("end window: %w", errClosed)
	}
	failed := s.settle(true)
	s.count.unwritten += int64(len(s.pending))
	s.pending = nil
	w.ExchangesWritten = s.count.written
	w.DroppedSanitizer += s.count.dropped
	w.DroppedDisk += s.count.unwritten
	s.count = counts{abandoned: s.count.abandoned}
	s.losses.Add(w)
	if err := s.out.WriteCapture(w); err != nil {
		return cmp.Or(failed, fmt.Errorf("write capture window: %w", err))
	}
	return cmp.Or(failed, s.nameTargets())
}

// nameTargets puts new hashes into the manifest.
func (s *Sanitizer) nameTargets() error {
	hashes := s.targets.take()
	if len(hashes) == 0 {
		return nil
	}
	err := s.out.SetManifest(func(m *trace.Manifest) { m.CapturedTargets = append(m.CapturedTargets, hashes...) })
	if err != nil {
		return fmt.Errorf("name captured targets: %w", err)
	}
	return nil
}

// Close writes what is still pending, the loss totals, the hashes of captured
// targets and the warnings to the manifest, ends the goroutines and wipes the
// key. It does not close the output. A second Close does nothing.
func (s *Sanitizer) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	failed := s.settle(true)
	s.worker.stop()
	if err := s.targets.stop(); err != nil {
		failed = cmp.Or(failed, err)
	}
	hashes, warnings := s.targets.take(), s.warnings()
	s.keys.wipe()
	err := s.out.SetManifest(func(m *trace.Manifest) {
		m.CapturedTargets = append(m.CapturedTargets, hashes...)
		m.Losses = s.losses
		m.NullReasons = withReasons(m.NullReasons)
		m.Warnings = append(m.Warnings, warnings...)
	})
	if err != nil {
		err = fmt.Errorf("write totals: %w", err)
	}
	return cmp.Or(failed, err)
}

// withReasons says why columns of every record are NULL.
func withReasons(reasons map[string]string) map[string]string {
	if reasons == nil {
		reasons = make(map[string]string)
	}
	for _, column := range []string{"tokenizer_id", "template_overhead_tokens"} {
		if _, ok := reasons[column]; !ok {
			reasons[column] = "prompts are not tokenized at capture"
		}
	}
	return reasons
}

// warnings tells what was forgotten or given up.
func (s *Sanitizer) warnings() (list []string) {
	for _, w := range []struct {
		n    int64
		text string
	}{
		{s.chain.known.forgotten, "%d prefix blocks were forgotten: content that came again much later has new block ids"},
		{s.retries.seen.forgotten, "%d request bodies were forgotten: late retries may be missed"},
		{s.sessions.byContent.forgotten + s.sessions.byID.forgotten, "%d session turns were forgotten: long pauses may begin a new session"},
		{s.targets.over, "%d more hosts were captured than are named in captured_targets"},
		{s.count.abandoned, "%d answers were not tokenized: the tokenizer was behind"},
		{s.count.written + s.count.dropped + s.count.unwritten, "%d exchanges came after the last window"},
	} {
		if w.n > 0 {
			list = append(list, strings.Replace(w.text, "%d", fmt.Sprint(w.n), 1))
		}
	}
	return list
}
