package recorder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// packet is one captured packet.
type packet struct {
	time int64 // Unix ns
	link uint32
	// data is valid until the reader's next call; orig is the length that the
	// packet had on the wire.
	data []byte
	orig int
}

// packetReader reads one capture file. next returns io.EOF at its end,
// io.ErrUnexpectedEOF where it is cut, and a *CaptureError where it is
// broken.
type packetReader interface {
	next() (packet, error)
}

// Magic numbers of capture files, as read in little endian.
const (
	magicMicro    = 0xa1b2c3d4
	magicNano     = 0xa1b23c4d
	magicModified = 0xa1b2cd34 // Kuznetsov's patch: 8 more bytes per packet
	magicSection  = 0x0a0d0d0a // pcapng, the same in either order
)

// newPacketReader tells the format by the first bytes.
func newPacketReader(in *captureInput, name string) (packetReader, error) {
	head, err := in.peek(4)
	switch {
	case len(head) == 0 && errors.Is(err, io.EOF):
		return nil, &CaptureError{name, 0, "the file is empty", "was anything captured, and has the capture program ended?"}
	case len(head) < 4 && (err == nil || errors.Is(err, io.ErrUnexpectedEOF)):
		return nil, notCapture(name, head)
	case err != nil:
		return nil, fmt.Errorf("read capture %q: %w", name, err)
	}
	switch {
	case binary.LittleEndian.Uint32(head) == magicSection:
		return &ngReader{in: in, name: name}, nil
	case pcapMagic(binary.LittleEndian.Uint32(head)):
		return newPcapReader(in, name, binary.LittleEndian)
	case pcapMagic(binary.BigEndian.Uint32(head)):
		return newPcapReader(in, name, binary.BigEndian)
	}
	return nil, notCapture(name, head)
}

func pcapMagic(m uint32) bool {
	return m == magicMicro || m == magicNano || m == magicModified
}

// notCapture names what the file seems to be instead.
func notCapture(name string, head []byte) error {
	const hint = "give a file of tcpdump, dumpcap or Wireshark (pcap or pcapng)"
	e := &CaptureError{File: name, Problem: "not a capture file", Hint: hint}
	for _, packed := range []struct{ magic, what, tool string }{
		{"\x1f\x8b", "gzip", "gzip -dc"},
		{"\x28\xb5\x2f\xfd", "zstd", "zstd -dc"},
		{"\xfd7zX", "xz", "xz -dc"},
		{"BZh", "bzip2", "bzip2 -dc"},
		{"PK\x03\x04", "zip", "unzip -p"},
	} {
		if len(head) >= len(packed.magic) && string(head[:len(packed.magic)]) == packed.magic {
			e.Problem = "the file is compressed with " + packed.what
			e.Hint = fmt.Sprintf("unpack it first (%s)", packed.tool)
		}
	}
	return e
}

// pcapReader reads the classic format:
// https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-05.html
type pcapReader struct {
	in    *captureInput
	name  string
	order binary.ByteOrder
	link  uint32
	// unit is the number of nanoseconds in one unit of a packet's fraction.
	unit int64
	// header is the length of a packet's header.
	header int
	// last is the length of the packet handed out, to be taken off.
	last int
}

func newPcapReader(in *captureInput, name string, order binary.ByteOrder) (*pcapReader, error) {
	const size = 24
	head, err := in.peek(size)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, endsInHeader(name, head)
	}
	if err != nil {
		return nil, fmt.Errorf("read capture %q: %w", name, err)
	}
	r := &pcapReader{in: in, name: name, order: order, unit: 1000, header: 16}
	switch order.Uint32(head) {
	case magicNano:
		r.unit = 1
	case magicModified:
		r.header = 24
	}
	// The upper half of the field holds the length of the frame check
	// sequence; the IP lengths cut that off.
	r.link = order.Uint32(head[20:]) & 0xffff
	if !knownLink(r.link) {
		return nil, &CaptureError{name, 20, linkName(r.link) + " cannot be read", "capture on an Ethernet, loopback, tunnel or \"any\" interface"}
	}
	in.take(size)
	return r, nil
}

func endsInHeader(name string, head []byte) error {
	return &CaptureError{name, int64(len(head)), "the file ends in its own header", "was the capture stopped before its first packet?"}
}

func (r *pcapReader) next() (packet, error) {
	r.in.take(r.last)
	r.last = 0
	head, err := r.in.peek(r.header)
	if err != nil {
		return packet{}, err
	}
	sec, frac := r.order.Uint32(head), r.order.Uint32(head[4:])
	size, orig := r.order.Uint32(head[8:]), r.order.Uint32(head[12:])
	if size > maxPacket {
		return packet{}, &CaptureError{
			r.name, r.in.off, fmt.Sprintf("a packet of %d bytes cannot be: the file is damaged", size), "what was before it is kept",
		}
	}
	whole, err := r.in.peek(r.header + int(size))
	if err != nil {
		return packet{}, err
	}
	r.last = len(whole)
	return packet{
		time: int64(sec)*1e9 + int64(frac)*r.unit,
		link: r.link,
		data: whole[r.header:],
		orig: max(int(orig), int(size)),
	}, nil
}
