//go:build amd64 || arm64

package recorder

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/lambdac/lambdac/bpf"
	"github.com/lambdac/lambdac/trace"
)

// TestEBPFCalls reads and writes by every system call: cases 9 to 12, and what
// must not count twice. A peek is no read; a read that fails brings nothing.
func TestEBPFCalls(t *testing.T) {
	const big = 10 << 20
	rows := []struct {
		call    string
		body    int
		want    brief
		reasons map[string]int64
	}{
		{"read", 3000, brief{"", "ok", "200", 0, 3000, 3000, "true true", 0}, nil},
		{"read", 5 << 20, brief{"", "ok", "200", 0, 5 << 20, 5 << 20, "true true", 0}, nil},
		{"readv", 3001, brief{"", "ok", "200", 0, 3001, 3001, "true true", 0}, nil},
		{"recvfrom", 3002, brief{"", "ok", "200", 0, 3002, 3002, "true true", 0}, nil},
		{"recvmsg", 3003, brief{"", "ok", "200", 0, 3003, 3003, "true true", 0}, nil},
		{"recvmmsg", 3004, brief{"", "ok", "200", 0, 3004, 3004, "true true", 0}, nil},
		{"eagain", 1 << 20, brief{"", "ok", "200", 0, 1 << 20, 4 << 20, "true true", 0}, nil},
		{"mmap", 1, brief{"", "ok", "200", 0, 1, 1 << 20, "true true", 0}, nil},
		{"iovs", 1, brief{"", "ok", "200", 0, 1, big, "true true", 0}, nil},
		// What the kernel tells of what was sent comes by reads that are none.
		{"zerocopy", 10, brief{"", "ok", "200", 0, 10, 300_000, "true true", 0}, nil},
		{"errqueue", 20, brief{"", "ok", "200", 0, 20, 2000, "true true", 0}, nil},
		// Bytes that never were in the process's memory have their length and
		// their place, no more.
		{"sendfile", 1, brief{"", "cut_by_capture/gap", "200", 0, 1, 0, "true false", 100_000}, map[string]int64{"sendfile": 100_000}},
		{"splice", 1, brief{"", "cut_by_capture/gap", "200", 0, 1, 0, "true false", 1000}, map[string]int64{"splice": 1000}},
		{"trunc", 500, brief{"", "cut_by_capture/gap", "200", 0, 0, 0, "false true", 500}, map[string]int64{"discarded": 500}},
		{"mtrunc", 600, brief{"", "cut_by_capture/gap", "200", 0, 0, 0, "false true", 600}, map[string]int64{"discarded": 600}},
		{"empty", 700, brief{"", "ok", "200", 0, 700, 1000 * 1021, "true true", 0}, nil},
	}
	got, rep := recordPeer(t, "calls", func(addr string) {
		for i := range rows {
			rows[i].want.Target = fmt.Sprintf("/%d?%s", i, rows[i].call)
			c := dialPeer(t, addr)
			say(t, c, post(rows[i].want.Target, string(bigBody(rows[i].body))))
			hear(t, c, answerLen(rows[i].want.RespBytes, rows[i].reasons, rows[i].call))
			c.Close()
		}
	})
	lost := make(map[string]int64)
	var want []brief
	for _, row := range rows {
		want = append(want, row.want)
		for reason, n := range row.reasons {
			lost[reason] += n
		}
	}
	if diff := cmp.Diff(want, briefs(got.list)); diff != "" {
		t.Errorf("exchanges (-want +got):\n%s%v", diff, rep.Warnings)
	}
	if diff := cmp.Diff(lost, rep.Totals.LostByReason); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
	for i, x := range got.list { // every byte right, and each once
		if n := len(x.RespBody); n > 0 && string(x.RespBody) != string(bigBody(n)) {
			t.Errorf("%s: body of %d bytes differs", rows[i].call, n)
		}
	}
}

// answerLen is the length of the whole answer of a row.
func answerLen(body int64, reasons map[string]int64, call string) int {
	if !strings.HasSuffix(call, "trunc") {
		for _, n := range reasons {
			body += n
		}
	}
	return len(headOf(int(body))) + int(body)
}

// TestEBPFWorkers is case 16: two processes on one port, descriptors used
// again and duplicated.
func TestEBPFWorkers(t *testing.T) {
	addr, _ := startPeer(t, "worker 127.0.0.1:0")
	startPeer(t, "worker "+addr)
	r := startRecording(t, openEBPF(t, bpf.Options{Ports: []int{portOf(t, addr)}}), Config{})
	const conns, each = 40, 5
	for i := range conns {
		c := dialPeer(t, addr)
		for j := range each {
			path := fmt.Sprintf("/%d/%d", i, j)
			say(t, c, "GET "+path+" HTTP/1.1\r\nHost: h\r\n\r\n")
			hear(t, c, len(echoOf(path, "")))
		}
		c.Close()
	}
	got, rep := r.stop()
	if len(got.list) != conns*each || rep.Totals.Unpaired != 0 {
		t.Errorf("%d exchanges, %d unpaired; want %d", len(got.list), rep.Totals.Unpaired, conns*each)
	}
	byConn := make(map[uint64]string)
	for _, x := range got.list {
		first, _, _ := strings.Cut(x.Target[1:], "/")
		if was, ok := byConn[x.Conn]; ok && was != first || x.Record.Outcome != trace.OutcomeOK || x.Record.RespBodyBytes != int64(len(x.Target)+1) {
			t.Errorf("%s on the connection of /%s/…: %s, %d bytes", x.Target, was, x.Record.Outcome, x.Record.RespBodyBytes)
		}
		byConn[x.Conn] = first
	}
	if len(byConn) != conns {
		t.Errorf("%d connections; want %d", len(byConn), conns)
	}
}

// TestEBPFLateJoin is case 17 for HTTP/1: connections open at the start, one
// idle and one amid an answer.
func TestEBPFLateJoin(t *testing.T) {
	addr, process := startPeer(t, "acts")
	idle, busy := dialPeer(t, addr), dialPeer(t, addr)
	say(t, idle, post("/before?plain", "x"))
	hearUntil(t, idle, "/before x")
	say(t, busy, chatTo("wait"))
	hearUntil(t, busy, chunk(textEvent("one")))
	r := startRecording(t, openEBPF(t, bpf.Options{Ports: []int{portOf(t, addr)}}), Config{})
	say(t, idle, post("/after?plain", "x"))
	hearUntil(t, idle, "/after x")
	if err := process.Signal(unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	hearUntil(t, busy, zeroChunk)
	say(t, busy, post("/next?plain", "x"))
	hearUntil(t, busy, "/next x")
	got, rep := r.stop()
	var list []string
	for _, x := range got.list {
		list = append(list, x.Target+" "+briefOf(x).Outcome)
		if x.Client.Addr().String() != "127.0.0.1" || int(x.Server.Port()) != portOf(t, addr) {
			t.Errorf("%s: from %s to %s", x.Target, x.Client, x.Server)
		}
	}
	want := []string{"/after?plain ok", " cut_by_capture/late_join", "/next?plain ok"}
	slices.Sort(want)
	slices.Sort(list)
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("exchanges (-want +got):\n%s%v", diff, rep.Warnings)
	}
}

// TestEBPFUnix records a server on an AF_UNIX socket: case 25.
func TestEBPFUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	startPeer(t, "unix "+path)
	other := filepath.Join(t.TempDir(), "o")
	startPeer(t, "unix "+other)
	r := startRecording(t, openEBPF(t, bpf.Options{Paths: []string{path}}), Config{})
	for i, p := range []string{path, other, path} {
		c, err := net.Dial("unix", p)
		if err != nil {
			t.Fatal(err)
		}
		for j := range 2 {
			target := fmt.Sprintf("/%d%d", i, j)
			say(t, c, post(target, "x"))
			hear(t, c, len(echoOf(target, "x")))
		}
		c.Close()
		time.Sleep(50 * time.Millisecond) // closed there too
	}
	got, rep := r.stop()
	want := []brief{
		{"/00", "ok", "200", 0, 1, 5, "true true", 0},
		{"/01", "ok", "200", 0, 1, 5, "true true", 0},
		{"/20", "ok", "200", 0, 1, 5, "true true", 0},
		{"/21", "ok", "200", 0, 1, 5, "true true", 0},
	}
	if diff := cmp.Diff(want, briefs(got.list)); diff != "" {
		t.Errorf("exchanges (-want +got):\n%s%v", diff, rep.Warnings)
	}
	for _, x := range got.list {
		if x.Client.IsValid() || x.Record.ClientPort != nil {
			t.Errorf("%s: an address where there is none: %s", x.Target, x.Client)
		}
	}
}

// TestEBPFHop is case 25's proxy and server on one host: each connection is
// seen at its server's end only.
func TestEBPFHop(t *testing.T) {
	addrs, _ := startPeer(t, "hop")
	front, back, _ := strings.Cut(addrs, " ")
	ports := []int{portOf(t, front), portOf(t, back)}
	for _, row := range []struct {
		name  string
		o     bpf.Options
		ports []int
	}{
		{"server side", bpf.Options{Ports: ports}, ports},
		{"client side", bpf.Options{Ports: ports, NoServer: true, Client: true}, ports[1:]},
		{"one port", bpf.Options{Ports: ports[:1]}, ports[:1]},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := startRecording(t, openEBPF(t, row.o), Config{})
			c := dialPeer(t, front)
			say(t, c, post("/x", "y"))
			hear(t, c, len(echoOf("/x", "y")))
			c.Close()
			got, rep := r.stop()
			var seen []int
			for _, x := range got.list {
				seen = append(seen, int(x.Server.Port()))
				if x.Record.Outcome != trace.OutcomeOK {
					t.Errorf("%s on port %d: %s", x.Target, x.Server.Port(), x.Record.Outcome)
				}
			}
			if len(seen) != len(row.ports) {
				t.Fatalf("exchanges on ports %v, want %v: %v", seen, row.ports, rep.Warnings)
			}
		})
	}
}

// TestEBPFFilters looks at connections of one port by who serves them.
func TestEBPFFilters(t *testing.T) {
	addr, process := startPeer(t, "echo")
	port := portOf(t, addr)
	comm := filepath.Base(os.Args[0])
	if len(comm) > 15 {
		comm = comm[:15]
	}
	for _, row := range []struct {
		name string
		o    bpf.Options
		want int
	}{
		{"by process", bpf.Options{TGIDs: []int{process.Pid}}, 1},
		{"another process", bpf.Options{Ports: []int{port}, TGIDs: []int{1}}, 0},
		{"another port", bpf.Options{Ports: []int{port + 1}}, 0},
		{"by name", bpf.Options{Ports: []int{port}, Comms: []string{comm}}, 1},
		{"another name", bpf.Options{Ports: []int{port}, Comms: []string{"nobody"}}, 0},
		{"another group", bpf.Options{Ports: []int{port}, Cgroups: []uint64{1 << 50}}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := startRecording(t, openEBPF(t, row.o), Config{})
			c := dialPeer(t, addr)
			say(t, c, post("/x", "y"))
			hear(t, c, len(echoOf("/x", "y")))
			c.Close()
			if got, rep := r.stop(); len(got.list) != row.want {
				t.Errorf("%d exchanges, want %d: %v", len(got.list), row.want, rep.Warnings)
			}
		})
	}
}

// TestEBPFIOURing: what io_uring moves is not seen, and is told by its bytes:
// an answer of which only the head was seen is not complete.
func TestEBPFIOURing(t *testing.T) {
	got, rep := recordEnded(t, "uring", func(addr string) {
		c := dialPeer(t, addr)
		say(t, c, "GET /u HTTP/1.1\r\nHost: h\r\n\r\n")
		hear(t, c, len(headOf(5000))+5000)
		c.Close()
	})
	if len(got.list) != 1 || got.list[0].Record.RespComplete || rep.Totals.LostByReason["unseen"] != 5000 {
		t.Errorf("exchanges %+v, lost %v", briefs(got.list), rep.Totals.LostByReason)
	}
	if all := strings.Join(rep.Warnings, "\n"); !strings.Contains(all, "5000 bytes were moved by ways that are not seen") || !strings.Contains(all, "calls of io_uring") {
		t.Errorf("warnings %q", all)
	}
}

// TestEBPFTLSBlind: raw bytes of TLS are counted, by process and port, and not
// read.
func TestEBPFTLSBlind(t *testing.T) {
	var port int
	got, rep := recordEnded(t, "raw", func(addr string) {
		port = portOf(t, addr)
		c := dialPeer(t, addr)
		say(t, c, "\x16\x03\x01\x01\x00"+strings.Repeat("h", 256))
		hear(t, c, 21)
		say(t, c, "\x17\x03\x03\x00\x10"+strings.Repeat("d", 16))
		c.Close()
	})
	const bytes = 5 + 256 + 21 + 21
	if len(got.list) != 0 || rep.Totals.LostByReason["blind:tls"] != bytes {
		t.Errorf("%d exchanges, lost %v; want %d bytes of blind:tls", len(got.list), rep.Totals.LostByReason, bytes)
	}
	want := fmt.Sprintf("%d bytes of TLS were not read: process ", bytes)
	if all := strings.Join(rep.Warnings, "\n"); !strings.Contains(all, want) || !strings.Contains(all, fmt.Sprintf("port %d", port)) {
		t.Errorf("warnings %q lack %q and the port", all, want)
	}
}
