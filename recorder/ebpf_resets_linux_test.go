//go:build amd64 || arm64

package recorder

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lambdac/lambdac/bpf"
	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
)

func init() {
	acts["hold"] = func(c *net.TCPConn, req *http.Request) bool { // until the client is gone
		swallow(req)
		io.WriteString(c, sseHead+chunk(textEvent("one")))
		io.Copy(io.Discard, c)
		return false
	}
}

// TestEBPFResetMix ends dozens of streams at once in each way that a side can:
// the kernel and the packets tell the same ends, of whom and by what.
func TestEBPFResetMix(t *testing.T) {
	addr, _ := startPeer(t, "acts")
	port := portOf(t, addr)
	live, err := OpenInterface("lo", []int{port})
	if err != nil {
		t.Fatal(err)
	}
	packets := startRecording(t, live, Config{})
	inside := startRecording(t, openEBPF(t, bpf.Options{Ports: []int{port}}), Config{})
	const each = 17
	ways := []struct {
		act     string
		outcome string
		end     func(c *net.TCPConn)
	}{
		{"reset", "server_abort", func(*net.TCPConn) {}},
		{"quit", "server_abort", func(*net.TCPConn) {}},
		{"endless", "client_abort", func(c *net.TCPConn) { _ = c.SetLinger(0) }},
		{"endless", "client_abort", func(*net.TCPConn) {}},
	}
	var all sync.WaitGroup
	for _, way := range ways {
		for range each {
			c := dialPeer(t, addr)
			all.Go(func() {
				defer c.Close()
				if _, err := io.WriteString(c, chatTo(way.act)); err != nil {
					t.Error(err)
					return
				}
				if way.outcome == "client_abort" {
					_, err := io.ReadFull(c, make([]byte, 1000))
					if err != nil {
						t.Error(err)
					}
				} else {
					_, _ = io.Copy(io.Discard, c) // ends by the server's doing
				}
				way.end(c)
			})
		}
	}
	all.Wait()
	a, _ := inside.stop()
	b, _ := packets.stop()
	count := func(list []*trace.Exchange) map[string]int {
		n := make(map[string]int)
		for _, x := range list {
			n[briefOutcome(x.Record)]++
		}
		return n
	}
	in, out := count(a.list), count(b.list)
	if fmt.Sprint(in) != fmt.Sprint(out) {
		t.Errorf("inside %v, packets %v", in, out)
	}
	byOutcome := make(map[trace.Outcome]int)
	for _, x := range a.list {
		byOutcome[x.Record.Outcome]++
	}
	if byOutcome["server_abort"] != 2*each || byOutcome["client_abort"] != 2*each {
		t.Errorf("outcomes %v, want %d of each side", byOutcome, 2*each)
	}
}

// TestEBPFManyStreams holds 10,000 streams open: what the recorder keeps of them
// is bounded, none is lost, and each has its end.
func TestEBPFManyStreams(t *testing.T) {
	const streams, most = 10_000, 128 << 20
	testenv.Root(t)
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil || files.Max < streams+1000 {
		testenv.Missing(t, "11,000 descriptors", "raise the limit: ulimit -n")
	}
	addr, _ := startPeer(t, "acts")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	src := openEBPF(t, bpf.Options{Ports: []int{portOf(t, addr)}}).(*ebpfSource)
	r := startRecording(t, src, Config{})
	conns := make([]*net.TCPConn, streams)
	first := chunk(textEvent("one"))
	for i := range conns {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		conns[i] = c.(*net.TCPConn)
		if err := c.SetDeadline(time.Now().Add(testenv.Patience())); err != nil {
			t.Fatal(err)
		}
		say(t, c, chatTo("hold"))
	}
	for _, c := range conns {
		hearUntil(t, c, first)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n := int64(after.HeapAlloc) - int64(before.HeapAlloc); n > most {
		t.Errorf("%d bytes for %d streams, want at most %d", n, streams, most)
	}
	for _, c := range conns {
		c.Close()
	}
	until(t, "all have ended", func() bool {
		src.mu.Lock()
		defer src.mu.Unlock()
		return len(src.conns) == 0
	})
	got, rep := r.stop()
	ended := 0
	others := make(map[string]int)
	for _, x := range got.list {
		if x.Record.Outcome == trace.OutcomeClientAbort {
			ended++
		} else {
			others[briefOf(x).Outcome]++
		}
	}
	if ended != streams || rep.Totals.BytesLost != 0 {
		t.Errorf("%d of %d exchanges were broken off by the client, others %v, lost %v, %v", ended, len(got.list), others, rep.Totals.LostByReason, rep.Warnings)
	}
}
