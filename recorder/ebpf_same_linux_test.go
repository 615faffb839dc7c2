//go:build amd64 || arm64

package recorder

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lambdac/lambdac/bpf"
	"github.com/lambdac/lambdac/trace"
)

// TestEBPFSameAsPackets records one conversation inside the kernel and from
// packets at once: the Records are equal in all but times, ids, and the columns
// of the capture, the clock and the connection.
func TestEBPFSameAsPackets(t *testing.T) {
	addr, _ := startPeer(t, "acts")
	port := portOf(t, addr)
	inside := startRecording(t, openEBPF(t, bpf.Options{Ports: []int{port}}), Config{KeepText: true})
	live, err := OpenInterface("lo", []int{port})
	if err != nil {
		t.Fatal(err)
	}
	packets := startRecording(t, live, Config{KeepText: true})
	for _, act := range []string{"pause", "split", "burst", "gzipsse"} {
		askOnce(t, addr, chatTo(act), zeroChunk)
	}
	askOnce(t, addr, chatTo("trailer"), "yes\r\n\r\n")
	askOnce(t, addr, post("/a?plain", "1")+post("/b?plain", strings.Repeat("2", 90000))+post("/c?plain", ""), "/c ")
	askOnce(t, addr, "HEAD /h?head HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer secret\r\n\r\n", "1000\r\n\r\n")
	askOnce(t, addr, "GET /n?204 HTTP/1.1\r\nHost: h\r\n\r\n", "\r\n\r\n")
	askOnce(t, addr, "POST /e?417 HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n", "")
	askOnce(t, addr, post("/api/chat?ollama", `{"model":"q","messages":[{"role":"user","content":"hi"}]}`), zeroChunk)
	for _, act := range []string{"reset", "quit"} {
		c := dialPeer(t, addr)
		say(t, c, chatTo(act))
		for b := make([]byte, 4096); ; {
			if _, err := c.Read(b); err != nil {
				break
			}
		}
		c.Close()
	}
	c := dialPeer(t, addr)
	say(t, c, chatTo("wait")) // is under way when the recordings end
	hearUntil(t, c, chunk(textEvent("one")))
	time.Sleep(300 * time.Millisecond)
	a, repA := inside.stop()
	b, repB := packets.stop()
	compareRecords(t, a.list, b.list)
	if repA.Totals.BytesSeen != repB.Totals.BytesSeen || repA.Totals.BytesLost+repB.Totals.BytesLost != 0 {
		t.Errorf("bytes: inside %d, lost %v; packets %d, lost %v", repA.Totals.BytesSeen, repA.Totals.LostByReason, repB.Totals.BytesSeen, repB.Totals.LostByReason)
	}
}

// compareRecords pairs exchanges by target and client's port.
func compareRecords(t *testing.T, inside, packets []*trace.Exchange) {
	t.Helper()
	key := func(x *trace.Exchange) string { return fmt.Sprint(x.Target, " ", x.Client) }
	other := make(map[string]*trace.Exchange)
	for _, x := range packets {
		other[key(x)] = x
	}
	if len(inside) != len(packets) || len(other) != len(packets) {
		t.Errorf("%d exchanges inside, %d from packets, %d different", len(inside), len(packets), len(other))
	}
	for _, x := range inside {
		y := other[key(x)]
		if y == nil {
			t.Errorf("%s: not in the packets", key(x))
			continue
		}
		if diff := cmp.Diff(y, x, sameButTimes()...); diff != "" {
			t.Errorf("%s (-packets +inside):\n%s", key(x), diff)
		}
	}
}

func sameButTimes() []cmp.Option {
	return []cmp.Option{
		cmpopts.IgnoreFields(trace.Exchange{}, "Ordinal", "Conn", "Client", "Server"),
		cmpopts.IgnoreTypes(trace.Timing{}, trace.Conn{}),
		cmpopts.IgnoreFields(trace.Arrival{}, "StartUnixNs", "ArrivalResolutionNs"),
		cmpopts.IgnoreFields(trace.Capture{}, "CaptureSource", "ClockSource"),
		cmpopts.IgnoreFields(trace.Chunk{}, "GapUs"),
	}
}
