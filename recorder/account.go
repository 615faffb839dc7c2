package recorder

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lambdac/lambdac/trace"
)

// windowNs is the length of one row of the capture table.
const windowNs = int64(1e9)

// blindPrefix marks, in lost_by_reason, bytes that were seen and not
// understood; they are not part of bytes_lost.
const blindPrefix = "blind:"

// account counts what was seen and what was not, second by second on the
// capture's clock.
type account struct {
	sink   Sink
	source string
	w      trace.CaptureWindow
	totals trace.LossTotals
	open   int64
	// first and last are the ends of the capture, Unix ns; 0 = nothing seen.
	first, last int64
	faults      map[string]int64
	late        int64
	// unread are the source's counts of bytes that it saw and made no segments
	// of, nil if it has none; unreadSeen what of them is in the rows.
	unread     func() (bytes map[string]int64, last int64)
	unreadSeen map[string]int64
	// ladder is how far the source went in keeping less since it was asked
	// last; nil = it does not.
	ladder func() int32
}

func newAccount(sink Sink, source string) account {
	return account{sink: sink, source: source, faults: make(map[string]int64)}
}

// tick tells the time and closes the row of a second that has passed. Time
// that goes back, as between files, stays in the open row.
func (a *account) tick(t int64) error {
	a.last = max(a.last, t)
	if a.first == 0 {
		a.first = t
		a.w.WindowStartUnixNs = t - t%windowNs
	}
	if t < a.w.WindowStartUnixNs+windowNs {
		return nil
	}
	err := a.flush()
	a.w.WindowStartUnixNs = t - t%windowNs
	return err
}

// flush hands the open row over, unless nothing happened in it.
func (a *account) flush() error {
	a.takeUnread()
	if a.ladder != nil {
		a.w.LadderStep = max(a.w.LadderStep, a.ladder())
	}
	w := a.w
	a.w = trace.CaptureWindow{WindowStartUnixNs: w.WindowStartUnixNs}
	if w.BytesSeen == 0 && w.BytesLost == 0 && w.ExchangesSeen == 0 && w.Unpaired == 0 && a.open == a.totals.OpenAtEnd {
		return nil
	}
	w.Source, w.WindowNs, w.OpenAtEnd = a.source, windowNs, a.open
	if err := a.sink.Window(&w); err != nil {
		return fmt.Errorf("take capture window: %w", err)
	}
	a.totals.Add(&w)
	return nil
}

// takeUnread counts what the source alone has seen: bytes that carry no stream
// that we could follow.
func (a *account) takeUnread() {
	if a.unread == nil {
		return
	}
	sums, last := a.unread()
	for reason, sum := range sums {
		n := sum - a.unreadSeen[reason]
		if n == 0 {
			continue
		}
		if a.first == 0 { // nothing else was seen
			a.first, a.last = last, last
			a.w.WindowStartUnixNs = last - last%windowNs
		}
		if a.unreadSeen == nil {
			a.unreadSeen = make(map[string]int64)
		}
		a.unreadSeen[reason] = sum
		a.saw(n)
		a.blind(reason, n)
	}
}

func (a *account) saw(n int64) { a.w.BytesSeen += n }

// lost counts bytes that the capture missed.
func (a *account) lost(reason string, n int64) {
	a.w.BytesSeen += n
	a.w.BytesLost += n
	a.because(reason, n)
}

// blind counts bytes of a protocol that is not read.
func (a *account) blind(reason string, n int64) { a.because(blindPrefix+reason, n) }

func (a *account) because(reason string, n int64) {
	if a.w.LostByReason == nil {
		a.w.LostByReason = make(map[string]int64)
	}
	a.w.LostByReason[reason] += n
}

// fault counts messages that could not be followed.
func (a *account) fault(reason string) { a.faults[reason]++ }

// warnings says in words what a reader of the trace should know.
func (a *account) warnings() []string {
	var list []string
	for _, reason := range slices.Sorted(maps.Keys(a.totals.LostByReason)) {
		n := a.totals.LostByReason[reason]
		if what, blind := cutPrefix(reason); blind {
			list = append(list, fmt.Sprintf("%d bytes were not read: %s", n, what))
		} else {
			list = append(list, fmt.Sprintf("%d bytes were not captured: %s", n, what))
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(a.faults)) {
		list = append(list, fmt.Sprintf("%d times not as the format has it: %s", a.faults[reason], reason))
	}
	if a.totals.Unpaired > 0 {
		list = append(list, fmt.Sprintf("%d answers belong to no request that was seen", a.totals.Unpaired))
	}
	if a.late > 0 {
		list = append(list, fmt.Sprintf("%d events came after their stream's end mark", a.late))
	}
	return list
}

func cutPrefix(reason string) (string, bool) {
	if len(reason) > len(blindPrefix) && reason[:len(blindPrefix)] == blindPrefix {
		return reason[len(blindPrefix):], true
	}
	return reason, false
}
