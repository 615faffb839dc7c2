package recorder

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/gopacket/layers"
	"golang.org/x/net/bpf"

	"github.com/lambdac/lambdac/internal/testenv"
)

// echoConns opens n connections to a server that answers each line with
// itself, thrice as long, and returns when all are closed.
func echoConns(t *testing.T, l net.Listener, n int, line func(i int) string) {
	t.Helper()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serveEcho(c)
		}
	}()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			fmt.Fprint(c, line(i))
			if err := c.(*net.TCPConn).CloseWrite(); err != nil {
				t.Error(err)
			}
			if got, err := io.ReadAll(c); err != nil || string(got) != strings.Repeat(line(i), 3) {
				t.Errorf("answer of %d bytes, %v", len(got), err)
			}
		})
	}
	wg.Wait()
}

func serveEcho(c net.Conn) {
	defer c.Close()
	b, err := io.ReadAll(c)
	if err != nil {
		return
	}
	for range 3 {
		if _, err := c.Write(b); err != nil {
			return
		}
	}
}

// collectLive reads a source until n connections are closed or 20 s are over.
func collectLive(t *testing.T, src Source, n int) *streamLog {
	t.Helper()
	log := newStreamLog()
	r := newReassembler(log)
	closed := 0
	for start := time.Now(); closed < n && time.Since(start) < 20*time.Second; {
		seg, err := src.Next()
		if errors.Is(err, ErrTick) {
			r.tick(seg.Time)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		r.add(&seg)
		if seg.Conn.streams == streamsDone && !seg.Gone && (seg.FIN || seg.RST) {
			closed++
		}
	}
	r.flush()
	return log
}

// What is captured on the loopback device is what was sent, byte for byte and
// once, small and larger than any segment, over IPv4 and IPv6.
func TestLiveCapture(t *testing.T) {
	testenv.Root(t)
	for _, tt := range []struct{ name, face, address string }{
		{"IPv4 on lo", "lo", "127.0.0.1:0"},
		{"IPv6 on lo", "lo", "[::1]:0"},
		{"IPv4 on any", "any", "127.0.0.1:0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := net.Listen("tcp", tt.address)
			if err != nil {
				testenv.Missing(t, "a loopback address "+tt.address, "enable it")
			}
			defer l.Close()
			port := l.Addr().(*net.TCPAddr).Port
			src, err := OpenInterface(tt.face, []int{port})
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			const n = 8
			line := func(i int) string { return strings.Repeat(fmt.Sprintf("line %d;", i), 1+i*3000) }
			done := make(chan *streamLog)
			go func() { done <- collectLive(t, src, n) }()
			echoConns(t, l, n, line)
			checkLive(t, <-done, src, n, line)
		})
	}
}

func checkLive(t *testing.T, log *streamLog, src Source, n int, line func(i int) string) {
	t.Helper()
	if len(log.conns) != n {
		t.Errorf("%d connections, want %d; stats %+v", len(log.conns), n, src.Stats())
	}
	want := make(map[string]bool)
	for i := range n {
		want[line(i)] = true
	}
	for id, c := range log.conns {
		request := log.text(id, ToServer)
		if !want[request] || log.text(id, ToClient) != strings.Repeat(request, 3) {
			t.Errorf("connection %d: %d and %d bytes", id, len(request), len(log.text(id, ToClient)))
		}
		delete(want, request)
		if !c.info.SawSYN || c.info.ConnectNs == nil || !c.dirs[0].fin || !c.dirs[1].fin {
			t.Errorf("connection %d: %+v", id, c.info)
		}
		if age := time.Since(time.Unix(0, c.info.Start)); age < 0 || age > time.Minute {
			t.Errorf("connection %d began %v ago", id, age)
		}
	}
	if s := src.Stats(); s.KernelDrops != 0 || s.Truncated != 0 {
		t.Errorf("stats %+v", s)
	}
}

// Close makes a waiting Next return, at once.
func TestLiveClose(t *testing.T) {
	testenv.Root(t)
	src, err := OpenInterface("lo", []int{1})
	if err != nil {
		t.Fatal(err)
	}
	if seg, err := src.Next(); !errors.Is(err, ErrTick) || seg.Time == 0 {
		t.Errorf("Next without traffic = %v, %v, want ErrTick and the time", seg.Time, err)
	}
	done := make(chan error)
	go func() {
		for {
			if _, err := src.Next(); !errors.Is(err, ErrTick) {
				done <- err
				return
			}
		}
	}()
	if err := src.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, io.EOF) {
		t.Errorf("Next = %v, want io.EOF", err)
	}
	if err := src.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, err := src.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("Next after Close = %v", err)
	}
	if src.Stats().Packets != 0 {
		t.Errorf("stats %+v", src.Stats())
	}
}

// What was sent before Close is still handed out after it.
func TestLiveCloseKeepsTheRest(t *testing.T) {
	testenv.Root(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	src, err := OpenInterface("lo", []int{l.Addr().(*net.TCPAddr).Port})
	if err != nil {
		t.Fatal(err)
	}
	line := func(int) string { return strings.Repeat("x", 200000) }
	echoConns(t, l, 1, line)
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
	log, _, err := readAll(src)
	if err != nil {
		t.Fatal(err)
	}
	checkLive(t, log, src, 1, line)
}

func TestUnknownInterface(t *testing.T) {
	_, err := OpenInterface("nosuch0", nil)
	if err == nil || !strings.Contains(err.Error(), "lo") || !strings.Contains(err.Error(), "any") {
		t.Errorf("err = %v", err)
	}
}

// The filter's port checks, run outside the kernel on packets that begin with
// their network header.
func TestFilterPorts(t *testing.T) {
	tests := []struct {
		name    string
		program []bpf.Instruction
		packet  []byte
		pass    bool
	}{
		{"to the port", filterIPv4([]int{80, 8000}), ipv4(layers.IPProtocolTCP, tcpHeader{sport: 1, dport: 8000}.with("")), true},
		{"from the port", filterIPv4([]int{80, 8000}), ipv4(layers.IPProtocolTCP, tcpHeader{sport: 80, dport: 1}.with("")), true},
		{"other ports", filterIPv4([]int{80, 8000}), ipv4(layers.IPProtocolTCP, tcpHeader{sport: 1, dport: 2}.with("")), false},
		{"behind IPv4 options", filterIPv4([]int{80}), ipv4Options(layers.IPProtocolTCP, 12, tcpHeader{sport: 1, dport: 80}.with("")), true},
		{"all ports", filterIPv4(nil), ipv4(layers.IPProtocolTCP, tcpHeader{sport: 1, dport: 2}.with("")), true},
		{"UDP", filterIPv4(nil), ipv4(layers.IPProtocolUDP, tcpHeader{sport: 1, dport: 2}.with("")), false},
		{"a later fragment", filterIPv4([]int{80}), joined([]byte{0x45, 0, 0, 20, 0, 0, 0, 9, 64, byte(layers.IPProtocolTCP)}, make([]byte, 10)), true},
		{"IPv6", filterIPv6([]int{80}), ipv6(layers.IPProtocolTCP, tcpHeader{sport: 1, dport: 80}.with("")), true},
		{"IPv6, other port", filterIPv6([]int{80}), ipv6(layers.IPProtocolTCP, tcpHeader{sport: 1, dport: 81}.with("")), false},
		{"IPv6 with options", filterIPv6([]int{80}), ipv6(layers.IPProtocolIPv6Destination, make([]byte, 40)), true},
		{"QUIC", filterIPv4([]int{443}), ipv4(layers.IPProtocolUDP, tcpHeader{sport: 1, dport: 443}.with("")), true},
		{"QUIC, IPv6", filterIPv6([]int{80, 443}), ipv6(layers.IPProtocolUDP, tcpHeader{sport: 443, dport: 1}.with("")), true},
		{"QUIC, not asked for", filterIPv4([]int{80}), ipv4(layers.IPProtocolUDP, tcpHeader{sport: 1, dport: 443}.with("")), false},
		{"IPv6 UDP", filterIPv6(nil), ipv6(layers.IPProtocolUDP, make([]byte, 40)), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			vm, err := bpf.NewVM(tt.program)
			if err != nil {
				t.Fatal(err)
			}
			n, err := vm.Run(tt.packet)
			if err != nil || (n > 0) != tt.pass {
				t.Errorf("passes %d bytes, %v; want pass = %v", n, err, tt.pass)
			}
		})
	}
}

// The largest program is within the kernel's limit; beyond that many ports the
// kernel does not filter by them.
func TestFilterSize(t *testing.T) {
	const limit = 4096 // BPF_MAXINSNS
	ports := make([]int, maxFilterPorts)
	for _, list := range [][]int{nil, ports[:1], ports, append(ports, 1)} {
		raw, err := bpf.Assemble(liveFilter(list))
		if err != nil || len(raw) > limit {
			t.Errorf("%d ports: %d instructions, %v", len(list), len(raw), err)
		}
	}
}
