//go:build amd64 || arm64

package recorder

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lambdac/lambdac/internal/testenv"
)

func init() { peers["ktls"] = peerKTLS }

// hello is the first record of a handshake, as far as its head tells.
var hello = "\x16\x03\x03\x01\x00" + strings.Repeat("h", 256)

const kernelEncrypts = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// offload lets the kernel encrypt what is written to a connection from here on:
// AES-128-GCM of TLS 1.2 (linux/tls.h: version, cipher, iv, key, salt, sequence).
func offload(c *net.TCPConn) (err error) {
	const solTLS, tlsTX, version12, aes128gcm = 282, 1, 0x0303, 51
	info := binary.NativeEndian.AppendUint16(nil, version12)
	info = binary.NativeEndian.AppendUint16(info, aes128gcm)
	info = append(info, make([]byte, 8+16+4+8)...)
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var refused error
	err = raw.Control(func(fd uintptr) {
		if refused = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_ULP, "tls"); refused == nil {
			refused = unix.SetsockoptString(int(fd), solTLS, tlsTX, string(info))
		}
	})
	if err != nil {
		return err
	}
	return refused
}

// peerKTLS shakes hands in name only, and lets the kernel encrypt its answer.
func peerKTLS(string) {
	l := listenTCP("127.0.0.1:0")
	listening(l)
	c, err := l.Accept()
	if err != nil {
		panic(err)
	}
	if _, err := io.ReadFull(c, make([]byte, len(hello))); err != nil {
		panic(err)
	}
	io.WriteString(c, hello)
	if err := offload(c.(*net.TCPConn)); err != nil {
		panic(err)
	}
	io.WriteString(c, kernelEncrypts)
	c.Close()
}

// TestEBPFKernelTLS is case 25's TLS in the kernel: what a server writes is plain
// text to its system calls, and is counted as not read like what comes before.
func TestEBPFKernelTLS(t *testing.T) {
	testenv.Root(t)
	if err := tryOffload(t); err != nil {
		testenv.Kernel(t, fmt.Sprintf("TLS of its own (CONFIG_TLS): %v", err))
	}
	got, rep := recordEnded(t, "ktls", func(addr string) {
		c := dialPeer(t, addr)
		say(t, c, hello)
		hear(t, c, len(hello))
		if sealed, err := io.ReadAll(c); err != nil || len(sealed) != 5+8+len(kernelEncrypts)+16 {
			t.Errorf("%d bytes came, %v", len(sealed), err)
		}
		c.Close()
	})
	want := int64(2*len(hello) + len(kernelEncrypts))
	if len(got.list) != 0 || rep.Totals.LostByReason["blind:tls"] != want {
		t.Errorf("%d exchanges, lost %v; want %d bytes of blind:tls", len(got.list), rep.Totals.LostByReason, want)
	}
}

// tryOffload tries it on a connection of the test's own.
func tryOffload(t *testing.T) error {
	l := listenTCP("127.0.0.1:0")
	defer l.Close()
	return offload(dialPeer(t, l.Addr().String()))
}
