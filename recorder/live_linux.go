package recorder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// liveSource captures from a network interface.
type liveSource struct {
	intake
	name string
	ring *ring
	// buf is a copy of the packet in use: the ring's memory goes with Close,
	// which may come from another goroutine.
	buf []byte
	// mu is held by Next and by Close, once it has made Next return. closed
	// says that Close was called, done that it has taken the ring away and
	// put what was in it into rest.
	mu     sync.Mutex
	closed atomic.Bool
	done   bool
	rest   []packet
}

// OpenInterface captures TCP to and from the ports (none = all) on a network
// interface, or on all for "any". Packets carry the kernel's time, in
// nanoseconds. It needs CAP_NET_RAW; without it the error matches
// fs.ErrPermission.
func OpenInterface(name string, ports []int) (Source, error) {
	ifindex, err := interfaceIndex(name)
	if err != nil {
		return nil, err
	}
	r, err := openRing(ifindex, liveFilter(ports))
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("open interface %q: %w; run as root, or once: setcap cap_net_raw+ep PATH-OF-LAMBDAC", name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open interface %q: %w", name, err)
	}
	return &liveSource{name: name, ring: r, intake: intake{tracker: newTracker(ports)}}, nil
}

// interfaceIndex is 0 for "any".
func interfaceIndex(name string) (int, error) {
	if name == "any" {
		return 0, nil
	}
	face, err := net.InterfaceByName(name)
	if err == nil {
		return face.Index, nil
	}
	names := []string{"any"}
	if all, err := net.Interfaces(); err == nil {
		for _, f := range all {
			names = append(names, f.Name)
		}
	}
	return 0, fmt.Errorf("open interface %q: %w; there are: %s", name, err, strings.Join(names, ", "))
}

// Name implements [Source].
func (s *liveSource) Name() string { return "live" }

// Next implements [Source].
func (s *liveSource) Next() (Segment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	deadline := time.Now().Add(tickEvery)
	for {
		if seg, ok := s.tracker.next(); ok {
			return seg, nil
		}
		if p, ok := s.packet(); ok {
			s.take(&p)
			continue
		}
		if s.done {
			return Segment{}, io.EOF
		}
		now := time.Now()
		if !now.Before(deadline) || s.closed.Load() {
			return Segment{Time: now.UnixNano()}, ErrTick
		}
		if err := s.ring.wait(deadline.Sub(now) + time.Millisecond); err != nil {
			return Segment{}, fmt.Errorf("capture on %q: %w", s.name, err)
		}
	}
}

// packet returns the next packet, from the ring or from what it left.
func (s *liveSource) packet() (p packet, ok bool) {
	if s.done {
		if len(s.rest) == 0 {
			return packet{}, false
		}
		p, s.rest = s.rest[0], s.rest[1:]
		return p, true
	}
	if p, ok = s.ring.next(); ok {
		s.buf = append(s.buf[:0], p.data...)
		p.data = s.buf
	}
	return p, ok
}

// Stats implements [Source].
func (s *liveSource) Stats() SourceStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.done {
		s.stats.KernelDrops += s.ring.drops()
	}
	return s.counts()
}

// Close implements [Source]. What was captured before it can still be read.
func (s *liveSource) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	errs := []error{s.ring.interrupt()}
	s.mu.Lock()
	defer s.mu.Unlock()
	// The kernel hands over a block that is not full after ringRetireMs.
	time.Sleep(2 * ringRetireMs * time.Millisecond)
	for p, ok := s.ring.next(); ok; p, ok = s.ring.next() {
		p.data = bytes.Clone(p.data)
		s.rest = append(s.rest, p)
	}
	s.stats.KernelDrops += s.ring.drops()
	s.done = true
	return errors.Join(append(errs, s.ring.close())...)
}
