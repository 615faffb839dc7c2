//go:build amd64 || arm64

package recorder

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lambdac/lambdac/bpf"
)

func init() {
	peers["deaf"] = serve(func(c *net.TCPConn, _ *bufio.Reader) {
		raw, err := c.SyscallConn()
		if err != nil {
			panic(err)
		}
		_ = raw.Read(func(fd uintptr) bool { // until something has come
			_, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK)
			return err != unix.EAGAIN
		})
	})
}

func init() {
	peers["tunnel"] = serve(func(c *net.TCPConn, r *bufio.Reader) {
		if b, _ := r.Peek(4); string(b) == "GET " {
			if _, _, ok := readRequest(r); !ok {
				return
			}
			io.WriteString(c, switching)
		}
		io.Copy(struct{ io.Writer }{c}, r) // not by splice
	})
}

const switching = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"

// TestEBPFIgnored: the bytes of a connection that is of no protocol that is
// read are not copied for long, are all counted, and are no loss.
func TestEBPFIgnored(t *testing.T) {
	const frames, size = 200, 1000
	for _, row := range []struct {
		name, first, answer, reason string
		exchanges                   int
	}{
		{"upgrade", "GET /w HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", switching, "blind:websocket", 2},
		{"no HTTP", "", "", "blind:unknown_protocol", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			addr, _ := startPeer(t, "tunnel")
			src := openEBPF(t, bpf.Options{Ports: []int{portOf(t, addr)}}).(*ebpfSource)
			r := startRecording(t, src, Config{})
			var conns []*net.TCPConn
			for range 2 {
				c := dialPeer(t, addr)
				say(t, c, row.first)
				hear(t, c, len(row.answer))
				conns = append(conns, c)
				frame := strings.Repeat("\x81wwww", size/5)
				for range frames {
					say(t, c, frame)
					hear(t, c, size)
					time.Sleep(time.Millisecond)
				}
			}
			conns[0].Close() // the other is open at the end
			waitTable(t, src, false, 1)
			got, rep := r.stop()
			const bytes = 2 * 2 * frames * size
			if n := rep.Totals.LostByReason[row.reason]; n != bytes || rep.Totals.BytesLost != 0 {
				t.Errorf("lost %v, want %d bytes of %s", rep.Totals.LostByReason, bytes, row.reason)
			}
			var ignored, want, have uint64
			for d := range 2 {
				ignored += src.counts.Lost["ignored"][d].Bytes
				want, have = want+src.counts.Want[d].Bytes, have+src.counts.Have[d].Bytes
			}
			if ignored < bytes*3/4 || want != have+ignored || int64(want) != rep.Totals.BytesSeen {
				t.Errorf("want %d = have %d + ignored %d of %d; recorded %d", want, have, ignored, bytes, rep.Totals.BytesSeen)
			}
			if len(got.list) != row.exchanges {
				t.Errorf("exchanges %+v", briefs(got.list))
			}
		})
	}
}

// tableSize is the number of connections in the kernel side's table: of TCP, or
// of AF_UNIX, beside which TCP of the whole host may be looked at.
func tableSize(t *testing.T, src *ebpfSource, unix bool) int {
	t.Helper()
	n := 0
	err := src.kernel.Lengths(func(l bpf.Length) {
		if l.Cookie>>63 == 1 == unix {
			n++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// waitTable waits until the kernel side's table has n connections.
func waitTable(t *testing.T, src *ebpfSource, unix bool, n int) {
	t.Helper()
	until(t, fmt.Sprintf("the table has %d connections", n), func() bool { return tableSize(t, src, unix) == n })
}

// TestEBPFTable: of thousands of connections that were closed before their
// process read what had come, by the other side or by the process, none is
// left in the table, and neither is one of an AF_UNIX server that was killed
// or that the filters leave out.
func TestEBPFTable(t *testing.T) {
	const conns = 3000
	t.Run("never read", func(t *testing.T) {
		addr, _ := startPeer(t, "deaf")
		src := openEBPF(t, bpf.Options{Ports: []int{portOf(t, addr)}}).(*ebpfSource)
		r := startRecording(t, src, Config{})
		for i := range conns {
			c := dialPeer(t, addr)
			say(t, c, "GET / HTTP/1.1\r\n")
			if i%2 == 0 {
				if err := c.SetLinger(0); err != nil { // a reset
					t.Fatal(err)
				}
			} else {
				_, _ = io.ReadAll(c) // the peer closes with bytes unread
			}
			c.Close()
		}
		waitTable(t, src, false, 0)
		got, rep := r.stop()
		if len(got.list) != 0 || rep.Totals.LostByReason["blind:unread"] != conns*16 {
			t.Errorf("%d exchanges, lost %v; want none, %d bytes unread: %v", len(got.list), rep.Totals.LostByReason, conns*16, rep.Warnings)
		}
	})
	t.Run("AF_UNIX", func(t *testing.T) {
		for _, row := range []struct {
			name  string
			comms []string
			want  int // connections in the table before the server ends
		}{{"killed", nil, 1}, {"left out", []string{"nobody"}, 0}} {
			path := filepath.Join(t.TempDir(), "s")
			_, process := startPeer(t, "unix "+path)
			src := openEBPF(t, bpf.Options{Paths: []string{path}, Comms: row.comms}).(*ebpfSource)
			r := startRecording(t, src, Config{})
			c, err := net.Dial("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			say(t, c, post("/a", "x"))
			hear(t, c, len(echoOf("/a", "x")))
			if n := tableSize(t, src, true); n != row.want {
				t.Errorf("%s: %d connections in the table, want %d", row.name, n, row.want)
			}
			if err := process.Kill(); err != nil {
				t.Fatal(err)
			}
			waitTable(t, src, true, 0)
			c.Close()
			r.stop()
		}
	})
}
