package recorder

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lambdac/lambdac/bpf"
)

const (
	// pollEvery is how long the reader sleeps when both rings are empty.
	pollEvery = 5 * time.Millisecond
	// settle is how far the data must be past the end of a connection before
	// the end counts, where data never runs out: longer than any CPU is held
	// between looking at the clock and taking its place in the ring.
	settle = int64(100e6)
	// busySteps is how often the clock is read while there is data.
	busySteps = 64
)

// kernel is the kernel side, running.
type kernel interface {
	// Control and Data return false where there is none now.
	Control(*bpf.Control) (bool, error)
	Data(*bpf.Data) (bool, error)
	// Fill is how full the data ring is, from 0 to 1.
	Fill() float64
	SetLadder(bpf.Step) error
	Counts() (bpf.Counts, error)
	// Detach ends the flow of events; those in the rings can still be read.
	Detach() error
	// Lengths visits the connections that are open.
	Lengths(visit func(bpf.Length)) error
	// Spilled visits the starts and ends that found the control ring full since
	// the last call.
	Spilled(visit func(*bpf.Control)) error
	// Ignore says whether a connection's bytes are counted only.
	Ignore(cookie uint64, on bool) error
	// Forget drops a connection that was closed.
	Forget(socket, cookie uint64) error
	Close() error
}

// ebpfSource makes segments of what the kernel saw processes read and write.
//
// The control ring is read after each piece of data and before the piece is
// taken, so that it finds its connection. An end waits until all data from
// before it is read: until the data ring was found empty after the end was
// read, or what is read is well past it.
type ebpfSource struct {
	// mu is held by Next and Stats.
	mu      sync.Mutex
	kernel  kernel
	clock   *bootClock
	sleep   func(time.Duration)
	conns   map[uint64]*ebpfConn
	streams map[streamKey]*ebpfConn
	// tls puts probes on libraries; nil without. side is what is asked for,
	// unboundLeft the bytes left out of streams without a connection.
	tls         tlsSide
	side        ebpfSide
	unboundLeft int64
	ids         uint64
	// ends wait in the order in which they came; lengths are those noted for the
	// one that happens.
	ends    []waitingEnd
	lengths map[*ebpfConn]bpf.Length
	out     []Segment
	sent    int
	data    bpf.Data
	holed   []*ebpfConn
	// closing are connections whose last calls may still be under way, past
	// streams of libraries whose connections are gone.
	closing, past []*ebpfConn
	healing       healing
	rung          rung
	budget        ebpfBudget
	// sideErr is the first failure to ask, or tell, the kernel side something.
	sideErr error
	// unseen counts bytes that moved by ways that are not seen.
	unseen int64
	// looked is when the state of the kernel side was looked at, busy how many
	// steps had something since the clock was.
	looked int64
	busy   int

	stats    SourceStats
	counts   bpf.Counts
	blind    ebpfBlind
	closed   atomic.Bool
	detached bool
	// probed is until when libraries had their probes, in boot time.
	probed int64
	done   bool
}

func newEBPFSource(k kernel, read func() (boot, wall int64)) *ebpfSource {
	return &ebpfSource{
		kernel: k, clock: newBootClock(read), sleep: time.Sleep, probed: math.MaxInt64,
		conns: make(map[uint64]*ebpfConn), streams: make(map[streamKey]*ebpfConn),
	}
}

// Name implements [Source].
func (s *ebpfSource) Name() string { return "ebpf" }

// Next implements [Source].
func (s *ebpfSource) Next() (Segment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	deadline := int64(math.MaxInt64)
	for {
		if s.sent < len(s.out) {
			s.sent++
			return s.out[s.sent-1], nil
		}
		s.out, s.sent = s.out[:0], 0
		if s.done {
			return Segment{}, io.EOF
		}
		idle, err := s.step()
		if err != nil {
			return Segment{}, fmt.Errorf("capture by eBPF: %w", err)
		}
		if !idle {
			continue
		}
		if s.closed.Load() {
			if err := s.end(); err != nil { // what was seen is good all the same
				s.stats.Warnings = append(s.stats.Warnings, fmt.Sprintf("the end of the recording may be incomplete: %v", err))
				s.done = true
			}
			continue
		}
		now := s.clock.now()
		deadline = min(deadline, now+int64(tickEvery))
		if err := s.expire(now); err != nil {
			return Segment{}, fmt.Errorf("capture by eBPF: %w", err)
		}
		if now >= deadline && len(s.out) == 0 {
			return Segment{Time: now}, ErrTick
		}
		s.sleep(pollEvery)
	}
}

// look looks at the state of the kernel side when it is time to. While there is
// data, the clock is read once in busySteps: its boot time takes a system call,
// a sixth of what an event costs.
func (s *ebpfSource) look() error {
	if s.busy%busySteps != 0 {
		return nil
	}
	now := s.clock.now()
	if now-s.looked < lookEvery {
		return nil
	}
	s.looked = now
	return cmp.Or(s.sideErr, s.rung.look(s.kernel, &s.budget, now), s.heal(), s.expire(s.clock.unix(s.data.Time)))
}

// step reads what there is: one piece of data, all of the control ring. idle
// says that there was nothing.
func (s *ebpfSource) step() (idle bool, err error) {
	if err := s.look(); err != nil {
		return false, err
	}
	known := len(s.ends)
	ok, err := s.kernel.Data(&s.data)
	if err := cmp.Or(err, s.readControl()); err != nil {
		return false, err
	}
	switch {
	case ok:
		s.busy++
		err := s.settleEnds(s.data.Time-settle, len(s.ends))
		s.takeData(&s.data)
		return false, err
	case known > 0: // the data ring was empty after these were read
		return false, s.settleEnds(math.MaxInt64, known)
	}
	s.busy = 0
	return len(s.ends) == 0, nil
}

func (s *ebpfSource) readControl() error {
	for {
		var c bpf.Control
		ok, err := s.kernel.Control(&c)
		if !ok || err != nil {
			return err
		}
		s.takeControl(&c)
	}
}

// takeControl takes an event of a connection; an end waits.
func (s *ebpfSource) takeControl(c *bpf.Control) {
	if s.tls != nil {
		s.tls.saw(c)
	}
	switch c.Kind {
	case bpf.Open:
		s.open(c)
	case bpf.Bind:
		s.bind(c)
	case bpf.TLS:
		if conn := s.conns[c.Cookie]; conn != nil {
			conn.encrypted, conn.encryptedAt = true, c.Time
		}
	case bpf.Code: // for s.tls alone
	default:
		s.ends = append(s.ends, waitingEnd{Control: *c, since: c.Time})
	}
}

// expire gives up what was waited for until a moment: that of the data that is
// read, or the present where there is none.
func (s *ebpfSource) expire(now int64) error {
	s.fillHoles(now)
	s.forgetPast(now - lateWait)
	s.loseMissing(now)
	return s.finishClosing(now - lateWait)
}

// end takes what is left after the last event.
func (s *ebpfSource) end() error {
	if !s.detached {
		s.detached = true
		var err error
		if s.tls != nil {
			s.probed = s.clock.boot(s.clock.now())
			err = s.tls.detach()
		}
		return cmp.Or(err, s.kernel.Detach(), s.kernel.Spilled(s.takeControl))
	}
	s.done = true
	now := s.clock.now()
	if err := s.finishClosing(now); err != nil {
		return err
	}
	for _, c := range s.holed {
		s.closeHoles(c)
	}
	for _, c := range s.streams {
		s.settleStream(c, now)
	}
	err := s.kernel.Lengths(func(l bpf.Length) {
		if c := s.conns[l.Cookie]; c != nil {
			s.addBlind(c, l.Pos)
			s.tail(c, l.Pos, l.Skipped, now)
		}
	})
	counts, countErr := s.kernel.Counts()
	s.counts = counts
	if s.tls != nil {
		err = cmp.Or(err, s.tls.close())
	}
	return cmp.Or(err, countErr, s.kernel.Close())
}

// Close implements [Source]. What was captured before it can still be read:
// Next goes on to the end of it.
func (s *ebpfSource) Close() error {
	s.closed.Store(true)
	return nil
}

// clockSource is the value of the column clock_source: system calls, stamped
// by the kernel.
func (s *ebpfSource) clockSource() string { return "boottime" }

// emit hands out a segment.
func (s *ebpfSource) emit(seg Segment) {
	s.stats.Segments++
	s.out = append(s.out, seg)
}

// Stats implements [Source].
func (s *ebpfSource) Stats() SourceStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	counts, err := s.countsNow()
	if err != nil {
		st.Warnings = []string{"the kernel's counters could not be read: " + err.Error()}
		return st
	}
	for _, n := range counts.Lost["ring_full"] {
		st.KernelDrops += int64(n.Events)
		st.DroppedBytes += int64(n.Bytes)
	}
	for _, n := range counts.Filtered {
		st.Filtered += int64(n.Events)
	}
	st.Warnings = append(slices.Clone(st.Warnings), s.warnings(&counts)...)
	return st
}
