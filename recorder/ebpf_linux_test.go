//go:build amd64 || arm64

package recorder

import "testing"

func TestEBPFEcho(t *testing.T) {
	got, rep := recordPeer(t, "echo", func(addr string) {
		c := dialPeer(t, addr)
		say(t, c, "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")
		hear(t, c, len("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n/a abc"))
		c.Close()
	})
	for _, x := range got.list {
		t.Logf("%+v %s %s -> %s", *x.Record, x.Target, x.Client, x.Server)
	}
	t.Logf("%+v", rep)
}
