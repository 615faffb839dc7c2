package recorder

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/google/gopacket/layers"
)

// Link types, as https://www.tcpdump.org/linktypes.html numbers them. gopacket
// has those of one byte that it can decode itself.
const (
	linkNull     = uint32(layers.LinkTypeNull)
	linkEthernet = uint32(layers.LinkTypeEthernet)
	linkPPP      = uint32(layers.LinkTypePPP)
	linkRawBSD   = uint32(12)
	linkRawOBSD  = uint32(14)
	linkPPPHDLC  = uint32(layers.LinkTypePPP_HDLC)
	linkPPPoE    = uint32(layers.LinkTypePPPEthernet)
	linkRaw      = uint32(layers.LinkTypeRaw)
	linkLoop     = uint32(layers.LinkTypeLoop)
	linkSLL      = uint32(layers.LinkTypeLinuxSLL)
	linkIPv4     = uint32(layers.LinkTypeIPv4)
	linkIPv6     = uint32(layers.LinkTypeIPv6)
	linkPKTAP    = uint32(258)
	linkSLL2     = uint32(276)
	// linkByProto is our own, for cooked live capture: no header at all, the
	// EtherType is in the upper 16 bits of the link value.
	linkByProto = uint32(0xffff)
)

// etherQinQOld is the EtherType that stacked VLAN tags had before 802.1ad.
const etherQinQOld layers.EthernetType = 0x9100

// undecoded is a reason for which a packet is no TCP segment.
type undecoded uint8

const (
	decoded     undecoded = iota
	otherProto            // "not_ip": ARP, LLDP, spanning tree, …
	otherIPBody           // "not_tcp": UDP, ICMP, ESP, …
	fragment              // "fragment": a piece of an IP packet
	tooShort              // "short": the capture cut it within its headers
	badHeader             // "bad_header": its headers contradict themselves
	tooDeep               // "nested": more tunnels in each other than we follow
	unknownLink           // "link_type"
	quicPacket            // "quic": UDP from or to port 443
	nUndecoded
)

func (u undecoded) String() string {
	return [nUndecoded]string{
		"", "not_ip", "not_tcp", "fragment", "short", "bad_header", "nested", "link_type", "quic",
	}[u]
}

// maxTunnels is how many tunnels (VXLAN, GRE, IP in IP) may lie in each other.
const maxTunnels = 4

// linkName names a link type that we cannot decode, for the error message:
// as gopacket does, else as the list of link types does for those that people
// capture with.
func linkName(link uint32) string {
	names := map[uint32]string{
		147: "USER0", 189: "USB", 249: "USBPcap", 201: "Bluetooth HCI", 187: "Bluetooth HCI",
		6: "token ring", 11: "ATM", 107: "frame relay", 104: "Cisco HDLC", 163: "802.11 AVS",
		239: "NFLOG", 253: "netlink", 252: "Wireshark upper PDU", 195: "802.15.4",
	}
	if name, ok := names[link]; ok {
		return fmt.Sprintf("link type %d (%s)", link, name)
	}
	if link <= math.MaxUint8 {
		if name := layers.LinkType(link).String(); !strings.HasPrefix(name, "Unknown") {
			return fmt.Sprintf("link type %d (%s)", link, name)
		}
	}
	return fmt.Sprintf("link type %d", link)
}

// knownLink reports whether decodeLink can take frames of the link type.
func knownLink(link uint32) bool {
	switch link {
	case linkNull, linkEthernet, linkPPP, linkRawBSD, linkRawOBSD, linkPPPHDLC, linkPPPoE,
		linkRaw, linkLoop, linkSLL, linkIPv4, linkIPv6, linkPKTAP, linkSLL2:
		return true
	}
	return link&0xffff == linkByProto
}

// frame is the part of a packet that is still to be decoded.
type frame struct {
	b []byte
	// cut is the number of bytes that followed b on the wire and that the
	// capture did not keep.
	cut int
}

// skip takes n header bytes off; false where they are not there.
func (f *frame) skip(n int) bool {
	if len(f.b) < n {
		return false
	}
	f.b = f.b[n:]
	return true
}

// decodePacket finds the TCP segment in one captured packet. orig is its
// length on the wire. seg is only written where the result is decoded.
func decodePacket(link uint32, b []byte, orig int, seg *tcpPacket) undecoded {
	f := frame{b: b, cut: min(max(orig-len(b), 0), maxPacket)}
	return decodeLink(link, f, seg)
}

func decodeLink(link uint32, f frame, seg *tcpPacket) undecoded {
	switch link {
	case linkEthernet:
		return decodeEthernet(f, seg, 0)
	case linkRaw, linkRawBSD, linkRawOBSD, linkIPv4, linkIPv6:
		return decodeByNibble(f, seg, 0)
	case linkNull, linkLoop:
		return decodeLoopback(f, seg)
	case linkSLL:
		return decodeCooked(f, 14, 16, seg)
	case linkSLL2:
		return decodeCooked(f, 0, 20, seg)
	case linkPPP, linkPPPHDLC:
		if len(f.b) >= 2 && f.b[0] == 0xff && f.b[1] == 0x03 {
			f.skip(2)
		}
		return decodePPP(f, seg, 0)
	case linkPPPoE:
		return decodeEtherType(layers.EthernetTypePPPoESession, f, seg, 0)
	case linkPKTAP:
		return decodePKTAP(f, seg)
	}
	if link&0xffff == linkByProto {
		return decodeEtherType(layers.EthernetType(link>>16), f, seg, 0)
	}
	return unknownLink
}

// etherType reads an EtherType.
func etherType(b []byte) layers.EthernetType {
	return layers.EthernetType(binary.BigEndian.Uint16(b))
}

// decodeEthernet reads an Ethernet II or IEEE 802.3 header.
func decodeEthernet(f frame, seg *tcpPacket, depth int) undecoded {
	if len(f.b) < 14 {
		return tooShort
	}
	proto := etherType(f.b[12:])
	f.b = f.b[14:]
	return decodeEtherType(proto, f, seg, depth)
}

// decodeCooked reads a Linux cooked header (SLL, SLL2) of the given length
// with its EtherType at the offset proto.
func decodeCooked(f frame, proto, size int, seg *tcpPacket) undecoded {
	if len(f.b) < size {
		return tooShort
	}
	next := etherType(f.b[proto:])
	f.b = f.b[size:]
	return decodeEtherType(next, f, seg, 0)
}

// decodeLoopback reads the address family of NULL (in the byte order of the
// machine that captured) and LOOP (big endian). The numbers for IPv6 differ
// between systems: 24, 28, 30 in the BSDs and macOS, 10 in Linux, 23 in
// Windows.
func decodeLoopback(f frame, seg *tcpPacket) undecoded {
	if len(f.b) < 4 {
		return tooShort
	}
	family := binary.LittleEndian.Uint32(f.b)
	if family > 0xffff {
		family = binary.BigEndian.Uint32(f.b)
	}
	f.b = f.b[4:]
	switch family {
	case 2, 10, 23, 24, 28, 30:
		return decodeByNibble(f, seg, 0)
	}
	return otherProto
}

// decodePKTAP reads the header of macOS's pktap device, which names the link
// type of each packet.
func decodePKTAP(f frame, seg *tcpPacket) undecoded {
	if len(f.b) < 12 {
		return tooShort
	}
	size := binary.LittleEndian.Uint32(f.b)
	link := binary.LittleEndian.Uint32(f.b[8:])
	if size < 12 || link == linkPKTAP || link > 0xffff {
		return badHeader
	}
	if uint64(size) > uint64(len(f.b)) {
		return tooShort
	}
	f.b = f.b[size:]
	return decodeLink(link, f, seg)
}

// decodeEtherType takes off tags and labels until an IP header is reached.
// VLAN tags may be stacked to any depth: each takes its bytes off.
func decodeEtherType(proto layers.EthernetType, f frame, seg *tcpPacket, depth int) undecoded {
	for {
		switch proto {
		case layers.EthernetTypeIPv4:
			return decodeIPv4(f, seg, depth)
		case layers.EthernetTypeIPv6:
			return decodeIPv6(f, seg, depth)
		case layers.EthernetTypeDot1Q, layers.EthernetTypeQinQ, etherQinQOld:
			if len(f.b) < 4 {
				return tooShort
			}
			proto = etherType(f.b[2:])
			f.b = f.b[4:]
		case layers.EthernetTypeMPLSUnicast, layers.EthernetTypeMPLSMulticast:
			return decodeMPLS(f, seg, depth)
		case layers.EthernetTypePPPoESession:
			if !f.skip(6) {
				return tooShort
			}
			return decodePPP(f, seg, depth)
		case layers.EthernetTypeTransparentEthernetBridging:
			return decodeEthernet(f, seg, depth)
		default:
			if proto > 1500 {
				return otherProto
			}
			next, ok := decodeLLC(&f)
			if !ok {
				return otherProto
			}
			proto = next
		}
	}
}

// decodeLLC reads an IEEE 802.2 header, with or without SNAP, and returns the
// EtherType it stands for. The frame's length field needs no care: IP has its
// own.
func decodeLLC(f *frame) (layers.EthernetType, bool) {
	if len(f.b) >= 3 && f.b[0] == 0x06 && f.b[1] == 0x06 && f.b[2] == 0x03 {
		f.skip(3)
		return layers.EthernetTypeIPv4, true
	}
	if len(f.b) < 8 || f.b[0] != 0xaa || f.b[1] != 0xaa || f.b[2] != 0x03 {
		return 0, false
	}
	// The organisation is 0 for EtherTypes and 0000f8 for bridged ones.
	if f.b[3] != 0 || f.b[4] != 0 || (f.b[5] != 0 && f.b[5] != 0xf8) {
		return 0, false
	}
	proto := etherType(f.b[6:])
	f.skip(8)
	return proto, proto > 1500
}

// decodeMPLS takes the label stack off. What is under it no header says; the
// first nibble tells IP from a pseudowire's control word (RFC 4385).
func decodeMPLS(f frame, seg *tcpPacket, depth int) undecoded {
	for {
		if len(f.b) < 4 {
			return tooShort
		}
		bottom := f.b[2]&1 != 0
		f.b = f.b[4:]
		if bottom {
			break
		}
	}
	if len(f.b) > 4 && f.b[0]>>4 == 0 {
		f.b = f.b[4:]
		return decodeEthernet(f, seg, depth)
	}
	return decodeByNibble(f, seg, depth)
}

// decodePPP reads PPP's protocol number, of one byte where it is compressed.
func decodePPP(f frame, seg *tcpPacket, depth int) undecoded {
	if len(f.b) < 2 {
		return tooShort
	}
	proto := layers.PPPType(binary.BigEndian.Uint16(f.b))
	if f.b[0]&1 != 0 {
		proto = layers.PPPType(f.b[0])
		f.b = f.b[1:]
	} else {
		f.b = f.b[2:]
	}
	switch proto {
	case layers.PPPTypeIPv4:
		return decodeIPv4(f, seg, depth)
	case layers.PPPTypeIPv6:
		return decodeIPv6(f, seg, depth)
	}
	return otherProto
}

// decodeByNibble tells IPv4 from IPv6 by the header's first four bits.
func decodeByNibble(f frame, seg *tcpPacket, depth int) undecoded {
	if len(f.b) == 0 {
		return tooShort
	}
	switch f.b[0] >> 4 {
	case 4:
		return decodeIPv4(f, seg, depth)
	case 6:
		return decodeIPv6(f, seg, depth)
	}
	return otherProto
}
