package recorder

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shot is one segment of the scripts below. It goes to the server from port
// 40000 to port 8000, or back.
type shot struct {
	dir      Dir
	seq, ack uint32
	flags    uint8
	payload  string
}

func up(seq, ack uint32, flags uint8, payload string) shot {
	return shot{ToServer, seq, ack, flags, payload}
}

func down(seq, ack uint32, flags uint8, payload string) shot {
	return shot{ToClient, seq, ack, flags, payload}
}

// runShots sends a script through tracker and reassembler, one packet a
// millisecond.
func runShots(t *tracker, shots ...shot) (*streamLog, reassemblyStats) {
	log := newStreamLog()
	r := newReassembler(log)
	for i, s := range shots {
		p := tcpPacket{
			time: int64(i+1) * 1e6, src: ipAddr{lo: 1}, dst: ipAddr{lo: 2}, srcPort: 40000, dstPort: 8000,
			seq: s.seq, ack: s.ack, flags: s.flags, payload: []byte(s.payload), want: len(s.payload),
		}
		if s.dir == ToClient {
			p.src, p.dst, p.srcPort, p.dstPort = p.dst, p.src, p.dstPort, p.srcPort
		}
		t.take(&p)
		for seg, ok := t.next(); ok; seg, ok = t.next() {
			r.add(&seg)
		}
	}
	r.flush()
	return log, r.stats
}

// streamsOf renders the bytes, gaps and ends of all connections.
func streamsOf(log *streamLog) []string {
	var out []string
	for id := uint64(1); int(id) <= len(log.conns); id++ {
		for d := range log.conns[id].dirs {
			dir := &log.conns[id].dirs[d]
			line := fmt.Sprintf("%d %v %q", id, Dir(d), dir.data)
			if len(dir.gaps) > 0 {
				line += " gaps " + strings.Join(dir.gaps, ", ")
			}
			if dir.fin {
				line += " end"
			}
			out = append(out, line)
		}
	}
	return out
}

const (
	syn = flagSYN
	ack = flagACK
	psh = flagACK | flagPSH
	fin = flagACK | flagFIN
	rst = flagRST
)

func TestTracker(t *testing.T) {
	const get, ok = "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 200 \r\n\r\n"
	tests := []struct {
		name  string
		shots []shot
		want  []string
	}{
		{"handshake, data, end", []shot{
			up(99, 0, syn, ""), down(499, 100, syn|ack, ""), up(100, 500, ack, ""),
			up(100, 500, psh, "ab"), down(500, 102, psh, "xy"), down(502, 102, fin, ""), up(102, 503, fin, ""),
		}, []string{`1 to_server "ab" end`, `1 to_client "xy" end`}},
		{"sequence numbers wrap", []shot{
			up(0xfffffffe, 0, syn, ""), down(0xffffffff, 0xffffffff, syn|ack, ""),
			up(0xffffffff, 0, psh, "abc"), down(0, 2, psh, "x"), up(2, 1, fin, "d"),
		}, []string{`1 to_server "abcd" end`, `1 to_client "x"`}},
		{"SYN with data (fast open), answered", []shot{
			up(99, 0, syn, get), down(499, 118, syn|ack, ""), down(500, 118, psh, ok), up(118, 517, ack, ""),
		}, []string{fmt.Sprintf("1 to_server %q", get), fmt.Sprintf("1 to_client %q", ok)}},
		{"SYN with data, refused and sent again", []shot{
			up(99, 0, syn, "ab"), down(499, 100, syn|ack, ""), up(100, 500, psh, "abcd"),
		}, []string{`1 to_server "abcd"`, `1 to_client ""`}},
		{"SYN sent three times", []shot{
			up(99, 0, syn, ""), up(99, 0, syn, ""), up(99, 0, syn, ""), down(499, 100, syn|ack, ""), up(100, 500, psh, "ab"),
		}, []string{`1 to_server "ab"`, `1 to_client ""`}},
		{"SYN not captured: begins with the SYN/ACK", []shot{
			down(499, 100, syn|ack, ""), up(102, 500, psh, "cd"), up(100, 500, psh, "ab"),
		}, []string{`1 to_server "abcd"`, `1 to_client ""`}},
		{"SYN/ACK not captured: the ACK tells where answers begin", []shot{
			up(99, 0, syn, ""), up(100, 500, ack, ""), up(100, 500, psh, "ab"), down(503, 102, psh, "yz"), down(500, 102, psh, "vwx"),
		}, []string{`1 to_server "ab"`, `1 to_client "vwxyz"`}},
		{"no SYN, client by its request", []shot{
			up(700, 800, psh, get), down(800, 718, psh, ok),
		}, []string{fmt.Sprintf("1 to_server %q", get), fmt.Sprintf("1 to_client %q", ok)}},
		{"no SYN, ACKs before data say nothing", []shot{
			down(800, 700, ack, ""), up(700, 800, ack, ""), down(800, 700, fin, ""),
		}, nil},
		{"no SYN, middle of an answer: the lower port serves", []shot{
			down(800, 700, psh, "xyz"), down(803, 700, psh, "w"), up(700, 804, psh, get),
		}, []string{fmt.Sprintf("1 to_server %q", get), `1 to_client "xyzw"`}},
		{"keep-alive probes without a byte and with a garbage byte", []shot{
			up(99, 0, syn, ""), down(499, 100, syn|ack, ""), up(100, 500, psh, "ab"), down(500, 102, ack, ""),
			up(101, 500, ack, ""), down(500, 102, ack, ""), up(101, 500, ack, "\x00"), up(102, 500, psh, "cd"),
		}, []string{`1 to_server "abcd"`, `1 to_client ""`}},
		{"a probe's byte does not fill a hole", []shot{
			up(99, 0, syn, ""), down(499, 100, syn|ack, ""), down(500, 103, ack, ""), up(102, 500, ack, "\x00"), up(103, 500, psh, "de"),
		}, []string{`1 to_server "???de" gaps 0+3 gap`, `1 to_client ""`}},
		{"no SYN, begins with a probe", []shot{
			up(699, 800, ack, "\x00"), up(700, 800, psh, get),
		}, []string{fmt.Sprintf("1 to_server %q", get), `1 to_client ""`}},
		{"one real byte at a time", []shot{
			up(99, 0, syn, ""), down(499, 100, syn|ack, ""), up(100, 500, psh, "a"), up(101, 500, psh, "b"), down(500, 102, ack, ""), up(102, 500, ack, "c"),
		}, []string{`1 to_server "abc"`, `1 to_client ""`}},
		{"ports used again after an end", []shot{
			up(99, 0, syn, ""), down(499, 100, syn|ack, ""), up(100, 500, psh, "ab"), up(102, 500, fin, ""), down(500, 103, fin, ""), up(103, 501, ack, ""),
			up(7000, 0, syn, ""), down(8000, 7001, syn|ack, ""), up(7001, 8001, psh, "cd"),
		}, []string{`1 to_server "ab" end`, `1 to_client "" end`, `2 to_server "cd"`, `2 to_client ""`}},
		{"ports used again, no end seen", []shot{
			up(99, 0, syn, ""), up(100, 500, psh, "ab"), up(7000, 0, syn, ""), up(7001, 8001, psh, "cd"),
		}, []string{`1 to_server "ab"`, `1 to_client ""`, `2 to_server "cd"`, `2 to_client ""`}},
		{"ports used again, no SYN either", []shot{
			up(99, 0, syn, ""), up(100, 500, psh, "ab"), up(0x90000000, 5, psh, "cd"), up(0x90000002, 5, psh, get),
		}, []string{`1 to_server "ab"`, `1 to_client ""`, fmt.Sprintf("2 to_server %q", get), `2 to_client ""`}},
		{"one damaged sequence number", []shot{
			up(99, 0, syn, ""), up(100, 500, psh, "ab"), up(0x90000000, 5, psh, "!!"), up(102, 500, psh, "cd"),
		}, []string{`1 to_server "abcd"`, `1 to_client ""`}},
		{"late packets after the end", []shot{
			up(99, 0, syn, ""), down(499, 100, syn|ack, ""), up(100, 500, psh, "ab"), up(102, 500, fin, ""), down(500, 103, fin, ""),
			up(100, 500, psh, "ab"), up(102, 501, fin, ""), down(500, 103, rst, ""),
		}, []string{`1 to_server "ab" end`, `1 to_client "" end`}},
		{"FIN out of order", []shot{
			up(99, 0, syn, ""), down(499, 100, syn|ack, ""), up(104, 500, fin, ""), up(102, 500, psh, "cd"), up(100, 500, psh, "ab"),
		}, []string{`1 to_server "abcd" end`, `1 to_client ""`}},
		{"answer after the client's FIN, then RST", []shot{
			up(99, 0, syn, ""), down(499, 100, syn|ack, ""), up(100, 500, fin, "ab"), down(500, 103, psh, "xy"), up(103, 0, rst, ""),
		}, []string{`1 to_server "ab" end`, `1 to_client "xy"`}},
		{"connection refused", []shot{
			up(99, 0, syn, ""), down(0, 100, rst|ack, ""),
		}, []string{`1 to_server ""`, `1 to_client "" end`}},
		{"RST out of window is not believed", []shot{
			up(99, 0, syn, ""), up(100, 500, psh, "ab"), up(0xa0000000, 0, rst, ""), up(102, 500, psh, "cd"),
		}, []string{`1 to_server "abcd"`, `1 to_client ""`}},
		{"acknowledged, but never captured", []shot{
			up(99, 0, syn, ""), down(499, 100, syn|ack, ""), up(100, 500, psh, "ab"), up(102, 900, ack, ""),
		}, []string{`1 to_server "ab"`, fmt.Sprintf("1 to_client %q gaps 0+400 gap", strings.Repeat("?", 400))}},
		{"acknowledged FIN is not a byte", []shot{
			up(99, 0, syn, ""), down(499, 100, syn|ack, ""), up(100, 500, psh, "ab"), down(500, 103, ack, ""),
		}, []string{`1 to_server "ab"`, `1 to_client ""`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			log, _ := runShots(newTracker(nil), tt.shots...)
			if diff := cmp.Diff(tt.want, streamsOf(log)); diff != "" {
				t.Errorf("streams (-want +got):\n%s\nevents %q", diff, log.events)
			}
		})
	}
}

// A guess by port is taken back when content shows it wrong.
func TestTurnedRound(t *testing.T) {
	// The server's port is the higher one: 40000 serves, 8000 asks.
	log, _ := runShots(
		newTracker(nil),
		up(700, 800, psh, "...rest of an answer"),
		down(800, 720, psh, "GET /next HTTP/1.1\r\n\r\n"),
		up(720, 822, psh, "HTTP/1.1 200 \r\n\r\n"),
	)
	want := []string{
		`1 to_server "...rest of an answer"`, `1 to_client ""`,
		`2 to_server "GET /next HTTP/1.1\r\n\r\n"`, `2 to_client "HTTP/1.1 200 \r\n\r\n"`,
	}
	if diff := cmp.Diff(want, streamsOf(log)); diff != "" {
		t.Errorf("streams (-want +got):\n%s", diff)
	}
	if server := log.conns[2].info.Server.Port(); server != 40000 {
		t.Errorf("server port %d", server)
	}
}

// The ports that the caller asks for decide before the lower number does.
func TestServerByPortFilter(t *testing.T) {
	log, _ := runShots(newTracker([]int{40000}), up(700, 800, psh, "...rest of an answer"))
	want := []string{`1 to_server ""`, `1 to_client "...rest of an answer"`}
	if diff := cmp.Diff(want, streamsOf(log)); diff != "" {
		t.Errorf("streams (-want +got):\n%s", diff)
	}
}

func TestTrackerCounts(t *testing.T) {
	tr := newTracker(nil)
	runShots(
		tr,
		up(99, 0, syn, ""), down(499, 100, syn|ack, ""), up(100, 500, psh, "ab"), down(500, 102, ack, ""),
		up(101, 500, ack, ""), up(101, 500, ack, "\x00"), up(0x90000000, 5, psh, "!!"),
	)
	var s SourceStats
	tr.addTo(&s)
	want := SourceStats{Segments: 7, KeepAlives: 2, OutOfWindow: 1, Connections: 1}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
}

// FuzzTracker sends any packets of one pair of ends through tracker and
// reassembler: streamLog panics where calls do not join, and every connection
// is closed.
func FuzzTracker(f *testing.F) {
	record := func(shots ...shot) (b []byte) {
		for _, s := range shots {
			b = append(b, byte(s.dir), s.flags)
			b = binary.BigEndian.AppendUint32(b, s.seq)
			b = binary.BigEndian.AppendUint32(b, s.ack)
			b = append(b, byte(len(s.payload)), 0)
		}
		return b
	}
	f.Add(record(up(99, 0, syn, ""), down(499, 100, syn|ack, ""), up(100, 500, psh, "ab"), down(500, 102, fin, "xy"), up(102, 503, rst, "")))
	f.Add(record(up(0xfffffffe, 0, syn, "abc"), down(9, 2, psh, "x"), up(0x80000000, 1, psh, "x"), up(0x80000001, 1, psh, "x"), up(7, 0, syn, "")))
	f.Add(record(down(500, 7, psh, "HTTP/1."), up(7, 500, fin, ""), up(6, 0, ack, "x"), down(507, 8, fin, "")))
	f.Fuzz(func(t *testing.T, script []byte) {
		var shots []shot
		for ; len(script) >= 12; script = script[12:] {
			payload := strings.Repeat("x", int(script[10]))
			if script[11]&1 != 0 {
				payload = "GET /" + payload
			}
			shots = append(shots, shot{
				Dir(script[0] & 1), binary.BigEndian.Uint32(script[2:]), binary.BigEndian.Uint32(script[6:]), script[1], payload,
			})
		}
		tr := newTracker(nil)
		log, _ := runShots(tr, shots...)
		for id, c := range log.conns {
			if c.end == "" {
				t.Fatalf("connection %d is not closed", id)
			}
		}
		if int64(len(log.conns)) > tr.ids || len(tr.conns) > 1 {
			t.Fatalf("%d connections seen, %d made, %d kept", len(log.conns), tr.ids, len(tr.conns))
		}
	})
}
