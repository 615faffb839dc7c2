//go:build linux && (amd64 || arm64)

package bpf

import (
	"fmt"

	"github.com/cilium/ebpf"
)

// Count is a number of calls or events, and their bytes.
type Count struct{ Events, Bytes uint64 }

// Counts are the kernel side's counters since the start, each by direction:
// to the server, to the client. In bytes,
//
//	Want = Have + the sum of Lost
type Counts struct {
	// Want is what was moved on wanted streams, Have what was put into the
	// data ring.
	Want, Have [2]Count
	// Lost is what was not, by reason: see [Reasons].
	Lost map[string][2]Count
	// Filtered calls were on sockets that the filters leave out.
	Filtered [2]Count
	// Unread bytes came and their process closed the connection without
	// reading them. Unbound are bytes of TLS libraries without a connection.
	Unread, Unbound [2]Count
	// ControlFull is the number of events that found the control ring full,
	// ConnsFull that of connections that found the table full.
	ControlFull, ConnsFull uint64
	// Compat calls were of 32-bit processes, IOURing calls of io_uring_enter by
	// processes that the filters admit, MPTCP calls on sockets of that
	// protocol: not followed.
	Compat, IOURing, MPTCP Count
}

// Reasons are the names of the reasons for which bytes of a wanted stream are
// not in the data ring, in the order of events.h from COUNT_RING_FULL on.
func Reasons() []string {
	return []string{"ring_full", "efault", "cap", "iov_limit", "ladder", "sendfile", "splice", "discarded", "raw_tls"}
}

// reasonOf names a reason by its index in events.h.
func reasonOf(i uint32) string {
	names := Reasons()
	if i < countRingFull || i >= uint32(countRingFull+len(names)) {
		return ""
	}
	return names[i-countRingFull]
}

// Indices of events.h.
const (
	countWant = iota
	countHave
	countRingFull
	countFiltered    = 11
	countControlFull = 12
	countConnsFull   = 13
	countCompat      = 14
	countIOURing     = 15
	countMPTCP       = 16
	countUnread      = 17
	countUnbound     = 18
	countMax         = 24
)

// readCounts sums the counters over the CPUs.
func readCounts(m *ebpf.Map) (Counts, error) {
	var sums [countMax][2]Count
	var each []Count
	for i := range countMax {
		for d := range 2 {
			if err := m.Lookup(uint32(2*i+d), &each); err != nil {
				return Counts{}, fmt.Errorf("read counters: %w", err)
			}
			for _, c := range each {
				sums[i][d].Events += c.Events
				sums[i][d].Bytes += c.Bytes
			}
		}
	}
	both := func(i int) Count {
		return Count{sums[i][0].Events + sums[i][1].Events, sums[i][0].Bytes + sums[i][1].Bytes}
	}
	c := Counts{
		Want: sums[countWant], Have: sums[countHave], Filtered: sums[countFiltered],
		Unread: sums[countUnread], Unbound: sums[countUnbound],
		ControlFull: both(countControlFull).Events, ConnsFull: both(countConnsFull).Events,
		Compat: both(countCompat), IOURing: both(countIOURing), MPTCP: both(countMPTCP),
		Lost: make(map[string][2]Count),
	}
	for i, name := range Reasons() {
		if sum := sums[countRingFull+i]; sum != [2]Count{} {
			c.Lost[name] = sum
		}
	}
	return c, nil
}
