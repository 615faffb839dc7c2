package recorder

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// notes are what a capture beside a server would hold.
type notes struct {
	mu    sync.Mutex
	began time.Time
	conns int
	list  []note
}

type note struct {
	conn int
	dir  Dir
	at   time.Duration
	data string // "" = FIN
}

// notedListener notes what its connections carry.
type notedListener struct {
	net.Listener
	n *notes
}

func (l notedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.n.mu.Lock()
	defer l.n.mu.Unlock()
	l.n.conns++
	return &notedConn{Conn: c, n: l.n, id: l.n.conns - 1}, nil
}

type notedConn struct {
	net.Conn
	n    *notes
	id   int
	once sync.Once
}

func (c *notedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.n.add(c.id, ToServer, string(p[:n]))
	}
	if errors.Is(err, io.EOF) {
		c.once.Do(func() { c.n.add(c.id, ToServer, "") })
	}
	return n, err
}

func (c *notedConn) Write(p []byte) (int, error) {
	c.n.add(c.id, ToClient, string(p))
	return c.Conn.Write(p)
}

func (n *notes) add(conn int, dir Dir, data string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, note{conn, dir, time.Since(n.began), data})
}

func (n *notes) len() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.list)
}

// noted runs a conversation of package-wide peers and returns what was said.
func noted(t *testing.T, talk func(n *notes, addr string)) *notes {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &notes{began: time.Now()}
	go speak(notedListener{l, n})
	talk(n, l.Addr().String())
	// The server sees the end a moment later.
	for range 100 {
		time.Sleep(10 * time.Millisecond)
		if n.ends() >= n.conns {
			break
		}
	}
	l.Close()
	return n
}

func (n *notes) ends() (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, each := range n.list {
		if each.data == "" {
			count++
		}
	}
	return count
}

// script makes a capture of the notes from number first on.
func (n *notes) script(first int) *script {
	var s script
	talks := make([]*talk, n.conns)
	seen := make([]bool, n.conns)
	for i, each := range n.list {
		before := i < first
		k := talks[each.conn]
		if k == nil && (before || seen[each.conn]) {
			k = s.joined(40000 + uint16(each.conn))
		} else if k == nil {
			k = s.connect(40000+uint16(each.conn), each.at)
		}
		talks[each.conn], seen[each.conn] = k, true
		switch at := each.at + 2*ms; {
		case before:
		case each.data == "":
			k.fin(each.dir, at)
		default:
			k.send(each.dir, at, each.data)
		}
	}
	return &s
}

// TestConversations records the conversations of real peers from captures.
func TestConversations(t *testing.T) {
	t.Run("100 streams at once", func(t *testing.T) {
		t.Parallel()
		n := noted(t, func(_ *notes, addr string) { talkTogether(t, addr) })
		got, _ := n.script(0).run(t, Config{KeepText: true})
		checkTogether(t, got.list)
	})
	t.Run("gRPC", func(t *testing.T) {
		t.Parallel()
		n := noted(t, func(_ *notes, addr string) { talkGRPC(t, addr) })
		got, _ := n.script(0).run(t, Config{KeepText: true})
		checkGRPC(t, got.list)
	})
	for name, h2 := range map[string]bool{"joined, HTTP/1": false, "joined, HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := 0
			n := noted(t, func(n *notes, addr string) { talkJoined(t, addr, h2, func() { first = n.len() }) })
			got, _ := n.script(first).run(t, Config{KeepText: true})
			checkJoined(t, got.list, h2)
		})
	}
}
