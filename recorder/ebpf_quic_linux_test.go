//go:build amd64 || arm64

package recorder

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/lambdac/lambdac/bpf"
	"github.com/lambdac/lambdac/internal/testenv"
)

func init() { peers["quic"] = peerQUIC }

// peerQUIC takes datagrams as servers of QUIC do, two by a call, and sends as
// many back, in a network namespace of its own, in which it is its client too.
func peerQUIC(string) {
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput()
	if err != nil {
		panic(string(out))
	}
	addr := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 443}
	server, err := net.ListenUDP("udp4", addr)
	check(err)
	client, err := net.DialUDP("udp4", nil, addr)
	check(err)
	f, err := server.File()
	check(err)
	begin := make(chan os.Signal, 1)
	signal.Notify(begin, unix.SIGUSR1)
	fmt.Println("ready")
	<-begin
	for _, n := range []int{1200, 300} {
		_, err = client.Write(make([]byte, n))
		check(err)
	}
	fd := int(f.Fd())
	list := mmsgs(make([]byte, 1500), make([]byte, 1500))
	got, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&list[0])), 2, 0, 0, 0)
	if errno != 0 || got != 2 {
		panic(errno)
	}
	_, err = server.WriteTo(make([]byte, 700), client.LocalAddr())
	check(err)
	fmt.Println("done")
}

// TestEBPFQUIC is case 25's QUIC: what a server on its port moves is counted as
// not read, in the kernel too.
func TestEBPFQUIC(t *testing.T) {
	testenv.Root(t)
	cmd := exec.Command(testenv.Command(t, "unshare"), "--net", os.Args[0])
	cmd.Env = append(os.Environ(), peerVar+"=quic")
	_, out := startTalking(t, cmd)
	r := startRecording(t, openEBPF(t, bpf.Options{TGIDs: []int{cmd.Process.Pid}}), Config{})
	if err := cmd.Process.Signal(unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	_, rep := r.stop()
	if n := rep.Totals.LostByReason["blind:quic"]; n != 1200+300+700 {
		t.Errorf("%d bytes of QUIC: %v", n, rep.Totals.LostByReason)
	}
	if all := strings.Join(rep.Warnings, "\n"); !strings.Contains(all, "quic") {
		t.Errorf("warnings:\n%s", all)
	}
}
