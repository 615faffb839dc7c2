//go:build amd64 || arm64

package recorder

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/lambdac/lambdac/bpf"
)

func init() {
	peers["accept"] = peerAccept
}

// peerAccept accepts a connection of its first listener each time that one comes
// to its second, whose address is behind the first's.
func peerAccept(string) {
	l, when := listenTCP("127.0.0.1:0"), listenTCP("127.0.0.1:0")
	fmt.Println(l.Addr(), when.Addr())
	for {
		now, err := when.Accept()
		if err != nil {
			panic(err)
		}
		now.Close()
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go func() {
			defer c.Close()
			peerEcho(c.(*net.TCPConn), bufio.NewReader(c))
		}()
	}
}

// TestEBPFAccept: how long a connection waited for the server's process is told
// of its first exchange, and not where the wait was not seen whole.
func TestEBPFAccept(t *testing.T) {
	both, _ := startPeer(t, "accept")
	addr, when, _ := strings.Cut(both, " ")
	const wait = 150 * time.Millisecond
	accept := func() { dialPeer(t, when).Close() }
	ask := func(c net.Conn, path string) {
		say(t, c, "GET "+path+" HTTP/1.1\r\nHost: h\r\n\r\n")
		hear(t, c, len(echoOf(path, "")))
	}
	early := dialPeer(t, addr)
	r := startRecording(t, openEBPF(t, bpf.Options{Ports: []int{portOf(t, addr)}}), Config{})
	accept()
	ask(early, "/early")
	before := time.Now()
	c := dialPeer(t, addr)
	time.Sleep(wait)
	accept()
	ask(c, "/first")
	most := time.Since(before)
	ask(c, "/second")
	c.Close()
	early.Close()
	got, _ := r.stop()
	for _, x := range got.list {
		us := x.Record.TAcceptUs
		switch {
		case x.Target != "/first" && us != nil:
			t.Errorf("%s waited %d µs", x.Target, *us)
		case x.Target == "/first" && (us == nil || *us < wait.Microseconds() || *us > most.Microseconds()):
			t.Errorf("%s waited %v µs, want %d to %d", x.Target, deref(us), wait.Microseconds(), most.Microseconds())
		}
	}
	if len(got.list) != 3 {
		t.Errorf("%d exchanges", len(got.list))
	}
}
