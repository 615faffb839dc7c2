//go:build amd64 || arm64

package recorder

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lambdac/lambdac/bpf"
)

// peerSwitch gives a descriptor to another connection while a thread waits at
// it for bytes: it accepts two connections, reads of the first, and once the
// second has asked, puts that in the first one's place.
func peerSwitch(string) {
	l := listenTCP("127.0.0.1:0")
	listening(l)
	var fds [2]int
	for i := range fds {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		f, err := c.(*net.TCPConn).File()
		if err != nil {
			panic(err)
		}
		fds[i] = int(f.Fd())
		defer f.Close()
	}
	at, err := unix.Dup(fds[0])
	if err != nil {
		panic(err)
	}
	thread, read := make(chan int, 1), make(chan int)
	go func() {
		runtime.LockOSThread()
		thread <- unix.Gettid()
		b := make([]byte, 1000)
		n, _ := unix.Read(at, b)
		read <- n
	}()
	readHead(fds[1])
	inCall := fmt.Sprintf("%d %#x ", unix.SYS_READ, at)
	for file := fmt.Sprintf("/proc/self/task/%d/syscall", <-thread); ; time.Sleep(time.Millisecond) {
		call, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		if strings.HasPrefix(string(call), inCall) { // the thread waits
			break
		}
	}
	if err := unix.Dup3(fds[1], at, 0); err != nil {
		panic(err)
	}
	unix.Write(fds[1], []byte(echoOf("/b1", "")))
	<-read
	unix.Write(fds[0], []byte(echoOf("/a", "")))
	readHead(fds[1])
	unix.Write(fds[1], []byte(echoOf("/b2", "")))
	select {}
}

// TestEBPFStray: what a call brings whose descriptor has become another
// connection's is of neither, and is counted.
func TestEBPFStray(t *testing.T) {
	const secret = "GET /a HTTP/1.1\r\nHost: of-a\r\n\r\n"
	got, rep := recordPeer(t, "switch", func(addr string) {
		a, b := dialPeer(t, addr), dialPeer(t, addr)
		say(t, b, "GET /b1 HTTP/1.1\r\nHost: h\r\n\r\n")
		hear(t, b, len(echoOf("/b1", "")))
		say(t, a, secret)
		hear(t, a, len(echoOf("/a", "")))
		say(t, b, "GET /b2 HTTP/1.1\r\nHost: h\r\n\r\n")
		hear(t, b, len(echoOf("/b2", "")))
	})
	var of [2][]string
	for _, x := range got.list {
		if x.Target == "/b1" || x.Target == "/b2" {
			of[1] = append(of[1], fmt.Sprint(x.Conn, x.Record.Outcome))
		} else {
			of[0] = append(of[0], x.Target)
		}
	}
	if len(of[1]) != 2 || of[1][0] != of[1][1] || !strings.HasSuffix(of[1][0], "ok") {
		t.Errorf("the second connection: %q", of[1])
	}
	for _, target := range of[0] {
		if target != "" {
			t.Errorf("a request %q that no connection can be known to have", target)
		}
	}
	if all := strings.Join(rep.Warnings, "\n"); !strings.Contains(all, fmt.Sprintf("%d bytes were left out: while", len(secret))) {
		t.Errorf("warnings %q", all)
	}
}

// peerHand answers one request and hands the connection on to a process of its
// own, which answers the next.
func peerHand(string) {
	l := listenTCP("127.0.0.1:0")
	listening(l)
	for {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		f, err := c.(*net.TCPConn).File()
		if err != nil {
			panic(err)
		}
		readHead(int(f.Fd()))
		unix.Write(int(f.Fd()), []byte(echoOf("/first", "")))
		other := exec.Command(os.Args[0])
		other.Env = append(os.Environ(), peerVar+"=handed")
		other.ExtraFiles = []*os.File{f}
		in, err := other.StdinPipe()
		if err == nil {
			err = other.Start()
		}
		if err != nil {
			panic(err)
		}
		f.Close()
		c.Close()
		_ = other.Wait()
		in.Close()
	}
}

func peerHanded(string) {
	for head := readHead(3); head != ""; head = readHead(3) {
		unix.Write(3, []byte(echoOf("/second", "")))
	}
	os.Exit(0)
}

// TestEBPFHandedOn: a filter by process holds for what each process moves, on
// one connection too.
func TestEBPFHandedOn(t *testing.T) {
	addr, process := startPeer(t, "hand")
	const planted = "planted-in-the-other"
	src := openEBPF(t, bpf.Options{TGIDs: []int{process.Pid}}).(*ebpfSource)
	r := startRecording(t, src, Config{KeepText: true})
	c := dialPeer(t, addr)
	say(t, c, "GET /first HTTP/1.1\r\nHost: h\r\n\r\n")
	hear(t, c, len(echoOf("/first", "")))
	for range 2 {
		say(t, c, "GET /second HTTP/1.1\r\nHost: "+planted+"\r\n\r\n")
		hear(t, c, len(echoOf("/second", "")))
	}
	c.Close()
	src.waitEnded(t)
	got, rep := r.stop()
	if len(got.list) == 0 || got.list[0].Target != "/first" || got.list[0].Record.Outcome != "ok" {
		t.Errorf("exchanges %+v", briefs(got.list))
	}
	for _, x := range got.list {
		if x.Target == "/second" || strings.Contains(string(x.ReqBody)+string(x.RespBody), planted) {
			t.Errorf("of the process that was not asked for: %q", x.Target)
		}
	}
	if want := int64(2 * (len("GET /second HTTP/1.1\r\nHost: \r\n\r\n") + len(planted) + len(echoOf("/second", "")))); rep.Totals.LostByReason["foreign"] != want {
		t.Errorf("lost %v, want %d of foreign", rep.Totals.LostByReason, want)
	}
}
