package recorder

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// frameLog is what the framing finds in a stream, with a hole at a place.
func frameLog(stream []byte, at, lost, size int) (lines []string, unread int64) {
	var free tlsBuffers
	f := tlsFraming{free: &free, take: func(what itemKind, record []byte, n int64, why string) {
		lines = append(lines, fmt.Sprintf("%d %x %d %s", what, record, n, why))
	}}
	feed := func(b []byte) {
		for i := 0; i < len(b); i += size {
			unread += f.feed(b[i:min(i+size, len(b))])
		}
	}
	feed(stream[:at])
	if lost > 0 {
		unread += f.gap(int64(lost), lostGap)
	}
	feed(stream[min(at+lost, len(stream)):])
	return append(lines, fmt.Sprintf("rest %x", f.buf)), unread
}

func TestFraming(t *testing.T) {
	stream := []byte("\x16\x03\x01\x00\x02ab\x17\x03\x03\x00\x00\x17\x03\x03\x00\x11" + "0123456789abcdefg" + "\x17\x03\x03\x00\x11" + "ABCDEFGHIJKLMNOPQ" + "\x15\x03")
	hello, empty := "0 16030100026162 0 ", "0 1703030000 0 "
	first := fmt.Sprintf("0 %x 0 ", stream[12:34])
	second := fmt.Sprintf("0 %x 0 ", stream[34:56])
	rows := []struct {
		name     string
		at, lost int
		want     []string
	}{
		{"whole", 0, 0, []string{hello, empty, first, second, "rest 1503"}},
		{"inside a record", 20, 5, []string{hello, empty, "1  22 gap", second, "rest 1503"}},
		{"the end of a record", 20, 14, []string{hello, empty, "1  22 gap", second, "rest 1503"}},
		{"one record", 12, 22, []string{hello, empty, "2  22 gap", second, "rest 1503"}},
		{"the head of a record", 12, 3, []string{hello, empty, "2  3 gap", "3 0011303132 0 " + tlsHole, "rest "}},
		{"two records in part", 20, 20, []string{hello, empty, "2  28 gap", "3 4243444546 0 " + tlsHole, "rest "}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			for size := 1; size <= len(stream); size++ {
				got, _ := frameLog(stream, row.at, row.lost, size)
				if diff := cmp.Diff(row.want, got); diff != "" {
					t.Fatalf("pieces of %d (-want +got):\n%s", size, diff)
				}
			}
		})
	}
}

// FuzzRecords: every split of a stream gives the same records, and every byte
// is in one of them or counted.
func FuzzRecords(f *testing.F) {
	f.Add([]byte("\x16\x03\x01\x00\x02ab\x17\x03\x03\x00\x01c\x15\x03\x03\x00\x02"), uint16(9), uint16(0))
	f.Add([]byte("\x17\x03\x03\x00\x11aaaaaaaaaaaaaaaaa\x17\x03\x03\x00\x11bbbbbbbbbbbbbbbbb"), uint16(7), uint16(15))
	f.Add([]byte("\x17\x03\x03\x00\x11aaaaaaaaaaaaaaaaa\x17\x03\x03\x00\x11bbbbbbbbbbbbbbbbb"), uint16(22), uint16(22))
	f.Add([]byte("\x17\x03\x03\xff\xffaaaa"), uint16(0), uint16(3))
	f.Fuzz(func(t *testing.T, stream []byte, cut, lost uint16) {
		at := min(int(cut), len(stream))
		whole, unread := frameLog(stream, at, int(lost), len(stream)+1)
		single, again := frameLog(stream, at, int(lost), 1)
		if diff := cmp.Diff(whole, single); diff != "" || unread != again {
			t.Errorf("unread %d and %d; records (-whole +split):\n%s", unread, again, diff)
		}
	})
}

// pieceSource cuts the segments of a source into pieces, changes a byte of one
// direction and leaves some out.
type pieceSource struct {
	Source
	size     int
	dir      Dir
	at, lost int64
	xor      byte
	rest     []Segment
}

func (s *pieceSource) Next() (Segment, error) {
	for len(s.rest) == 0 {
		seg, err := s.Source.Next()
		if err != nil {
			return seg, err
		}
		s.split(seg)
	}
	seg := s.rest[0]
	s.rest = s.rest[1:]
	return seg, nil
}

func (s *pieceSource) split(seg Segment) {
	data := bytes.Clone(seg.Data)
	if i := s.at - seg.Pos; seg.Dir == s.dir && i >= 0 && i < int64(len(data)) {
		data[i] ^= s.xor
	}
	ends := seg
	ends.Data, ends.Want, ends.Pos = nil, 0, seg.Pos+int64(len(data))
	for i := 0; i < len(data); i += s.size {
		part := seg
		part.SYN, part.FIN, part.RST, part.Gone, part.Acked = false, false, false, false, 0
		part.Pos = seg.Pos + int64(i)
		part.Data = data[i:min(i+s.size, len(data))]
		part.Want = len(part.Data)
		s.rest = append(s.rest, s.without(part)...)
	}
	s.rest = append(s.rest, ends)
}

// without leaves the lost bytes out.
func (s *pieceSource) without(seg Segment) (list []Segment) {
	from, to := s.at, s.at+s.lost
	if seg.Dir != s.dir || s.lost == 0 {
		return []Segment{seg}
	}
	end := seg.Pos + int64(len(seg.Data))
	if seg.Pos < from {
		head := seg
		head.Data = seg.Data[:min(end, from)-seg.Pos]
		head.Want = len(head.Data)
		list = append(list, head)
	}
	if end > to {
		tail := seg
		tail.Pos = max(seg.Pos, to)
		tail.Data = seg.Data[tail.Pos-seg.Pos:]
		tail.Want = len(tail.Data)
		list = append(list, tail)
	}
	return list
}

// FuzzTLS: a damaged or holed TLS connection gives the same exchanges however
// its bytes are cut, its bytes are counted once, and nothing in it is taken
// for an error of the service.
func FuzzTLS(f *testing.F) {
	f.Add(uint8(0), false, uint16(0), uint16(0), uint8(0))
	f.Add(uint8(0), true, uint16(2400), uint16(0), uint8(1))
	f.Add(uint8(1), false, uint16(30), uint16(0), uint8(0x80))
	f.Add(uint8(2), true, uint16(3000), uint16(60), uint8(0))
	f.Add(uint8(3), false, uint16(700), uint16(5), uint8(0))
	names := []string{"openssl-keyupdate", "openssl-early", "openssl-early-refused", "openssl-tls12-renegotiate"}
	f.Fuzz(func(t *testing.T, file uint8, answers bool, at, lost uint16, xor uint8) {
		path := filepath.Join("testdata", "tls", names[int(file)%len(names)]+".pcap")
		run := func(size int) []string {
			src, err := OpenFiles([]string{path})
			if err != nil {
				t.Fatal(err)
			}
			d := ToServer
			if answers {
				d = ToClient
			}
			pieces := &pieceSource{Source: src, size: size, dir: d, at: int64(at), lost: int64(lost % 256), xor: xor}
			var c collector
			rep, err := Run(context.Background(), pieces, &c, Config{KeyLog: keyLogOf(t, path)})
			if err != nil {
				t.Fatal(err)
			}
			if !c.totals.Balanced() || c.totals.OpenAtEnd != 0 {
				t.Errorf("loss account does not balance: %+v", c.totals)
			}
			lines := []string{fmt.Sprint(c.totals.BytesSeen, c.totals.LostByReason)}
			for _, x := range c.list {
				lines = append(lines, fmt.Sprintf("%s %s %s %s", x.Method, x.Target, deref(x.Record.StatusCode), x.Record.Outcome))
				if o := x.Record.Outcome; (xor != 0 || lost%256 != 0) && (o == "server_abort" || o == "error_in_stream") {
					t.Errorf("damage was taken for %s: %v", o, rep.Warnings)
				}
			}
			return lines
		}
		if diff := cmp.Diff(run(1<<20), run(1)); diff != "" {
			t.Errorf("exchanges (-whole +split):\n%s", diff)
		}
	})
}
