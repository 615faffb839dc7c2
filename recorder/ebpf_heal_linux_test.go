//go:build amd64 || arm64

package recorder

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/bpf"
	"github.com/lambdac/lambdac/trace"
)

// TestEBPFControlRing: hundreds of connections come and go while nobody reads a
// control ring that has room for a fifth of what is to be told of them. All are
// told all the same: addresses, bytes, ends, who broke one off; only what was
// open is open.
func TestEBPFControlRing(t *testing.T) {
	addr, _ := startPeer(t, "pour")
	src := openEBPF(t, bpf.Options{Ports: []int{portOf(t, addr)}, ControlBytes: 1 << 16}).(*ebpfSource)
	const conns, stay = 400, 3
	type seen struct {
		Client  netip.AddrPort
		Outcome string
		Bytes   int64
	}
	want := make(map[string]seen)
	var ends []net.Conn
	for i := range conns + stay {
		c := dialPeer(t, addr)
		path := fmt.Sprintf("/%d?1", i)
		w := seen{c.LocalAddr().(*net.TCPAddr).AddrPort(), "ok/", 1000}
		if broken := i%100 == 99 && i < conns; broken { // leaves amid the answer
			path = fmt.Sprintf("/%d?20000", i)
			w.Outcome, w.Bytes = "client_abort/recorded", 0
			say(t, c, "GET "+path+" HTTP/1.1\r\nHost: h\r\n\r\n")
			hear(t, c, 5000)
			if err := c.SetLinger(0); err != nil {
				t.Fatal(err)
			}
		} else {
			say(t, c, "GET "+path+" HTTP/1.1\r\nHost: h\r\n\r\n")
			hear(t, c, len(headOf(1000))+1000)
		}
		want[path] = w
		if i >= conns {
			ends = append(ends, c)
			continue
		}
		c.Close()
	}
	until(t, "the server has closed them", func() bool { return tableSize(t, src, false) == stay })
	r := startRecording(t, src, Config{})
	until(t, "all ends are told", func() bool {
		src.mu.Lock()
		defer src.mu.Unlock()
		return len(src.conns) == stay
	})
	for _, c := range ends {
		c.Close()
	}
	got, rep := r.stop()
	checkIdentity(t, src, rep)
	if src.counts.ControlFull < conns || src.counts.EndsLost > 0 {
		t.Errorf("%d events found the ring full, %d were lost", src.counts.ControlFull, src.counts.EndsLost)
	}
	have := make(map[string]seen)
	for _, x := range got.list {
		detail := ""
		if x.Record.OutcomeDetail != nil {
			detail = string(*x.Record.OutcomeDetail)
		}
		s := seen{x.Client, string(x.Record.Outcome) + "/" + detail, x.Record.RespBodyBytes}
		if s.Outcome == "client_abort/recorded" {
			s.Bytes = 0 // as many as it took
		}
		have[x.Target] = s
	}
	if diff := cmp.Diff(want, have, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Errorf("exchanges (-want +got):\n%s%v", diff, rep.Warnings)
	}
	if n := rep.Source.Connections; n != conns+stay {
		t.Errorf("%d connections", n)
	}
}

// TestEBPFLostEnds: where not even the map had room, a connection that the kernel
// no longer has is closed, and what was open of it is cut, not aborted.
func TestEBPFLostEnds(t *testing.T) {
	k := newFake()
	request := func(cookie uint64) bpf.Data {
		d := out(cookie, 0, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", ms)
		d.ToClient = false
		return d
	}
	k.control = []bpf.Control{openAt(7), openAt(8), openAt(9)}
	k.data = []bpf.Data{request(7), request(8), request(9)}
	k.spilled = []bpf.Control{{Kind: bpf.Close, Cookie: 9, Time: at(2 * time.Second), Pos: [2]int64{100, 0}, Flags: bpf.FINIn | bpf.PeerFirst}}
	k.lengths = map[uint64][2]int64{8: {27, 0}}
	k.counts = func() bpf.Counts { return bpf.Counts{EndsLost: 1} }
	src := newEBPFSource(k, k.clocks)
	src.sleep = k.pass
	var open int
	var got collector
	_, err := Run(t.Context(), &stopAfter{src, at(4 * time.Second), func() { open = len(src.conns) }, k}, &got, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if open != 1 {
		t.Errorf("%d connections are open", open)
	}
	have := make(map[uint64]trace.Outcome)
	for i, x := range got.list {
		have[uint64(i)] = x.Record.Outcome
	}
	if diff := cmp.Diff(map[uint64]trace.Outcome{0: "client_abort", 1: "cut_by_capture", 2: "cut_by_capture"}, have); diff != "" {
		t.Errorf("outcomes in order of their ends (-want +got):\n%s", diff)
	}
}

// stopAfter closes a source at a time of its clock.
type stopAfter struct {
	*ebpfSource
	end  int64
	at   func()
	fake *fakeKernel
}

func (s *stopAfter) Next() (Segment, error) {
	if s.fake.boot >= s.end && s.at != nil {
		s.at()
		s.at = nil
		_ = s.Close()
	}
	return s.ebpfSource.Next()
}
