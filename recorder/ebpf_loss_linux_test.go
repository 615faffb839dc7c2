//go:build amd64 || arm64

package recorder

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/bpf"
	"github.com/lambdac/lambdac/trace"
)

// TestEBPFOverflow is case 21: nobody reads a small ring while much more goes
// through it. What is lost has its place and its length, Σwant = Σhave +
// Σreasons, nothing with a hole is complete, and what comes later is.
func TestEBPFOverflow(t *testing.T) {
	addr, _ := startPeer(t, "pour")
	src := openEBPF(t, bpf.Options{Ports: []int{portOf(t, addr)}, RingBytes: 1 << 16, ControlBytes: 1 << 16}).(*ebpfSource)
	const conns = 4
	var open []*net.TCPConn
	ask := func(n int) {
		c := dialPeer(t, addr)
		open = append(open, c)
		say(t, c, fmt.Sprintf("GET /%d?%d HTTP/1.1\r\nHost: h\r\n\r\n", len(open), n))
		hear(t, c, len(headOf(n*1000))+n*1000)
	}
	for range conns {
		ask(400)
	}
	open[0].Close() // its tail is lost, and told by its end
	r := startRecording(t, src, Config{})
	waitDrained(t, src)
	for range conns {
		ask(2)
	}
	for _, c := range open[1:conns] { // and behind the hole, on one that has it
		for range 3 {
			waitDrained(t, src)
			say(t, c, "GET /again?2 HTTP/1.1\r\nHost: h\r\n\r\n")
			hear(t, c, len(headOf(2000))+2000)
		}
	}
	got, rep := r.stop()

	checkIdentity(t, src, rep)
	if rep.Totals.LostByReason["ring_full"] == 0 {
		t.Error("nothing was lost: the test shows nothing")
	}
	later := 0
	for _, x := range got.list {
		b := briefOf(x)
		switch {
		case strings.HasSuffix(b.Target, "?2"):
			later++
			if b.Outcome != "ok" || b.RespBytes != 2000 {
				t.Errorf("afterwards: %+v", b)
			}
		case x.Record.RespComplete || x.Record.Outcome == trace.OutcomeOK:
			t.Errorf("complete with a hole: %+v", b)
		}
	}
	if want := conns + 3*(conns-1); later != want {
		t.Errorf("%d later exchanges, want %d: %v", later, want, rep.Warnings)
	}
}

// waitDrained waits until the source has read what there is.
func waitDrained(t *testing.T, src *ebpfSource) {
	t.Helper()
	until(t, "the ring is empty", func() bool { return src.kernel.Fill() == 0 })
}

// checkIdentity compares the kernel's counts with each other and with those of
// the recording.
func checkIdentity(t *testing.T, src *ebpfSource, rep Report) {
	t.Helper()
	var want, have, lost, told int64
	for d := range 2 {
		w, h := src.counts.Want[d].Bytes, src.counts.Have[d].Bytes
		sum := h
		for _, n := range src.counts.Lost {
			sum += n[d].Bytes
			lost += int64(n[d].Bytes)
		}
		if w != sum {
			t.Errorf("direction %d: want %d bytes ≠ have %d + lost %v", d, w, h, src.counts.Lost)
		}
		want, have = want+int64(w), have+int64(h)
	}
	for reason, n := range rep.Totals.LostByReason {
		if strings.HasPrefix(reason, blindPrefix) && reason != "blind:tls" {
			continue
		}
		told += n
	}
	if rep.Totals.BytesSeen != want || told != lost || rep.Totals.BytesSeen-told != have {
		t.Errorf("recorded: seen %d, lost %v; the kernel: want %d = have %d + lost %v",
			rep.Totals.BytesSeen, rep.Totals.LostByReason, want, have, src.counts.Lost)
	}
}

// TestEBPFDetach: at the last step nothing but bytes is counted, and what comes
// once it is over is whole, on connections old and new.
func TestEBPFDetach(t *testing.T) {
	addr, _ := startPeer(t, "pour")
	src := openEBPF(t, bpf.Options{Ports: []int{portOf(t, addr)}}).(*ebpfSource)
	r := startRecording(t, src, Config{})
	old := dialPeer(t, addr)
	ask := func(c io.ReadWriter, path string) {
		if _, err := fmt.Fprintf(c, "GET %s?100 HTTP/1.1\r\nHost: h\r\n\r\n", path); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, c, int64(len(headOf(100_000))+100_000)); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []bpf.Step{bpf.All, bpf.Detach, bpf.All} {
		if err := src.kernel.SetLadder(step); err != nil {
			t.Fatal(err)
		}
		ask(old, fmt.Sprintf("/old%d", step))
		c := dialPeer(t, addr)
		ask(c, fmt.Sprintf("/new%d", step))
		c.Close()
	}
	old.Close()
	got, rep := r.stop()
	checkIdentity(t, src, rep)
	whole := make(map[string]int)
	for _, x := range got.list {
		if x.Record.RespComplete {
			whole[x.Target]++
		}
	}
	if diff := cmp.Diff(map[string]int{"/old0?100": 2, "/new0?100": 2}, whole); diff != "" {
		t.Errorf("whole exchanges (-want +got):\n%s%v", diff, briefs(got.list))
	}
	lost := src.counts.Lost["ladder"]
	if n := lost[ToClient].Bytes; n != 2*uint64(len(headOf(100_000))+100_000) {
		t.Errorf("%d bytes of answers left out", n)
	}
	// By its own name: behind it there were more bytes, or the connection's end.
	want := map[string]int64{lostLadder: int64(lost[ToClient].Bytes + lost[ToServer].Bytes)}
	if diff := cmp.Diff(want, rep.Totals.LostByReason); diff != "" {
		t.Errorf("lost by reason (-want +got):\n%s", diff)
	}
}

// TestEBPFLadderHTTP2: under pressure header blocks of HTTP/2 are kept, so that
// each stream has its route and status; of bodies there are lengths, where a
// call of the server's was one frame. A hundred streams share one connection.
func TestEBPFLadderHTTP2(t *testing.T) {
	addr, _ := startPeer(t, "speak")
	src := openEBPF(t, bpf.Options{Ports: []int{portOf(t, addr)}}).(*ebpfSource)
	if err := src.kernel.SetLadder(bpf.StartsOnly); err != nil {
		t.Fatal(err)
	}
	r := startRecording(t, src, Config{})
	talkTogether(t, addr)
	got, rep := r.stop()
	checkIdentity(t, src, rep)
	if len(got.list) != togetherStreams+1 {
		t.Fatalf("%d exchanges: %v", len(got.list), rep.Warnings)
	}
	for _, x := range got.list {
		name := fieldValue(x.ReqHeader, "x-name")
		want := "/v1/chat/completions"
		if name == "" {
			want = "/plain"
		}
		if x.Target != want || deref(x.Record.StatusCode) != "200" || x.Record.HTTPVersion != "2" {
			t.Errorf("%s %s: status %v over HTTP/%s", name, x.Target, deref(x.Record.StatusCode), x.Record.HTTPVersion)
		}
		if x.Record.RespWireBytes < x.Record.LostBytesResp {
			t.Errorf("%s: %d bytes, %d of them left out", name, x.Record.RespWireBytes, x.Record.LostBytesResp)
		}
	}
	// What the server still sent on a stream that its client had reset is blind.
	lost := rep.Totals.LostByReason
	if lost[lostLadder] == 0 || lost[lostLadder]+lost["blind:http2"] != sumOf(lost) {
		t.Errorf("lost by reason: %v", lost)
	}
}

// TestEBPFLadderJoined: a connection of HTTP/2 that was open before is known by
// its frames, so that its header blocks are kept under pressure too: each later
// exchange has its status.
func TestEBPFLadderJoined(t *testing.T) {
	addr, _ := startPeer(t, "speak")
	var src *ebpfSource
	var r *running
	talkJoined(t, addr, true, func() {
		src = openEBPF(t, bpf.Options{Ports: []int{portOf(t, addr)}}).(*ebpfSource)
		if err := src.kernel.SetLadder(bpf.StartsOnly); err != nil {
			t.Fatal(err)
		}
		r = startRecording(t, src, Config{})
	})
	got, rep := r.stop()
	checkIdentity(t, src, rep)
	versions, statuses := make(map[string]int), make(map[string]int)
	for _, x := range got.list {
		versions[x.Record.HTTPVersion]++
		statuses[deref(x.Record.StatusCode)]++
	}
	if diff := cmp.Diff(map[string]int{"2": 5}, versions); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if statuses["200"] != 4 { // the head of the one under way came before
		t.Errorf("statuses %v", statuses)
	}
}

// TestEBPFLadder steps through what is left out under pressure: arrivals,
// routes, lengths and statuses stay.
func TestEBPFLadder(t *testing.T) {
	addr, _ := startPeer(t, "pour")
	for step := bpf.All; step <= bpf.StartsOnly; step++ {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			src := openEBPF(t, bpf.Options{Ports: []int{portOf(t, addr)}}).(*ebpfSource)
			if err := src.kernel.SetLadder(step); err != nil {
				t.Fatal(err)
			}
			const n = 8
			r := startRecording(t, src, Config{})
			for i := range n {
				c := dialPeer(t, addr)
				say(t, c, fmt.Sprintf("GET /%d?100 HTTP/1.1\r\nHost: h\r\n\r\n", i))
				hear(t, c, len(headOf(100_000))+100_000)
				c.Close()
			}
			got, rep := r.stop()
			checkIdentity(t, src, rep)
			if len(got.list) != n {
				t.Fatalf("%d exchanges, want %d: %v", len(got.list), n, rep.Warnings)
			}
			complete := 0
			for i, x := range got.list {
				rec := x.Record
				if x.Target != fmt.Sprintf("/%d?100", i) || *rec.StatusCode != 200 || rec.RespWireBytes != 100_000 {
					t.Errorf("%s: status %v, %d bytes", x.Target, *rec.StatusCode, rec.RespWireBytes)
				}
				if rec.RespComplete {
					complete++
				}
			}
			switch {
			case step <= bpf.CapBodies && complete != n, // writes of 1000 bytes
				step == bpf.SampleBodies && (complete == 0 || complete == n),
				step >= bpf.HeadsOnly && complete != 0:
				t.Errorf("step %d: %d of %d answers complete", step, complete, n)
			}
		})
	}
}

func sumOf(lost map[string]int64) (sum int64) {
	for _, n := range lost {
		sum += n
	}
	return sum
}
