//go:build amd64 || arm64

package recorder

import (
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/bpf"
	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/internal/tlslib"
)

// TestTLSOverflow is case 21 for what is read inside libraries: nobody reads a
// small ring while much more goes through it. What is lost has its length,
// nothing with a hole is complete, and what comes later is.
func TestTLSOverflow(t *testing.T) {
	testenv.Root(t)
	cert, key := certFiles(t)
	addr, _ := startPeer(t, "tls "+cert+" "+key)
	src := openTLS(t, bpf.Options{Ports: []int{portOf(t, addr)}, RingBytes: 1 << 16})
	c := tlsClient(t)
	for i := range 4 {
		ask(t, c, "https://"+addr+"/large/"+strconv.Itoa(i), strings.Repeat("l", 200_000))
	}
	r := startRecording(t, src, Config{KeepText: true})
	waitDrained(t, src.ebpfSource)
	c.CloseIdleConnections() // what comes later is on connections of its own
	until(t, "all is copied again", func() bool {
		src.mu.Lock()
		defer src.mu.Unlock()
		return src.rung.step == bpf.All
	})
	later := manyPosts(t, addr, 1, 4, 60) // small: the ring has room for few records of 8 KiB
	src.waitGone(t, later)
	got, rep := r.stop()

	var want, have, lost int64
	for d := range 2 {
		want += int64(src.counts.Want[d].Bytes)
		have += int64(src.counts.Have[d].Bytes)
		for reason, n := range src.counts.Lost {
			if reason == "raw_tls" { // the same bytes as the connection has them
				want -= int64(n[d].Bytes)
				continue
			}
			lost += int64(n[d].Bytes)
		}
	}
	told := rep.Totals.LostByReason["ring_full"]
	seen := rep.Totals.BytesSeen - rep.Totals.LostByReason["blind:tls"] // the client may open a connection for nothing
	if lost == 0 || want != have+lost || told != lost || seen != want {
		t.Errorf("recorded: seen %d, lost %v; the kernel: want %d, have %d, lost %d", seen, rep.Totals.LostByReason, want, have, lost)
	}
	whole := &collector{}
	for _, x := range got.list {
		if strings.HasPrefix(x.Target, "/c") {
			whole.list = append(whole.list, x)
		} else if x.Record.ReqComplete && x.Record.RespComplete {
			t.Errorf("complete with a hole: %+v", briefOf(x))
		}
	}
	wantBodies(t, whole, later)
}

// pythonRestricted lets no system call pass by which some kernels' return
// probes work: its number is 335 on amd64, and nobody else uses it.
const pythonRestricted = `
import ctypes, struct
libc = ctypes.CDLL(None, use_errno=True)
code = b"".join(struct.pack("HBBI", *f) for f in [
    (0x20, 0, 0, 0),           # load the call's number
    (0x15, 0, 1, 335),         # is it 335?
    (0x06, 0, 0, 0x80000000),  # end the process
    (0x06, 0, 0, 0x7fff0000),  # let it pass
])
buf = ctypes.create_string_buffer(code)
prog = struct.pack("HxxxxxxQ", 4, ctypes.addressof(buf))
p = ctypes.create_string_buffer(prog)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, p): raise OSError(ctypes.get_errno())
` + pythonAsync

// TestTLSRestricted is a server with a filter of system calls: it is probed at
// its return instructions, goes on to live, and is read.
func TestTLSRestricted(t *testing.T) {
	testenv.Root(t)
	cert, key := certFiles(t)
	cmd := exec.Command(testenv.Python(t, "ssl"), "-c", pythonRestricted, cert, key)
	addr := startProgram(t, cmd)
	p, err := tlslib.NewScanner("/proc").Process(cmd.Process.Pid)
	if err != nil || !p.Filtered {
		t.Fatalf("the filter is not seen: %v", err)
	}
	recordTLS(t, addr, func() []seenBody { return manyPosts(t, addr, 4, 5, 3000) })
	if alive, err := net.Dial("tcp", addr); err != nil {
		t.Errorf("the process has ended: %v", err)
	} else if err := alive.Close(); err != nil {
		t.Error(err)
	}
}
