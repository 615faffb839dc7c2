package bpf

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
	// ControlFull is the number of events that found the control ring full and
	// are told in other ways, EndsLost that of starts and ends that are told in
	// none, ConnsFull that of connections that found the table full.
	ControlFull, EndsLost, ConnsFull uint64
	// Compat calls were of 32-bit processes, IOURing calls of io_uring_enter by
	// processes that the filters admit, MPTCP calls on sockets of that
	// protocol: not followed.
	Compat, IOURing, MPTCP Count
	// QUIC are datagrams of UDP servers on port 443.
	QUIC [2]Count
	// Stray bytes are of calls whose descriptor had been given to another
	// connection when they ended.
	Stray Count
}

// Reasons are the names of the reasons for which bytes of a wanted stream are
// not in the data ring, in the order of events.h from COUNT_RING_FULL on.
func Reasons() []string {
	return []string{"ring_full", "efault", "cap", "iov_limit", "ladder", "sendfile", "splice", "discarded", "raw_tls", "foreign", "ignored"}
}

// firstReason is COUNT_RING_FULL of events.h.
const firstReason = 2

// reasonOf names a reason by its index in events.h.
func reasonOf(i uint32) string {
	names := Reasons()
	if i < firstReason || i >= uint32(firstReason+len(names)) {
		return ""
	}
	return names[i-firstReason]
}
