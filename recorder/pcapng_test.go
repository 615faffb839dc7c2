package recorder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket/pcapgo"
)

// ngFile builds pcapng block by block.
type ngFile struct {
	order binary.AppendByteOrder
	b     []byte
}

func (f *ngFile) block(kind uint32, body []byte) *ngFile {
	padded := append(bytes.Clone(body), make([]byte, -len(body)&3)...)
	size := uint32(12 + len(padded))
	f.b = f.order.AppendUint32(f.b, kind)
	f.b = f.order.AppendUint32(f.b, size)
	f.b = append(f.b, padded...)
	f.b = f.order.AppendUint32(f.b, size)
	return f
}

func (f *ngFile) section(order binary.AppendByteOrder) *ngFile {
	f.order = order
	body := order.AppendUint32(nil, 0x1a2b3c4d)
	body = order.AppendUint16(body, 1)
	body = order.AppendUint16(body, 0)
	body = order.AppendUint64(body, math.MaxUint64) // length not given
	return f.block(magicSection, body)
}

func (f *ngFile) option(code uint16, value []byte) []byte {
	b := f.order.AppendUint16(nil, code)
	b = f.order.AppendUint16(b, uint16(len(value)))
	return append(append(b, value...), make([]byte, -len(value)&3)...)
}

func (f *ngFile) face(link uint32, snaplen uint32, options ...[]byte) *ngFile {
	body := f.order.AppendUint16(nil, uint16(link))
	body = f.order.AppendUint16(body, 0)
	body = f.order.AppendUint32(body, snaplen)
	return f.block(blockInterface, append(body, bytes.Join(options, nil)...))
}

func (f *ngFile) resolution(v byte) []byte { return f.option(9, []byte{v}) }

func (f *ngFile) packet(id uint32, units uint64, data string, orig int) *ngFile {
	body := f.order.AppendUint32(nil, id)
	return f.block(blockEnhanced, f.packetBody(body, units, data, orig))
}

// oldPacket is the obsolete block, with a drop count beside the interface.
func (f *ngFile) oldPacket(id uint16, units uint64, data string, orig int) *ngFile {
	body := f.order.AppendUint16(nil, id)
	body = f.order.AppendUint16(body, 3)
	return f.block(blockPacket, f.packetBody(body, units, data, orig))
}

func (f *ngFile) packetBody(body []byte, units uint64, data string, orig int) []byte {
	body = f.order.AppendUint32(body, uint32(units>>32))
	body = f.order.AppendUint32(body, uint32(units))
	body = f.order.AppendUint32(body, uint32(len(data)))
	body = f.order.AppendUint32(body, uint32(orig))
	return append(body, data...)
}

func (f *ngFile) simple(data string, orig uint32) *ngFile {
	return f.block(blockSimple, append(f.order.AppendUint32(nil, orig), data...))
}

// ngSeed has one block of each kind.
func ngSeed(order binary.AppendByteOrder) []byte {
	f := (&ngFile{}).section(order)
	f.face(linkEthernet, 65535, f.resolution(9)).face(linkRaw, 0, f.resolution(0x80|10))
	f.block(10, []byte("secrets")).packet(0, 5, "abc", 3).packet(1, 1024, "de", 9)
	f.simple("fgh", 3).oldPacket(0, 7, "i", 1).block(0x80000001, []byte("?"))
	return f.b
}

func TestPcapng(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		f := &ngFile{b: ngSeed(order)}
		// A second section, of the other order, numbers its interfaces anew.
		other := binary.AppendByteOrder(binary.LittleEndian)
		if order == other {
			other = binary.BigEndian
		}
		f.section(other).face(linkLoop, 2, f.option(14, f.order.AppendUint64(nil, 100))).packet(0, 1, "jk", 2).simple("lmn", 3)
		want := []packet{
			{5, linkEthernet, []byte("abc"), 3},
			{1e9, linkRaw, []byte("de"), 9},
			{1e9, linkEthernet, []byte("fgh"), 3},
			{7, linkEthernet, []byte("i"), 1},
			{100e9 + 1000, linkLoop, []byte("jk"), 2},
			{100e9 + 1000, linkLoop, []byte("lm"), 3},
		}
		got, err := readPackets(bytes.NewReader(f.b))
		if !errors.Is(err, io.EOF) {
			t.Errorf("%v: err = %v", order, err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(packet{})); diff != "" {
			t.Errorf("%v (-want +got):\n%s", order, diff)
		}
	}
}

func TestPcapngTimes(t *testing.T) {
	tests := []struct {
		name   string
		unit   ngUnit
		offset int64
		units  uint64
		want   int64
	}{
		{"microseconds", 6, 0, 1_700_000_000_000_001, 1_700_000_000_000_001_000},
		{"nanoseconds", 9, 0, 1_700_000_000_000_000_001, 1_700_000_000_000_000_001},
		{"seconds", 0, 0, 1_700_000_000, 1_700_000_000e9},
		{"picoseconds", 12, 0, 1_000_999, 1000},
		{"far below a nanosecond", 127, 0, math.MaxUint64, 0},
		{"2^-10 s", 0x8a, 0, 3 << 9, 1_500_000_000},
		{"2^-32 s, NTP's", 0xa0, 0, 1<<32 | 1<<31, 1_500_000_000},
		{"2^-63 s", 0xbf, 0, 1 << 63, 1e9},
		{"2^-64 s", 0xc0, 0, 1 << 63, 500_000_000},
		{"2^-127 s", 0xff, 0, math.MaxUint64, 0},
		{"offset", 6, 100, 1, 100e9 + 1000},
		{"negative offset", 6, -1, 0, -1e9},
		{"too large", 0, 0, math.MaxUint64, math.MaxInt64},
		{"too large with its offset", 9, 9_000_000_000, math.MaxInt64, math.MaxInt64},
		{"impossible offset", 9, math.MinInt64, 5, 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			face := ngInterface{unit: tt.unit, offset: tt.offset}
			if got := face.time(tt.units); got != tt.want {
				t.Errorf("time(%d) = %d, want %d", tt.units, got, tt.want)
			}
		})
	}
}

// What was read before the damage is kept, and the error says where it is.
func TestPcapngDamaged(t *testing.T) {
	good := func() *ngFile {
		f := (&ngFile{}).section(binary.LittleEndian)
		return f.face(linkRaw, 0).packet(0, 5, "abcd", 4)
	}
	trailing := good().packet(0, 6, "efgh", 4).b
	trailing[len(trailing)-4]++
	unaligned := good().block(99, nil).b
	unaligned[len(unaligned)-8]++
	order := good().section(binary.LittleEndian).b
	order[len(good().b)+8]++
	tests := []struct {
		name, problem string
		data          []byte
	}{
		{"trailing length", "begins with length 36 and ends with 37", trailing},
		{"length not of whole words", "13 bytes cannot be", unaligned},
		{"no byte order", "without a byte order", order},
		{"unknown interface", "interface 5", good().packet(5, 1, "x", 1).b},
		{"packet larger than its block", "packet of", good().block(blockEnhanced, append(make([]byte, 12), 99, 0, 0, 0, 99, 0, 0, 0)).b},
		{"packet block too short", "too short", good().block(blockEnhanced, make([]byte, 8)).b},
		{"interface block too short", "too short", good().block(blockInterface, nil).b},
		{"simple block too short", "too short", good().block(blockSimple, nil).b},
		{"no interface", "before any interface", good().section(binary.BigEndian).simple("x", 1).b},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readPackets(bytes.NewReader(tt.data))
			broken := (*CaptureError)(nil)
			if !errors.As(err, &broken) || !strings.Contains(broken.Problem, tt.problem) || broken.Offset < int64(len(good().b)) {
				t.Errorf("err = %v", err)
			}
			if len(got) != 1 || string(got[0].data) != "abcd" {
				t.Errorf("%d packets before it", len(got))
			}
		})
	}
}

// A block that says it is huge neither reserves memory nor reads a packet.
func TestPcapngLyingLengths(t *testing.T) {
	f := (&ngFile{}).section(binary.LittleEndian).face(linkRaw, 0)
	for _, kind := range []uint32{99, blockEnhanced} {
		b := f.order.AppendUint32(bytes.Clone(f.b), kind)
		b = append(f.order.AppendUint32(b, 0xfffffff0), make([]byte, 100)...)
		in := &captureInput{r: bytes.NewReader(b)}
		reader, err := newPacketReader(in, "f")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := reader.next(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("block %d: err = %v", kind, err)
		}
		if len(in.buf) > inputBuffer {
			t.Errorf("block %d: %d bytes reserved", kind, len(in.buf))
		}
	}
}

// Drops that the capture program wrote down are part of the account.
func TestPcapngDrops(t *testing.T) {
	f := (&ngFile{}).section(binary.BigEndian).face(linkRaw, 0)
	stats := func(drops, osDrops uint64) {
		body := make([]byte, 12)
		body = append(body, f.option(5, f.order.AppendUint64(nil, drops))...)
		f.block(blockStats, append(body, f.option(7, f.order.AppendUint64(nil, osDrops))...))
	}
	stats(3, 0)
	stats(4, 2) // counts are totals: the last one holds
	f.section(binary.LittleEndian).face(linkRaw, 0)
	stats(1, 0)
	f.face(linkRaw, 0)
	f.block(blockStats, f.order.AppendUint32(nil, 77))
	_, src, _ := readBytes(t, f.b)
	if got := src.Stats().KernelDrops; got != 7 {
		t.Errorf("KernelDrops = %d, want 7", got)
	}
}

// gopacket's reader as a second opinion on what it can read: one section, no
// power of two.
func TestPcapngAgainstGopacket(t *testing.T) {
	f := (&ngFile{}).section(binary.LittleEndian)
	f.face(linkEthernet, 0, f.resolution(9)).block(99, []byte("x")).packet(0, 1_700_000_000_123_456_789, "abc", 3).packet(0, 1_700_000_001_000_000_001, "defg", 40)
	theirs, err := pcapgo.NewNgReader(bytes.NewReader(f.b), pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	ours, _ := readPackets(bytes.NewReader(f.b))
	for _, p := range ours {
		data, ci, err := theirs.ReadPacketData()
		if err != nil {
			t.Fatal(err)
		}
		if string(data) != string(p.data) || ci.Length != p.orig || ci.Timestamp.UnixNano() != p.time {
			t.Errorf("ours %+v, theirs %q %+v", p, data, ci)
		}
	}
}
