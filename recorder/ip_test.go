package recorder

import (
	"encoding/binary"
	"testing"

	"github.com/google/gopacket/layers"
)

func TestDecodeIP(t *testing.T) {
	tcp := tcpHeader{sport: 40000, dport: 8000, seq: 7, flags: flagACK}
	seg := tcp.with("hello")
	hello := decodedTCP{"hello", 5, 7}
	empty := decodedTCP{"", 0, 7}
	v4, v6 := ipv4(layers.IPProtocolTCP, seg), ipv6(layers.IPProtocolTCP, seg)
	// The trailer of cases.md 2: six stray bytes that fill a frame of 60.
	trailer := []byte{0, 0, 0x88, 0x82, 0xe4, 0xbe}
	withLength := func(packet []byte, at int, n uint16) []byte {
		out := joined(packet)
		binary.BigEndian.PutUint16(out[at:], n)
		return out
	}
	vxlan := func(port uint16, inner []byte) []byte {
		udp := binary.BigEndian.AppendUint16([]byte{0xc0, 0}, port)
		return ipv4(layers.IPProtocolUDP, joined(udp, make([]byte, 4), []byte{8, 0, 0, 0, 0, 0, 5, 0}, inner))
	}
	nested := v4
	for range maxTunnels + 1 {
		nested = ipv4(layers.IPProtocolIPv4, nested)
	}
	tests := []struct {
		name string
		data []byte
		orig int
		why  undecoded
		want decodedTCP
	}{
		{"padding behind an ACK", joined(ipv4(layers.IPProtocolTCP, tcp.with("")), trailer), 0, decoded, empty},
		{"padding behind an ACK, IPv6", joined(ipv6(layers.IPProtocolTCP, tcp.with("")), trailer), 0, decoded, empty},
		{"padding behind data", joined(v4, trailer), 0, decoded, hello},
		{"cut in the payload", v4[:42], 45, decoded, decodedTCP{"he", 5, 7}},
		{"cut behind the payload: padding", v4, 60, decoded, hello},
		{"cut in the TCP options", ipv4(layers.IPProtocolTCP, tcpHeader{seq: 7, options: 12}.with("hello"))[:44], 57, decoded, decodedTCP{"", 5, 7}},
		{"cut behind the TCP flags", v4[:34], 45, decoded, decodedTCP{"", 5, 7}},
		{"cut before the TCP flags", v4[:33], 45, tooShort, empty},
		{"cut, and the file says not so", v4[:42], 0, decoded, decodedTCP{"he", 5, 7}},
		{"total length 0", withLength(v4, 2, 0), 0, decoded, hello},
		{"total length 0, cut", withLength(v4, 2, 0), 70045, decoded, decodedTCP{"hello", 70005, 7}},
		{"payload length 0", withLength(v6, 4, 0), 0, decoded, hello},
		{"total length within the header", withLength(v4, 2, 19), 0, badHeader, empty},
		{"total length within the TCP header", withLength(v4, 2, 39), 0, badHeader, empty},
		{"header length under 20", joined([]byte{0x44}, v4[1:]), 0, badHeader, empty},
		{"TCP header length under 20", joined(v4[:32], []byte{0x40}, v4[33:]), 0, badHeader, empty},
		{"first fragment", withLength(v4, 6, 0x2000), 0, fragment, empty},
		{"last fragment", withLength(v4, 6, 0x00b9), 0, fragment, empty},
		{"UDP", ipv4(layers.IPProtocolUDP, make([]byte, 20)), 0, otherIPBody, empty},
		{"QUIC", ipv4(layers.IPProtocolUDP, []byte{0xc0, 0, 1, 0xbb, 0, 9, 0, 0, 0xc3}), 0, quicPacket, empty},
		{"QUIC, answer", ipv6(layers.IPProtocolUDP, []byte{1, 0xbb, 0xc0, 0, 0, 9, 0, 0, 0x43}), 0, quicPacket, empty},
		{"ICMP", ipv4(layers.IPProtocolICMPv4, make([]byte, 20)), 0, otherIPBody, empty},
		{"IP in IP", ipv4(layers.IPProtocolIPv4, v4), 0, decoded, hello},
		{"IPv6 in IPv4", ipv4(layers.IPProtocolIPv6, v6), 0, decoded, hello},
		{"IPv4 in IPv6", ipv6(layers.IPProtocolIPv4, v4), 0, decoded, hello},
		{"too many tunnels", nested, 0, tooDeep, empty},
		{"GRE", ipv4(layers.IPProtocolGRE, joined([]byte{0, 0, 8, 0}, v4)), 0, decoded, hello},
		{"GRE, checksum, key and sequence", ipv4(layers.IPProtocolGRE, joined([]byte{0xb0, 0, 0x86, 0xdd}, make([]byte, 12), v6)), 0, decoded, hello},
		{"GRE, Ethernet", ipv4(layers.IPProtocolGRE, joined([]byte{0, 0, 0x65, 0x58}, ether(layers.EthernetTypeIPv4, v4))), 0, decoded, hello},
		{"GRE, version 1", ipv4(layers.IPProtocolGRE, joined([]byte{0, 1, 8, 0}, v4)), 0, otherIPBody, empty},
		{"VXLAN", vxlan(4789, ether(layers.EthernetTypeIPv4, v4)), 0, decoded, hello},
		{"VXLAN, VLAN within", vxlan(8472, ether(layers.EthernetTypeDot1Q, vlan(layers.EthernetTypeIPv6, v6))), 0, decoded, hello},
		{"not VXLAN", vxlan(4790, ether(layers.EthernetTypeIPv4, v4)), 0, otherIPBody, empty},
		{"hop by hop and destination options", ipv6(layers.IPProtocolIPv6HopByHop, joined([]byte{byte(layers.IPProtocolIPv6Destination), 0, 1, 4, 0, 0, 0, 0}, []byte{byte(layers.IPProtocolTCP), 1}, make([]byte, 14), seg)), 0, decoded, hello},
		{"routing", ipv6(layers.IPProtocolIPv6Routing, joined([]byte{byte(layers.IPProtocolTCP), 2}, make([]byte, 22), seg)), 0, decoded, hello},
		{"authentication", ipv6(layers.IPProtocolAH, joined([]byte{byte(layers.IPProtocolTCP), 4}, make([]byte, 22), seg)), 0, decoded, hello},
		{"atomic fragment", ipv6(layers.IPProtocolIPv6Fragment, joined([]byte{byte(layers.IPProtocolTCP), 0, 0, 0, 1, 2, 3, 4}, seg)), 0, decoded, hello},
		{"IPv6 fragment", ipv6(layers.IPProtocolIPv6Fragment, joined([]byte{byte(layers.IPProtocolTCP), 0, 0, 1, 1, 2, 3, 4}, seg)), 0, fragment, empty},
		{"no next header", ipv6(layers.IPProtocolNoNextHeader, nil), 0, otherIPBody, empty},
		{"ESP", ipv6(layers.IPProtocolESP, seg), 0, otherIPBody, empty},
		{"extension header cut", ipv6(layers.IPProtocolIPv6Routing, joined([]byte{byte(layers.IPProtocolTCP), 9}, make([]byte, 22))), 0, tooShort, empty},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkDecode(t, linkRaw, tt.data, tt.orig, tt.why, tt.want)
		})
	}
}
