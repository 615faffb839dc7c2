package recorder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket/layers"
)

// convo is a short connection: the segments of its packets, in order.
func convo(sport uint16, request, answer string) [][]byte {
	up, down := tcpHeader{sport: sport, dport: 8000}, tcpHeader{sport: 8000, dport: sport}
	make1 := func(h tcpHeader, seq, ack uint32, flags uint8, payload string) []byte {
		h.seq, h.ack, h.flags = seq, ack, flags
		return ipv4(layers.IPProtocolTCP, h.with(payload))
	}
	if sport == 8000 {
		panic("same ports")
	}
	flip := func(b []byte) []byte {
		out := bytes.Clone(b)
		copy(out[12:], b[16:20])
		copy(out[16:], b[12:16])
		return out
	}
	n, m := uint32(len(request)), uint32(len(answer))
	return [][]byte{
		make1(up, 100, 0, flagSYN, ""),
		flip(make1(down, 900, 101, flagSYN|flagACK, "")),
		make1(up, 101, 901, flagACK, ""),
		make1(up, 101, 901, flagACK|flagPSH, request),
		flip(make1(down, 901, 101+n, flagACK|flagPSH, answer)),
		make1(up, 101+n, 901+m, flagACK|flagFIN, ""),
		flip(make1(down, 901+m, 102+n, flagACK|flagFIN, "")),
	}
}

// spaced gives packets times 1 ms apart from start on.
func spaced(start int64, packets ...[]byte) []captured {
	out := make([]captured, len(packets))
	for i, p := range packets {
		out[i] = captured{ns: start + int64(i)*1e6, data: p}
	}
	return out
}

func TestReadConnection(t *testing.T) {
	log, src, stats := readBytes(t, microPcap(linkRaw, spaced(1e9, convo(40000, "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 204 \r\n\r\n")...)...))
	want := []string{
		"open 1",
		`data 1 to_server 0 "GET / HTTP/1.1\r\n\r\n" @1003000000`,
		`data 1 to_client 0 "HTTP/1.1 204 \r\n\r\n" @1004000000`,
		"fin 1 to_server @1005000000",
		"fin 1 to_client @1006000000",
		"closed 1 @1006000000",
	}
	if diff := cmp.Diff(want, log.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	info := log.conns[1].info
	if info.Client.String() != "10.0.0.1:40000" || info.Server.String() != "10.0.0.2:8000" || !info.SawSYN || info.Start != 1e9 {
		t.Errorf("info = %+v", info)
	}
	if info.ConnectNs == nil || *info.ConnectNs != 2e6 {
		t.Errorf("ConnectNs = %v, want 2 ms", info.ConnectNs)
	}
	if stats != (reassemblyStats{}) {
		t.Errorf("reassembly = %+v", stats)
	}
	wantStats := SourceStats{Packets: 7, Bytes: 7*40 + 35, ReadBytes: 24 + 7*(16+40) + 35, Segments: 7, Connections: 1, Undecoded: map[string]int64{}}
	if diff := cmp.Diff(wantStats, src.Stats()); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
}

// A packet that is captured on several interfaces counts once, whatever header
// each of them gives it: lo twice, "any" over a bridge, VLAN and VXLAN.
func TestSamePacketsTwice(t *testing.T) {
	const request, answer = "POST /v1 HTTP/1.1\r\n\r\n", "HTTP/1.1 200 \r\n\r\n"
	f := (&ngFile{}).section(binary.LittleEndian).face(linkRaw, 0).face(linkEthernet, 0).face(linkSLL2, 0)
	for i, p := range convo(40000, request, answer) {
		us := uint64(1_000_000 + 1000*i)
		f.packet(0, us, string(p), len(p)).packet(0, us, string(p), len(p))
		tagged := string(ether(layers.EthernetTypeDot1Q, vlan(layers.EthernetTypeIPv4, p)))
		f.packet(1, us+1, tagged, len(tagged))
		cooked := string(joined([]byte{8, 0}, make([]byte, 18), p))
		f.packet(2, us+2, cooked, len(cooked))
	}
	log, src, stats := readBytes(t, f.b)
	if got := src.Stats().Connections; got != 1 {
		t.Fatalf("%d connections, want 1", got)
	}
	if log.text(1, ToServer) != request || log.text(1, ToClient) != answer || log.conns[1].dirs[0].gaps != nil {
		t.Errorf("streams %q, %q", log.text(1, ToServer), log.text(1, ToClient))
	}
	repeated := int64(3 * (len(request) + len(answer)))
	if stats.DuplicateBytes+stats.LateBytes != repeated || stats.ConflictingBytes != 0 {
		t.Errorf("%d duplicate and %d late bytes, want %d", stats.DuplicateBytes, stats.LateBytes, repeated)
	}
}

func writeFiles(t *testing.T, files ...[]byte) []string {
	t.Helper()
	var paths []string
	for i, b := range files {
		path := filepath.Join(t.TempDir(), string(rune('a'+i))+".pcap")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// Requests in one file, answers in another, and the whole in a third.
func TestMergeFilesByTime(t *testing.T) {
	packets := spaced(1e9, convo(40000, "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 204 \r\n\r\n")...)
	var up, down []captured
	for _, p := range packets {
		if p.data[15] == 1 {
			up = append(up, p)
		} else {
			down = append(down, p)
		}
	}
	alone, _, _ := readBytes(t, microPcap(linkRaw, packets...))
	paths := writeFiles(t, microPcap(linkRaw, down...), microPcap(linkRaw, up...), microPcap(linkRaw, packets...))
	for _, tt := range []struct {
		name  string
		paths []string
	}{{"two halves", paths[:2]}, {"halves and whole", paths}} {
		src, err := OpenFiles(tt.paths)
		if err != nil {
			t.Fatal(err)
		}
		log, _, err := readAll(src)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(alone.events, log.events); diff != "" {
			t.Errorf("%s (-one file +several):\n%s", tt.name, diff)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenFilesErrors(t *testing.T) {
	if _, err := OpenFiles([]string{filepath.Join(t.TempDir(), "none.pcap")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	paths := writeFiles(t, microPcap(linkRaw), nil)
	broken := (*CaptureError)(nil)
	if _, err := OpenFiles(paths); !errors.As(err, &broken) || broken.File != paths[1] {
		t.Errorf("empty file: %v", err)
	}
}

// A capture without packets is no error: nothing was seen.
func TestNoPackets(t *testing.T) {
	log, src, _ := readBytes(t, microPcap(linkRaw))
	if len(log.events) != 0 || src.Stats().Packets != 0 {
		t.Errorf("events %v", log.events)
	}
}

func TestCutFile(t *testing.T) {
	file := microPcap(linkRaw, spaced(1e9, convo(40000, "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 204 \r\n\r\n")...)...)
	log, src, _ := readBytes(t, file[:len(file)-5])
	stats := src.Stats()
	if stats.Packets != 6 || len(stats.Cut) != 1 || len(stats.Warnings) != 0 {
		t.Errorf("stats = %+v", stats)
	}
	if w := stats.Cut[0]; !strings.Contains(w, `"test.pcap"`) || !strings.Contains(w, "byte ") {
		t.Errorf("warning %q", w)
	}
	if log.conns[1].end != "closed" || log.text(1, ToClient) == "" {
		t.Error("the good part is lost")
	}
}

// Damage in one file ends that file; the others are read, then it is reported.
func TestDamagedFileAmongOthers(t *testing.T) {
	damaged := append(microPcap(linkRaw, spaced(1e9, convo(40000, "GET /a HTTP/1.1\r\n\r\n", "")[:4]...)...), bytes.Repeat([]byte{0xff}, 16)...)
	whole := microPcap(linkRaw, spaced(2e9, convo(40001, "GET /b HTTP/1.1\r\n\r\n", "")...)...)
	paths := writeFiles(t, damaged, whole)
	src, err := OpenFiles(paths)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	log, _, err := readAll(src)
	broken := (*CaptureError)(nil)
	if !errors.As(err, &broken) || broken.File != paths[0] || broken.Offset != int64(len(damaged)-16) {
		t.Errorf("err = %v", err)
	}
	if log.text(1, ToServer) != "GET /a HTTP/1.1\r\n\r\n" || log.text(2, ToServer) != "GET /b HTTP/1.1\r\n\r\n" {
		t.Errorf("streams %q, %q", log.text(1, ToServer), log.text(2, ToServer))
	}
}

func TestUnknownLinkTypeOfAnInterface(t *testing.T) {
	f := (&ngFile{}).section(binary.LittleEndian).face(105, 0).face(linkRaw, 0)
	for i, p := range convo(40000, "GET / HTTP/1.1\r\n\r\n", "x") {
		f.packet(0, uint64(i), "beacon", 6).packet(1, uint64(i), string(p), len(p))
	}
	log, src, _ := readBytes(t, f.b)
	stats := src.Stats()
	if stats.Undecoded["link_type"] != 7 || len(stats.Warnings) != 1 || !strings.Contains(stats.Warnings[0], "802.11") {
		t.Errorf("stats = %+v", stats)
	}
	if log.text(1, ToClient) != "x" {
		t.Error("the other interface is lost")
	}
}

func TestPortFilter(t *testing.T) {
	packets := append(convo(40000, "GET / HTTP/1.1\r\n\r\n", "x"), ipv4(layers.IPProtocolTCP, tcpHeader{sport: 1, dport: 2}.with("ssh")))
	_, src, _ := readBytes(t, microPcap(linkRaw, spaced(1, packets...)...), 8000, 8001)
	if s := src.Stats(); s.Segments != 7 || s.Filtered != 1 || s.Connections != 1 {
		t.Errorf("stats = %+v", s)
	}
}

func TestCloseEndsNext(t *testing.T) {
	src, err := openReader(bytes.NewReader(microPcap(linkRaw, spaced(1, convo(1, "a", "b")...)...)), "f")
	if err != nil {
		t.Fatal(err)
	}
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := src.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("Next after Close: %v", err)
	}
}
