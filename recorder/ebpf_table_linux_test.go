//go:build amd64 || arm64

package recorder

import (
	"bufio"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/lambdac/lambdac/bpf"
)

func init() {
	peers["deaf"] = serve(func(*net.TCPConn, *bufio.Reader) { time.Sleep(5 * time.Millisecond) })
}

// tableSize is the number of connections in the kernel side's table.
func tableSize(t *testing.T, src *ebpfSource) int {
	t.Helper()
	n := 0
	if err := src.kernel.Lengths(func(uint64, [2]int64) { n++ }); err != nil {
		t.Fatal(err)
	}
	return n
}

// waitTable waits until the kernel side's table is empty.
func waitTable(t *testing.T, src *ebpfSource) {
	t.Helper()
	n := 0
	for range 600 {
		if n = tableSize(t, src); n == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("%d connections are left in the table", n)
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
		waitTable(t, src)
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
			if n := tableSize(t, src); n != row.want {
				t.Errorf("%s: %d connections in the table, want %d", row.name, n, row.want)
			}
			if err := process.Kill(); err != nil {
				t.Fatal(err)
			}
			waitTable(t, src)
			c.Close()
			r.stop()
		}
	})
}
