package recorder

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

const (
	// tapBytes and tapSegments bound what waits in a tap for its reader.
	tapBytes    = 64 << 20
	tapSegments = 1 << 16
	// tickEvery is how long a live source waits for traffic before it says
	// that there was none.
	tickEvery = 200 * time.Millisecond
)

// Tap is a source inside the server's process: it sees what the server reads
// and writes on the connections of a wrapped listener. It needs no rights and
// loses nothing as long as its reader keeps up; else it drops, and counts, and
// the server does not wait.
//
// Bytes are stamped when Read returned them and when Write was called. Next,
// Stats and Close are for one goroutine each; everything else may run at the
// same time.
type Tap struct {
	mu     sync.Mutex
	queue  []Segment
	bytes  int
	stats  SourceStats
	closed bool
	// wake has a value when the queue may have something.
	wake chan struct{}
	// batch are the segments being handed out.
	batch []Segment
}

// NewTap returns a tap without listeners.
func NewTap() *Tap { return &Tap{wake: make(chan struct{}, 1)} }

// Listener wraps l: the connections it accepts from now on are seen.
func (t *Tap) Listener(l net.Listener) net.Listener { return &tapListener{l, t} }

// Name implements [Source].
func (t *Tap) Name() string { return "tap" }

// Next implements [Source].
func (t *Tap) Next() (Segment, error) {
	for {
		if len(t.batch) > 0 {
			seg := t.batch[0]
			t.batch = t.batch[1:]
			return seg, nil
		}
		closed := t.refill()
		if len(t.batch) > 0 {
			continue
		}
		if closed {
			return Segment{}, io.EOF
		}
		timer := time.NewTimer(tickEvery)
		select {
		case <-t.wake:
			timer.Stop()
		case now := <-timer.C:
			return Segment{Time: now.UnixNano()}, ErrTick
		}
	}
}

// refill takes the whole queue.
func (t *Tap) refill() (closed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.batch, t.queue, t.bytes = t.queue, nil, 0
	return t.closed
}

// Close implements [Source]. The connections go on, unseen.
func (t *Tap) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.notify()
	return nil
}

// Stats implements [Source].
func (t *Tap) Stats() SourceStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stats
}

func (t *Tap) notify() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// push queues a segment with a copy of its data, or, when the queue is full,
// only its place, which the reassembler turns into a gap.
func (t *Tap) push(s Segment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.stats.Packets++
	t.stats.Segments++
	t.stats.Bytes += int64(s.Want)
	if s.Want > 0 && (t.bytes+s.Want > tapBytes || len(t.queue) >= tapSegments) {
		t.stats.KernelDrops++
		t.stats.DroppedBytes += int64(s.Want)
		s.Data, s.Cut = nil, lostCap
		if t.joinDropped(&s) {
			return
		}
	}
	s.Data = bytes.Clone(s.Data)
	t.bytes += len(s.Data)
	t.queue = append(t.queue, s)
	t.notify()
}

// joinDropped adds dropped bytes to the last segment where that was dropped
// too, so that a stalled reader does not make the queue long.
func (t *Tap) joinDropped(s *Segment) bool {
	if len(t.queue) == 0 {
		return false
	}
	last := &t.queue[len(t.queue)-1]
	if last.Conn != s.Conn || last.Dir != s.Dir || last.Cut != lostCap || last.Pos+int64(last.Want) != s.Pos {
		return false
	}
	last.Want += s.Want
	return true
}

func (t *Tap) newConn(c net.Conn) *tapConn {
	t.mu.Lock()
	t.stats.Connections++
	id := uint64(t.stats.Connections)
	t.mu.Unlock()
	info := &ConnInfo{
		ID: id, Client: addrPort(c.RemoteAddr()), Server: addrPort(c.LocalAddr()),
		Start: time.Now().UnixNano(), SawSYN: true,
	}
	t.push(Segment{Conn: info, Dir: ToServer, SYN: true, Time: info.Start})
	return &tapConn{Conn: c, tap: t, info: info}
}

// addrPort is not valid for addresses that are not IP, such as net.Pipe's.
func addrPort(a net.Addr) netip.AddrPort {
	if tcp, ok := a.(*net.TCPAddr); ok {
		ap := tcp.AddrPort()
		return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
	}
	return netip.AddrPort{}
}

type tapListener struct {
	net.Listener
	tap *Tap
}

// Accept implements [net.Listener].
func (l *tapListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.tap.newConn(c), nil
}

// tapConn is the server's end of a connection. Reads and writes may run at
// the same time, as net.Conn allows; each direction has its own lock.
type tapConn struct {
	net.Conn
	tap  *Tap
	info *ConnInfo
	in   tapDir
	out  tapDir
	gone sync.Once
}

type tapDir struct {
	mu    sync.Mutex
	pos   int64
	ended bool
}

// Read implements [net.Conn].
func (c *tapConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	if n > 0 {
		c.move(&c.in, ToServer, p[:n])
	}
	switch {
	case errors.Is(err, io.EOF):
		c.end(&c.in, ToServer, false)
	case errors.Is(err, syscall.ECONNRESET):
		c.end(&c.in, ToServer, true)
	}
	return n, err
}

// Write implements [net.Conn]. The bytes are noted before they are sent, so
// that an answer is never seen after the request which it caused.
func (c *tapConn) Write(p []byte) (int, error) {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	if len(p) > 0 {
		c.move(&c.out, ToClient, p)
	}
	return c.Conn.Write(p)
}

// CloseWrite ends the direction to the client, where the connection can.
func (c *tapConn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	err := half.CloseWrite()
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	c.end(&c.out, ToClient, false)
	return err
}

// Close implements [net.Conn].
func (c *tapConn) Close() error {
	err := c.Conn.Close()
	c.gone.Do(func() {
		c.out.mu.Lock()
		defer c.out.mu.Unlock()
		c.end(&c.out, ToClient, false)
		c.tap.push(Segment{Conn: c.info, Gone: true, Time: time.Now().UnixNano()})
	})
	return err
}

// move pushes bytes; the direction's lock is held.
func (c *tapConn) move(d *tapDir, dir Dir, p []byte) {
	c.tap.push(Segment{
		Conn: c.info, Dir: dir, Pos: d.pos, Data: p, Want: len(p), Time: time.Now().UnixNano(),
	})
	d.pos += int64(len(p))
}

// end pushes a direction's end, once; the direction's lock is held.
func (c *tapConn) end(d *tapDir, dir Dir, reset bool) {
	if d.ended {
		return
	}
	d.ended = true
	c.tap.push(Segment{Conn: c.info, Dir: dir, Pos: d.pos, FIN: !reset, RST: reset, Time: time.Now().UnixNano()})
}
