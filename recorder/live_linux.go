package recorder

import (
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
	// mu is held by Next and by Close, once it has made Next return.
	mu     sync.Mutex
	closed atomic.Bool
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
		if s.closed.Load() {
			return Segment{}, io.EOF
		}
		if p, ok := s.ring.next(); ok {
			s.buf = append(s.buf[:0], p.data...)
			p.data = s.buf
			s.take(&p)
			continue
		}
		now := time.Now()
		if !now.Before(deadline) {
			return Segment{Time: now.UnixNano()}, ErrTick
		}
		if err := s.ring.wait(deadline.Sub(now) + time.Millisecond); err != nil {
			return Segment{}, fmt.Errorf("capture on %q: %w", s.name, err)
		}
	}
}

// Stats implements [Source].
func (s *liveSource) Stats() SourceStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed.Load() {
		s.stats.KernelDrops += s.ring.drops()
	}
	return s.counts()
}

// Close implements [Source].
func (s *liveSource) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	errs := []error{s.ring.interrupt()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.KernelDrops += s.ring.drops()
	return errors.Join(append(errs, s.ring.close())...)
}
