//go:build amd64 || arm64

package recorder

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/lambdac/lambdac/bpf"
	"github.com/lambdac/lambdac/internal/testenv"
)

// peerVar makes the test binary a server of another process: the recorder does
// not look at its own. Its value is a name in peers, and what goes to it.
const peerVar = "LAMBDAC_TEST_PEER"

func TestMain(m *testing.M) {
	name, arg, _ := strings.Cut(os.Getenv(peerVar), " ")
	if name == "" {
		os.Exit(m.Run())
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // the test has ended
		os.Exit(0)
	}()
	peers[name](arg)
	select {}
}

// listening tells the test where the peer listens.
func listening(l net.Listener) { fmt.Println(l.Addr()) }

// listen opens a TCP listener. Go's own asks for MPTCP, which is another test.
func listenTCP(addr string) net.Listener {
	var lc net.ListenConfig
	lc.SetMultipathTCP(false)
	l, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		panic(err)
	}
	return l
}

// serve makes a peer of what to do with each connection.
func serve(each func(c *net.TCPConn, r *bufio.Reader)) func(string) {
	return func(string) {
		l := listenTCP("127.0.0.1:0")
		listening(l)
		for {
			c, err := l.Accept()
			if err != nil {
				panic(err)
			}
			go func() {
				defer c.Close()
				each(c.(*net.TCPConn), bufio.NewReader(c))
			}()
		}
	}
}

// startPeer runs a peer until the test ends and returns its first address.
func startPeer(t *testing.T, name string) (addr string, process *os.Process) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), peerVar+"="+name)
	addr = startProgram(t, cmd)
	return addr, cmd.Process
}

// startProgram runs a program until the test ends. It says on its first line
// where it listens, and ends with its standard input.
func startProgram(t *testing.T, cmd *exec.Cmd) (addr string) {
	t.Helper()
	addr, _ = startTalking(t, cmd)
	return addr
}

// startTalking is startProgram, with what the program says after that.
func startTalking(t *testing.T, cmd *exec.Cmd) (addr string, more *bufio.Reader) {
	t.Helper()
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		ended := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		ended.Stop()
	})
	more = bufio.NewReader(out)
	line, err := more.ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	return strings.TrimSpace(line), more
}

func portOf(t *testing.T, addr string) int {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// openEBPF opens the source, or skips the test where the kernel does not allow
// it.
func openEBPF(t *testing.T, o bpf.Options) Source {
	t.Helper()
	testenv.Root(t)
	// What the test itself uses would count, and climb the ladder.
	src, err := OpenEBPF(o, Limits{Memory: 1 << 40, CPU: 1024})
	if refused := (*ebpf.VerifierError)(nil); errors.As(err, &refused) {
		t.Fatal(err) // which may be a matter of permission too, to the kernel
	}
	if errors.Is(err, ebpf.ErrNotSupported) || errors.Is(err, fs.ErrPermission) {
		testenv.Missing(t, "eBPF", "run on a kernel from 6.1 on that allows BPF programs: "+err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// running is a recording under way.
type running struct {
	t      *testing.T
	cancel func()
	done   chan struct{}
	sink   collector
	rep    Report
	err    error
}

func startRecording(t *testing.T, src Source, cfg Config) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.rep, r.err = Run(ctx, src, &r.sink, cfg)
	}()
	t.Cleanup(func() {
		cancel()
		<-r.done
	})
	return r
}

// stop ends the recording and returns what it took.
func (r *running) stop() (*collector, Report) {
	r.t.Helper()
	r.cancel()
	select {
	case <-r.done:
	case <-time.After(testenv.Patience()):
		r.t.Fatal("the recording does not stop")
	}
	if r.err != nil {
		r.t.Fatal(r.err)
	}
	if all := strings.Join(r.rep.Warnings, "\n"); strings.Contains(all, "may be incomplete") {
		r.t.Error(all)
	}
	return &r.sink, r.rep
}

// recordPeer records what traffic does with a peer.
func recordPeer(t *testing.T, name string, traffic func(addr string)) (*collector, Report) {
	t.Helper()
	addr, _ := startPeer(t, name)
	r := startRecording(t, openEBPF(t, bpf.Options{Ports: []int{portOf(t, addr)}}), Config{KeepText: true})
	traffic(addr)
	return r.stop()
}

// recordEnded is recordPeer where all connections come to their end, which is
// waited for.
func recordEnded(t *testing.T, name string, traffic func(addr string)) (*collector, Report) {
	t.Helper()
	addr, _ := startPeer(t, name)
	src := openEBPF(t, bpf.Options{Ports: []int{portOf(t, addr)}}).(*ebpfSource)
	r := startRecording(t, src, Config{KeepText: true})
	traffic(addr)
	src.waitEnded(t)
	return r.stop()
}

// waitEnded waits until there were connections and all have ended.
func (s *ebpfSource) waitEnded(t *testing.T) {
	t.Helper()
	until(t, "all connections have ended", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.stats.Connections > 0 && len(s.conns) == 0
	})
}

// dialPeer connects to a peer.
func dialPeer(t *testing.T, addr string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(testenv.Patience())); err != nil { // a peer that hangs fails the test
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// say writes to a connection, hear reads n answers' worth of bytes.
func say(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, c net.Conn, n int) string {
	t.Helper()
	b := make([]byte, n)
	if got, err := io.ReadFull(c, b); err != nil {
		t.Fatalf("read %d of %d bytes: %v", got, n, err)
	}
	return string(b)
}
