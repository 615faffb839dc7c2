package recorder

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/google/gopacket/layers"
)

// nullStreams is a streamHandler that only counts.
type nullStreams struct{ bytes, gaps int64 }

func (n *nullStreams) open(*ConnInfo)                                      {}
func (n *nullStreams) data(_ *ConnInfo, _ Dir, _ int64, b []byte, _ int64) { n.bytes += int64(len(b)) }

func (n *nullStreams) gap(_ *ConnInfo, _ Dir, _, k int64, _ string, _ int64) {
	n.gaps += k
}
func (n *nullStreams) fin(*ConnInfo, Dir, int64) {}
func (n *nullStreams) rst(*ConnInfo, Dir, int64) {}
func (n *nullStreams) closed(*ConnInfo, int64)   {}

// repeatCapture is a loopback capture n times over: each round an hour later,
// and from other addresses, so that its connections are new ones.
func repeatCapture(tb testing.TB, path string, n int) []byte {
	tb.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	order := binary.LittleEndian
	out := bytes.Clone(file[:24])
	for round := range n {
		for b := file[24:]; len(b) > 0; {
			size := 16 + int(order.Uint32(b[8:]))
			at := len(out)
			out = append(out, b[:size]...)
			order.PutUint32(out[at:], order.Uint32(b)+uint32(round)*3600)
			ip := out[at+16+14:]
			binary.BigEndian.PutUint16(ip[13:], uint16(round))
			binary.BigEndian.PutUint16(ip[17:], uint16(round))
			b = b[size:]
		}
	}
	return out
}

// BenchmarkPackets reads a real capture over and over: file, headers,
// tracking and reassembly, up to the handler.
func BenchmarkPackets(b *testing.B) {
	file := repeatCapture(b, "testdata/captures/o-longer-mixed.pcap", 20)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	var packets, late int64
	for b.Loop() {
		src, err := openReader(bytes.NewReader(file), "bench")
		if err != nil {
			b.Fatal(err)
		}
		r := newReassembler(new(nullStreams))
		for {
			seg, err := src.Next()
			if err != nil {
				break
			}
			r.add(&seg)
		}
		r.flush()
		packets += src.Stats().Packets
		late += r.stats.LateBytes
	}
	if late > 0 {
		b.Fatalf("%d late bytes: the rounds are not apart", late)
	}
	b.ReportMetric(float64(packets)/b.Elapsed().Seconds(), "packets/s")
}

// BenchmarkDecode is the headers alone.
func BenchmarkDecode(b *testing.B) {
	frame := ether(layers.EthernetTypeDot1Q, vlan(layers.EthernetTypeIPv4, ipv4(layers.IPProtocolTCP, tcpHeader{sport: 40000, dport: 8000, options: 12}.with("data: {}\n\n"))))
	b.ReportAllocs()
	var seg tcpPacket
	for b.Loop() {
		if decodePacket(linkEthernet, frame, len(frame), &seg) != decoded {
			b.Fatal("not decoded")
		}
	}
}

// BenchmarkReordered delivers every second segment before the one it follows.
func BenchmarkReordered(b *testing.B) {
	data := make([]byte, 200)
	c := &ConnInfo{ID: 1}
	r := newReassembler(new(nullStreams))
	b.SetBytes(2 * int64(len(data)))
	b.ReportAllocs()
	var pos, now int64
	for b.Loop() {
		for _, at := range [2]int64{pos + 200, pos} {
			r.add(&Segment{Conn: c, Pos: at, Data: data, Want: len(data), Time: now})
			now += 1000
		}
		pos += 400
	}
	r.flush()
}
