//go:build amd64 || arm64

package recorder

import (
	"bufio"
	"net"
	"testing"

	"github.com/lambdac/lambdac/bpf"
)

func init() {
	peers["dual"] = func(string) {
		l := listenTCP("[::]:0") // IPv6, and IPv4 mapped into it
		listening(l)
		for {
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
}

// TestEBPFAddresses: a server on an IPv6 socket, asked over IPv6 and over IPv4,
// which it sees mapped: the addresses are those of the wire, also of
// connections that were open before.
func TestEBPFAddresses(t *testing.T) {
	addr, _ := startPeer(t, "dual")
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"::1", "127.0.0.1"} {
		t.Run(host, func(t *testing.T) {
			before := dialPeer(t, net.JoinHostPort(host, port))
			say(t, before, post("/x", "x"))
			hear(t, before, len(echoOf("/x", "x")))
			r := startRecording(t, openEBPF(t, bpf.Options{Ports: []int{portOf(t, addr)}}), Config{})
			for _, c := range []*net.TCPConn{before, dialPeer(t, net.JoinHostPort(host, port))} {
				say(t, c, post("/y", "y"))
				hear(t, c, len(echoOf("/y", "y")))
				c.Close()
			}
			got, rep := r.stop()
			if len(got.list) != 2 {
				t.Fatalf("%d exchanges, want 2: %v", len(got.list), rep.Warnings)
			}
			for _, x := range got.list {
				if x.Client.Addr().String() != host || x.Server.Addr().String() != host || int(x.Server.Port()) != portOf(t, addr) {
					t.Errorf("from %s to %s, want %s port %s", x.Client, x.Server, host, port)
				}
				if x.Target != "/y" || x.Record.Outcome != "ok" || !x.Record.RespComplete {
					t.Errorf("%+v", briefOf(x))
				}
			}
		})
	}
}
