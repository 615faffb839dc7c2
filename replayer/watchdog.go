package replayer

import (
	"context"
	"sync"
	"time"
)

// watchdog cancels one request when one of its deadlines passes. It has one
// timer that is not touched by each event: when it fires it looks at what was
// seen since, and sleeps on. A nil watchdog has no deadlines.
type watchdog struct {
	limits Timeouts
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer
	began time.Time
	last  time.Time // the last byte after the head; zero before the head
	token bool
	ended bool
}

func watch(limits Timeouts, cancel context.CancelCauseFunc) *watchdog {
	if limits == (Timeouts{}) {
		return nil
	}
	w := &watchdog{limits: limits, cancel: cancel, began: time.Now()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(time.Hour, w.look)
	w.arm(w.began)
	return w
}

// look cancels if a deadline has passed, else sleeps until the next.
func (w *watchdog) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	now := time.Now()
	if at, cause := w.next(); cause != nil && !now.Before(at) {
		w.cancel(cause)
		return
	}
	w.arm(now)
}

func (w *watchdog) arm(now time.Time) {
	if at, cause := w.next(); cause != nil {
		w.timer.Reset(at.Sub(now))
		return
	}
	w.timer.Stop()
}

// next is the nearest deadline; a nil cause = none.
func (w *watchdog) next() (at time.Time, cause error) {
	consider := func(limit time.Duration, from time.Time, why error) {
		if end := from.Add(limit); limit > 0 && (cause == nil || end.Before(at)) {
			at, cause = end, why
		}
	}
	consider(w.limits.Total, w.began, errTotal)
	if !w.token {
		consider(w.limits.FirstToken, w.began, errFirstToken)
	}
	if !w.last.IsZero() {
		consider(w.limits.Idle, w.last, errIdle)
	}
	return at, cause
}

// head tells that the answer's head has come: waits between bytes count now.
func (w *watchdog) head(now time.Time) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = now
	w.arm(now)
}

// heard tells that bytes have come, and whether a token has.
func (w *watchdog) heard(now time.Time, token bool) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last, w.token = now, w.token || token
}

func (w *watchdog) stop() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	w.timer.Stop()
}
