package recorder

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/lambdac/lambdac/bpf"
)

// maxBlind bounds the processes and ports that are told apart.
const maxBlind = 256

// handshakeBytes is what opening a connection takes at most, as a rule. One that
// a library was seen to open, and that moved no more, was never used.
const handshakeBytes = 16 << 10

// ebpfBlind counts, by process and port, the bytes of connections that were
// seen and not read.
type ebpfBlind struct {
	tls  map[blindKey]int64
	rest int64
	// all is the sum.
	all int64
}

type blindKey struct {
	comm string
	port uint16
	why  string
}

// add counts a connection that ended and whose raw bytes were left alone.
func (b *ebpfBlind) add(c *ebpfConn, pos [2]int64, why string) {
	if !c.encrypted || c.read() || len(c.streams) > 0 && pos[0]+pos[1] <= handshakeBytes {
		return
	}
	b.all += pos[0] + pos[1]
	key := blindKey{c.comm, c.info.Server.Port(), why}
	if b.tls == nil {
		b.tls = make(map[blindKey]int64)
	}
	if _, known := b.tls[key]; !known && len(b.tls) >= maxBlind {
		b.rest += pos[0] + pos[1]
		return
	}
	b.tls[key] += pos[0] + pos[1]
}

// warnings names what was not read, most bytes first.
func (b *ebpfBlind) warnings() []string {
	const named = 8
	keys := slices.SortedFunc(maps.Keys(b.tls), func(x, y blindKey) int {
		return cmp.Or(cmp.Compare(b.tls[y], b.tls[x]), cmp.Compare(x.comm, y.comm), cmp.Compare(x.port, y.port))
	})
	var list []string
	rest := b.rest
	for i, key := range keys {
		if i >= named {
			rest += b.tls[key]
			continue
		}
		list = append(list, fmt.Sprintf("%d bytes of TLS were not read: process %q, port %d: %s", b.tls[key], key.comm, key.port, key.why))
	}
	if rest > 0 {
		list = append(list, fmt.Sprintf("%d bytes of TLS were not read: other processes and ports", rest))
	}
	return list
}

// unreadSoFar are the bytes of which no segments were made.
func (s *ebpfSource) unreadSoFar() (sums map[string]int64, last int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts, err := s.countsNow()
	if err != nil {
		return nil, 0
	}
	sums = make(map[string]int64)
	if s.tls != nil {
		// What libraries made of the others was read: they are no loss.
		sums["tls"] = s.blind.all
	} else {
		for _, n := range counts.Lost["raw_tls"] {
			sums["tls"] += int64(n.Bytes)
		}
	}
	for d := range 2 {
		sums["unread"] += int64(counts.Unread[d].Bytes)
		sums["quic"] += int64(counts.QUIC[d].Bytes)
	}
	return sums, s.clock.now()
}

// countsNow reads the kernel's counters; after the end it has their last
// values.
func (s *ebpfSource) countsNow() (bpf.Counts, error) {
	if s.done {
		return s.counts, nil
	}
	return s.kernel.Counts()
}

func (s *ebpfSource) warnings(c *bpf.Counts) []string {
	list := append(s.blind.warnings(), s.tlsWarnings(c)...)
	for _, w := range []struct {
		n    uint64
		text string
	}{
		{uint64(s.unseen), "%d bytes were moved by ways that are not seen, such as io_uring"},
		{c.IOURing.Events * uint64(min(s.unseen, 1)), "%d calls of io_uring were made by processes that the filters admit"},
		{c.Compat.Events, "%d calls of 32-bit processes were not read"},
		{c.Stray.Bytes, "%d bytes were left out: while their calls ran, the descriptor was given to another connection"},
		{c.MPTCP.Events, "%d calls on MPTCP connections were not read"},
		{c.ControlFull, "%d events of connections found the control ring full: some ends have the time at which the connection was closed (a larger --ring has a larger one)"},
		{c.EndsLost, "%d starts and ends of connections were lost: what was open then is cut"},
		{c.ConnsFull, "%d connections were not followed: too many at a time"},
	} {
		if w.n > 0 {
			list = append(list, fmt.Sprintf(w.text, w.n))
		}
	}
	if w := s.clock.warning(); w != "" {
		list = append(list, w)
	}
	return list
}
