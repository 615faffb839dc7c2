package recorder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// readPackets reads a file to its end, with copies of the packets.
func readPackets(r io.Reader) ([]packet, error) {
	in := &captureInput{r: r}
	reader, err := newPacketReader(in, "f.pcap")
	if err != nil {
		return nil, err
	}
	var out []packet
	for {
		p, err := reader.next()
		if err != nil {
			return out, err
		}
		p.data = bytes.Clone(p.data)
		out = append(out, p)
	}
}

func TestPcapVariants(t *testing.T) {
	const ns = 1_700_000_000_123_456_789
	packets := []captured{{ns, []byte("abc"), 0}, {ns + 1000, []byte("de"), 9}, {ns + 2000, nil, 60}}
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, magic := range []uint32{magicMicro, magicNano, magicModified} {
			unit := int64(1000)
			if magic == magicNano {
				unit = 1
			}
			want := []packet{
				{ns / unit * unit, linkRaw, []byte("abc"), 3},
				{(ns + 1000) / unit * unit, linkRaw, []byte("de"), 9},
				{(ns + 2000) / unit * unit, linkRaw, []byte{}, 60},
			}
			// One byte at a time: the reader never sees a whole header at once.
			file := pcapFile(order, magic, linkRaw, packets...)
			got, err := readPackets(iotest.OneByteReader(bytes.NewReader(file)))
			if !errors.Is(err, io.EOF) {
				t.Errorf("%v %x: err = %v", order, magic, err)
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(packet{})); diff != "" {
				t.Errorf("%v %x (-want +got):\n%s", order, magic, diff)
			}
		}
	}
}

// The upper bits of the link type hold the length of the frame check sequence.
func TestPcapLinkTypeWithFCS(t *testing.T) {
	file := microPcap(linkEthernet|0x14000000, captured{1, []byte("abc"), 0})
	got, err := readPackets(bytes.NewReader(file))
	if !errors.Is(err, io.EOF) || len(got) != 1 || got[0].link != linkEthernet {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestNotACapture(t *testing.T) {
	tests := []struct{ name, data, problem, hint string }{
		{"empty", "", "empty", "anything captured"},
		{"three bytes", "\xd4\xc3\xb2", "not a capture", "tcpdump"},
		{"text", "{\"a\": 1}\n", "not a capture", "tcpdump"},
		{"gzip", "\x1f\x8b\x08\x00\x00", "compressed with gzip", "gzip -dc"},
		{"zstd", "\x28\xb5\x2f\xfd\x00", "compressed with zstd", "zstd -dc"},
		{"xz", "\xfd7zXZ\x00", "compressed with xz", "xz -dc"},
		{"bzip2", "BZh91AY", "compressed with bzip2", "bzip2 -dc"},
		{"zip", "PK\x03\x04", "compressed with zip", "unzip"},
		{"header cut", string(microPcap(linkRaw)[:20]), "ends in its own header", "stopped"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := openReader(strings.NewReader(tt.data), "some/file")
			broken := (*CaptureError)(nil)
			if !errors.As(err, &broken) {
				t.Fatalf("err = %v", err)
			}
			if broken.File != "some/file" || !strings.Contains(broken.Problem, tt.problem) || !strings.Contains(broken.Hint, tt.hint) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

func TestReadErrorIsPassedOn(t *testing.T) {
	_, err := openReader(iotest.ErrReader(io.ErrClosedPipe), "pipe")
	if !errors.Is(err, io.ErrClosedPipe) || !strings.Contains(err.Error(), `"pipe"`) {
		t.Errorf("err = %v", err)
	}
}

// A length that lies ends the file there; it reserves no memory.
func TestPcapDamaged(t *testing.T) {
	good := microPcap(linkRaw, captured{1000, []byte("abc"), 0})
	lie := func(size uint32) []byte {
		b := append(bytes.Clone(good), make([]byte, 8)...)
		b = binary.LittleEndian.AppendUint32(b, size)
		b = binary.LittleEndian.AppendUint32(b, size)
		return append(b, "tail"...)
	}
	got, err := readPackets(bytes.NewReader(lie(1 << 31)))
	broken := (*CaptureError)(nil)
	if len(got) != 1 || !errors.As(err, &broken) || broken.Offset != int64(len(good)) {
		t.Errorf("impossible length: %d packets, %v", len(got), err)
	}
	in := &captureInput{r: bytes.NewReader(lie(maxPacket))}
	reader, err := newPacketReader(in, "f")
	if err != nil {
		t.Fatal(err)
	}
	_, first := reader.next()
	_, second := reader.next()
	if first != nil || !errors.Is(second, io.ErrUnexpectedEOF) || len(in.buf) > inputBuffer {
		t.Errorf("possible length: %v, %v, %d bytes reserved", first, second, len(in.buf))
	}
}

func FuzzPcap(f *testing.F) {
	f.Add(microPcap(linkRaw, captured{1000, []byte("abc"), 0}, captured{2000, []byte("de"), 9}))
	f.Add(pcapFile(binary.BigEndian, magicModified, linkEthernet, captured{1000, []byte("abc"), 0}))
	f.Add(ngSeed(binary.LittleEndian))
	f.Add(ngSeed(binary.BigEndian))
	f.Fuzz(func(t *testing.T, file []byte) {
		whole, err := readPackets(bytes.NewReader(file))
		if err == nil {
			t.Fatal("no error at the end")
		}
		pieces, err2 := readPackets(iotest.OneByteReader(bytes.NewReader(file)))
		if err.Error() != err2.Error() {
			t.Fatalf("byte by byte %v, at once %v", err2, err)
		}
		if diff := cmp.Diff(whole, pieces, cmp.AllowUnexported(packet{})); diff != "" {
			t.Fatalf("byte by byte (-at once +by byte):\n%s", diff)
		}
		var held int
		for _, p := range whole {
			held += len(p.data)
			if p.orig < len(p.data) {
				t.Fatalf("packet of %d bytes, %d on the wire", len(p.data), p.orig)
			}
		}
		if held > len(file) {
			t.Fatalf("%d bytes of packets in %d bytes", held, len(file))
		}
	})
}
