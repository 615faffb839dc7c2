package recorder

import (
	"encoding/binary"

	"github.com/google/gopacket/layers"
)

// IP protocol numbers that gopacket lacks, as IANA assigns them.
const (
	protoMobility layers.IPProtocol = 135
	protoHIP      layers.IPProtocol = 139
	protoShim6    layers.IPProtocol = 140
)

// TCP flags.
const (
	flagFIN = 1 << iota
	flagSYN
	flagRST
	flagPSH
	flagACK
)

// ipAddr is an address as two big-endian halves; IPv4 is mapped into IPv6.
// It is quicker to compare and hash than netip.Addr, and only made into one
// when a connection is new.
type ipAddr struct{ hi, lo uint64 }

// mappedPrefix is the lower half's upper part of an IPv4-mapped address.
const mappedPrefix = 0xffff << 32

// tcpPacket is one TCP segment as the packet holds it.
type tcpPacket struct {
	time             int64
	src, dst         ipAddr
	srcPort, dstPort uint16
	seq, ack         uint32
	flags            uint8
	// payload was captured; want ≥ len(payload) was on the wire.
	payload []byte
	want    int
}

func (p *tcpPacket) has(flag uint8) bool { return p.flags&flag != 0 }

// decodeIPv4 reads an IPv4 header (RFC 791). What follows the total length is
// padding; a total length of 0 is that of a packet which the network card was
// to cut into segments, so its length is the frame's.
func decodeIPv4(f frame, seg *tcpPacket, depth int) undecoded {
	if len(f.b) < 20 {
		return tooShort
	}
	b := f.b
	size := int(b[0]&0xf) * 4
	if b[0]>>4 != 4 || size < 20 {
		return badHeader
	}
	total := int(binary.BigEndian.Uint16(b[2:]))
	if total == 0 {
		total = len(b) + f.cut
	}
	if total < size {
		return badHeader
	}
	if binary.BigEndian.Uint16(b[6:])&0x3fff != 0 {
		return fragment
	}
	seg.src = ipAddr{lo: mappedPrefix | uint64(binary.BigEndian.Uint32(b[12:]))}
	seg.dst = ipAddr{lo: mappedPrefix | uint64(binary.BigEndian.Uint32(b[16:]))}
	f.trim(total)
	if !f.skip(size) {
		return tooShort
	}
	return decodeIPBody(layers.IPProtocol(b[9]), f, seg, depth)
}

// decodeIPv6 reads an IPv6 header and its extension headers (RFC 8200). A
// payload length of 0 is that of a jumbogram or of a packet which the network
// card was to cut into segments: its length is the frame's.
func decodeIPv6(f frame, seg *tcpPacket, depth int) undecoded {
	if len(f.b) < 40 {
		return tooShort
	}
	b := f.b
	if b[0]>>4 != 6 {
		return badHeader
	}
	seg.src = ipAddr{binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])}
	seg.dst = ipAddr{binary.BigEndian.Uint64(b[24:]), binary.BigEndian.Uint64(b[32:])}
	size := int(binary.BigEndian.Uint16(b[4:]))
	f.b = b[40:]
	if size != 0 {
		f.trim(size)
	}
	return decodeExtensions(layers.IPProtocol(b[6]), f, seg, depth)
}

// trim leaves n bytes of the frame, as captured or cut.
func (f *frame) trim(n int) {
	if n <= len(f.b) {
		f.b, f.cut = f.b[:n], 0
		return
	}
	f.cut = n - len(f.b)
}

func decodeExtensions(next layers.IPProtocol, f frame, seg *tcpPacket, depth int) undecoded {
	for {
		var size int
		switch next {
		case layers.IPProtocolIPv6HopByHop, layers.IPProtocolIPv6Routing, layers.IPProtocolIPv6Destination, protoMobility, protoHIP, protoShim6:
			if len(f.b) < 8 {
				return tooShort
			}
			size = int(f.b[1])*8 + 8
		case layers.IPProtocolAH:
			if len(f.b) < 8 {
				return tooShort
			}
			size = int(f.b[1])*4 + 8
		case layers.IPProtocolIPv6Fragment:
			if len(f.b) < 8 {
				return tooShort
			}
			// Offset or "more fragments"; with neither it is whole (RFC 6946).
			if binary.BigEndian.Uint16(f.b[2:])&0xfff9 != 0 {
				return fragment
			}
			size = 8
		default:
			return decodeIPBody(next, f, seg, depth)
		}
		next = layers.IPProtocol(f.b[0])
		if !f.skip(size) {
			return tooShort
		}
	}
}

func decodeIPBody(proto layers.IPProtocol, f frame, seg *tcpPacket, depth int) undecoded {
	if proto == layers.IPProtocolTCP {
		return decodeTCP(f, seg)
	}
	if depth >= maxTunnels {
		return tooDeep
	}
	switch proto {
	case layers.IPProtocolIPv4:
		return decodeIPv4(f, seg, depth+1)
	case layers.IPProtocolIPv6:
		return decodeIPv6(f, seg, depth+1)
	case layers.IPProtocolGRE:
		return decodeGRE(f, seg, depth+1)
	case layers.IPProtocolUDP:
		if isQUIC(f.b) {
			return quicPacket
		}
		return decodeVXLAN(f, seg, depth+1)
	}
	return otherIPBody
}

// decodeTCP reads a TCP header (RFC 9293). A header of which the capture kept
// only the head is good enough where the flags are in it.
func decodeTCP(f frame, seg *tcpPacket) undecoded {
	b := f.b
	if len(b) < 14 {
		return tooShort
	}
	size := int(b[12]>>4) * 4
	if size < 20 || size > len(b)+f.cut {
		return badHeader
	}
	seg.srcPort = binary.BigEndian.Uint16(b)
	seg.dstPort = binary.BigEndian.Uint16(b[2:])
	seg.seq = binary.BigEndian.Uint32(b[4:])
	seg.ack = binary.BigEndian.Uint32(b[8:])
	seg.flags = b[13]
	seg.payload = b[min(size, len(b)):]
	seg.want = len(b) + f.cut - size
	return decoded
}

// decodeGRE reads a GRE header, version 0 (RFC 2784, RFC 2890).
func decodeGRE(f frame, seg *tcpPacket, depth int) undecoded {
	if len(f.b) < 4 {
		return tooShort
	}
	flags := binary.BigEndian.Uint16(f.b)
	proto := etherType(f.b[2:])
	// Routing (0x4000) and versions above 0 (PPTP) are not followed.
	if flags&0x4007 != 0 {
		return otherIPBody
	}
	size := 4
	for _, field := range []uint16{0x8000, 0x2000, 0x1000} {
		if flags&field != 0 {
			size += 4
		}
	}
	if !f.skip(size) {
		return tooShort
	}
	return decodeEtherType(proto, f, seg, depth)
}

// isQUIC reports whether a UDP packet is one of HTTP/3, by its port alone:
// nothing in it can be read.
func isQUIC(b []byte) bool {
	return len(b) >= 8 && (binary.BigEndian.Uint16(b) == portQUIC || binary.BigEndian.Uint16(b[2:]) == portQUIC)
}

const portQUIC = 443

// decodeVXLAN reads UDP and, on the ports of VXLAN (4789, and 8472 which
// Linux began with), the header of RFC 7348.
func decodeVXLAN(f frame, seg *tcpPacket, depth int) undecoded {
	if len(f.b) < 16 {
		return otherIPBody
	}
	port := binary.BigEndian.Uint16(f.b[2:])
	if (port != 4789 && port != 8472) || f.b[8]&0x08 == 0 || f.b[15] != 0 {
		return otherIPBody
	}
	f.skip(16)
	return decodeEthernet(f, seg, depth)
}
