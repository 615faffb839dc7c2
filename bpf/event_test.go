package bpf

import (
	_ "embed"
	"encoding/binary"
	"net/netip"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

//go:embed events.h
var eventsHeader string

// dataRecord is a record as the kernel side writes it: struct lc_data.
func dataRecord(have uint32) []byte {
	b := make([]byte, 512)
	le := binary.LittleEndian
	b[0], b[1], b[2], b[3] = 1, 1, 1, 1
	le.PutUint32(b[4:], 3)
	for i, v := range []uint64{7, 100, 200} {
		le.PutUint64(b[8+8*i:], v)
	}
	for i, v := range []uint32{9, have, 2, 50, 11, 12, 1, 4} {
		le.PutUint32(b[32+4*i:], v)
	}
	le.PutUint64(b[64:], 77)
	le.PutUint64(b[72:], 88)
	copy(b[80:], "payload")
	return b
}

func TestParseData(t *testing.T) {
	var got Data
	if err := got.parse(dataRecord(7)); err != nil {
		t.Fatal(err)
	}
	want := Data{
		Source: SSL, ToClient: true, Why: "efault", Cookie: 7, Pos: 100, Time: 200, Want: 9, Bytes: []byte("payload"),
		Chunk: 2, Call: 50, TGID: 11, TID: 12, CPU: 1, Generation: 4, Sequence: 77, SSL: 88,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
}

func TestParseControl(t *testing.T) {
	b := make([]byte, controlSize)
	le := binary.LittleEndian
	b[0], b[1], b[3] = 1, byte(Close), 1
	le.PutUint32(b[4:], uint32(Late|Counted|Closed))
	for i, v := range []uint64{7, 100, 90, 1, 2, 3, 4, 5} {
		le.PutUint64(b[8+8*i:], v)
	}
	for i, v := range []uint32{11, 12, afInet6, 13} {
		le.PutUint32(b[72+4*i:], v)
	}
	le.PutUint16(b[88:], 8000)
	le.PutUint16(b[90:], 40000)
	v4 := netip.MustParseAddr("::ffff:10.1.2.3").As16()
	copy(b[96:], v4[:])
	copy(b[112:], netip.MustParseAddr("fd00::1").AsSlice())
	le.PutUint64(b[128:], 55)
	le.PutUint32(b[140:], etimedout)
	copy(b[144:], "vllm")
	var got Control
	if err := got.parse(b); err != nil {
		t.Fatal(err)
	}
	want := Control{
		Kind: Close, ToClient: true, Flags: Late | Counted | Closed, Cookie: 7, Time: 100, Start: 90,
		Pos: [2]int64{1, 2}, SeqPos: [2]int64{3, 4}, Acked: 5, TGID: 11, TID: 12, NetNS: 13,
		Local: netip.MustParseAddrPort("10.1.2.3:8000"), Remote: netip.MustParseAddrPort("[fd00::1]:40000"),
		Socket: 55, Vanished: true, Comm: "vllm",
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Errorf("control (-want +got):\n%s", diff)
	}
}

// FuzzEvents: whatever a ring holds is read or refused.
func FuzzEvents(f *testing.F) {
	f.Add(dataRecord(7))
	f.Add(dataRecord(1 << 31))
	f.Add(append([]byte{1, 5}, make([]byte, controlSize)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		var d Data
		if d.parse(b) == nil && len(d.Bytes) > len(b)-dataSize {
			t.Fatal("more bytes than there are")
		}
		var c Control
		_ = c.parse(b)
	})
}

// TestHeader: the numbers of this package are those of events.h.
func TestHeader(t *testing.T) {
	for name, want := range map[string]int{
		"EVENT_VERSION": version, "EVENT_DATA": int(kindData), "EVENT_OPEN": int(Open), "EVENT_FIN": int(FIN),
		"EVENT_RST": int(RST), "EVENT_CLOSE": int(Close), "EVENT_TLS": int(TLS), "EVENT_EXIT": int(Exit),
		"EVENT_BIND": int(Bind), "EVENT_UNBIND": int(Unbind), "SOURCE_SSL": int(SSL), "SOURCE_GO": int(Go),
		"CONN_LATE": int(Late), "CONN_CLIENT": int(Client), "CONN_TLS": int(Encrypted), "CONN_UNIX": int(Unix),
		"CONN_SEQ": int(Counted), "CONN_CLOSED": int(Closed), "CONN_FIN_IN": int(FINIn), "CONN_FIN_OUT": int(FINOut),
		"CONN_PEER_FIRST": int(PeerFirst), "CONN_RST_IN": int(RSTIn), "CONN_RST_OUT": int(RSTOut), "COUNT_RING_FULL": firstReason,
		"COUNT_IGNORED": firstReason + len(Reasons()) - 1,
		"LADDER_CAP":    int(CapBodies), "LADDER_SAMPLE": int(SampleBodies), "LADDER_HEADS": int(HeadsOnly),
		"LADDER_STARTS": int(StartsOnly), "LADDER_DETACH": int(Detach),
	} {
		found := regexp.MustCompile(`(?m)\b` + name + `(?: =)? (\d+)`).FindStringSubmatch(eventsHeader)
		if found == nil {
			t.Errorf("%s is not in events.h", name)
		} else if got, err := strconv.Atoi(found[1]); err != nil || got != want {
			t.Errorf("%s is %s in events.h, %d here", name, found[1], want)
		}
	}
}
