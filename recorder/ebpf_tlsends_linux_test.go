//go:build amd64 || arm64

package recorder

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/bpf"
	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
)

func init() {
	peers["tlsevents"] = func(arg string) {
		certFile, keyFile, _ := strings.Cut(arg, " ")
		cert, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			panic(err)
		}
		l := tls.NewListener(listenTCP("127.0.0.1:0"), &tls.Config{Certificates: []tls.Certificate{cert}})
		listening(l)
		event := chunk(textEvent("word"))
		for {
			c, err := l.Accept()
			if err != nil {
				panic(err)
			}
			go func() { // events without an end, until the client is gone
				defer c.Close()
				_ = c.(*tls.Conn).NetConn().(*net.TCPConn).SetWriteBuffer(4096)
				if _, err := c.Read(make([]byte, 4096)); err != nil {
					return
				}
				for _, err = io.WriteString(c, sseHead); err == nil; {
					_, err = io.WriteString(c, event)
				}
			}()
		}
	}
}

// TestTLSEndsUnderWay ends streams of a library, and then the recording, while
// the server writes on them: what it had written is no loss, and all ends are the
// clients' doing or the recording's.
func TestTLSEndsUnderWay(t *testing.T) {
	testenv.Root(t)
	cert, key := certFiles(t)
	addr, _ := startPeer(t, "tlsevents "+cert+" "+key)
	src := openTLS(t, bpf.Options{Ports: []int{portOf(t, addr)}})
	r := startRecording(t, src, Config{})
	const rounds, each = 5, 20
	var left []seenBody
	open := func() (conns []net.Conn) {
		for range each {
			raw := dialPeer(t, addr)
			c := tls.Client(raw, &tls.Config{InsecureSkipVerify: true})
			say(t, c, chatTo("endless"))
			hear(t, c, len(sseHead)+1)
			conns = append(conns, raw)
		}
		return conns
	}
	for range rounds {
		for _, c := range open() {
			left = append(left, seenBody{client: addrPort(c.LocalAddr())})
			c.Close()
		}
	}
	src.waitGone(t, left)
	stay := open()
	got, rep := r.stop()
	outcomes := make(map[trace.Outcome]int)
	for _, x := range got.list {
		outcomes[x.Record.Outcome]++
	}
	want := map[trace.Outcome]int{trace.OutcomeClientAbort: len(left), trace.OutcomeCutByCapture: len(stay)}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if len(rep.Totals.LostByReason) != 0 {
		t.Errorf("lost by reason: %v", rep.Totals.LostByReason)
	}
}
