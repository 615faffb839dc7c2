package sanitizer

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

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

// enqueue gives the answer to the tokenizer: its features follow the record
// later, which does not wait for them. It reports false where the tokenizer
// has too much to do and the traffic does not wait.
func (s *Sanitizer) enqueue(features *trace.Features, texts [][]byte) bool {
	j := &job{features: features, texts: texts, done: make(chan struct{})}
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

// settle writes the features of the answers that have been counted, in order.
func (s *Sanitizer) settle() error {
	for len(s.pending) > 0 && isDone(s.pending[0]) {
		if err := s.finishFirst(); err != nil {
			return err
		}
	}
	return nil
}

// closeWait is how long the end of live traffic waits for the tokenizer: as
// long as a vocabulary takes to load on a busy machine.
const closeWait = time.Second

// settleAll writes those of all answers. It waits for them, but at the end of
// live traffic not long.
func (s *Sanitizer) settleAll() error {
	var late <-chan time.Time
	if s.cfg.Live {
		timer := time.NewTimer(closeWait)
		defer timer.Stop()
		late = timer.C
	}
	for len(s.pending) > 0 {
		select {
		case <-s.pending[0].done:
			if err := s.finishFirst(); err != nil {
				return err
			}
		case <-late:
			late = nil
			for _, j := range s.pending {
				j.abandoned.Store(true)
			}
		}
	}
	return nil
}

// finishFirst writes the features of the oldest answer, which was counted or
// given up.
func (s *Sanitizer) finishFirst() error {
	j := s.pending[0]
	s.pending = s.pending[1:]
	if j.stats != nil {
		j.stats.Fill(j.features)
	} else if j.abandoned.Load() {
		s.count.abandoned++
	}
	if err := s.out.WriteFeatures(j.features); err != nil {
		return fmt.Errorf("write features: %w", err)
	}
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
	failed := s.settle()
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
	failed := s.settleAll()
	s.worker.stop()
	if err := s.targets.stop(); err != nil {
		failed = cmp.Or(failed, err)
	}
	hashes, warnings := s.targets.take(), s.warnings()
	s.keys.wipe()
	err := s.out.SetManifest(func(m *trace.Manifest) {
		m.CapturedTargets = append(m.CapturedTargets, hashes...)
		m.Losses = s.losses
		m.NullReasons = withReasons(m.NullReasons, s.cfg.Mode)
		m.Warnings = append(m.Warnings, warnings...)
	})
	if err != nil {
		err = fmt.Errorf("write totals: %w", err)
	}
	return cmp.Or(failed, err)
}

// withReasons says why columns of every record are NULL.
func withReasons(reasons map[string]string, mode trace.Mode) map[string]string {
	if reasons == nil {
		reasons = make(map[string]string)
	}
	if mode == trace.ModeFiller {
		return reasons
	}
	for _, column := range []string{"tokenizer_id", "template_overhead_tokens"} {
		if _, ok := reasons[column]; !ok {
			reasons[column] = "prompts are not tokenized at capture"
		}
	}
	return reasons
}

// warnings tells what was forgotten or given up.
func (s *Sanitizer) warnings() []string {
	list := append(s.refused.warnings(), s.bodies.warnings(s.cfg.Mode)...)
	for _, w := range []struct {
		n    int64
		text string
	}{
		{s.chain.numbers.forgotten, "%d prefix blocks were forgotten: content that came again much later has new block ids"},
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
