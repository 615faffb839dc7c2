package recorder

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// decodedTCP is what a table row expects of a packet.
type decodedTCP struct {
	Payload string
	Want    int
	Seq     uint32
}

func TestDecodePacket(t *testing.T) {
	tcp := tcpHeader{sport: 40000, dport: 8000, seq: 7, flags: flagACK}
	seg := tcp.with("hello")
	v4, v6 := ipv4(layers.IPProtocolTCP, seg), ipv6(layers.IPProtocolTCP, seg)
	hello := decodedTCP{"hello", 5, 7}
	tests := []struct {
		name string
		link uint32
		data []byte
		orig int
		why  undecoded
		want decodedTCP
	}{
		{"ethernet IPv4", linkEthernet, ether(layers.EthernetTypeIPv4, v4), 0, decoded, hello},
		{"ethernet IPv6", linkEthernet, ether(layers.EthernetTypeIPv6, v6), 0, decoded, hello},
		{"TCP options", linkEthernet, ether(layers.EthernetTypeIPv4, ipv4(layers.IPProtocolTCP, tcpHeader{seq: 7, options: 12}.with("hello"))), 0, decoded, hello},
		{"IPv4 options", linkEthernet, ether(layers.EthernetTypeIPv4, ipv4Options(layers.IPProtocolTCP, 8, seg)), 0, decoded, hello},
		{"VLAN", linkEthernet, ether(layers.EthernetTypeDot1Q, vlan(layers.EthernetTypeIPv4, v4)), 0, decoded, hello},
		{"QinQ", linkEthernet, ether(layers.EthernetTypeQinQ, vlan(layers.EthernetTypeDot1Q, vlan(layers.EthernetTypeIPv6, v6))), 0, decoded, hello},
		{"five tags", linkEthernet, ether(etherQinQOld, vlan(layers.EthernetTypeQinQ, vlan(layers.EthernetTypeDot1Q, vlan(layers.EthernetTypeDot1Q, vlan(layers.EthernetTypeDot1Q, vlan(layers.EthernetTypeIPv4, v4)))))), 0, decoded, hello},
		{"MPLS, two labels", linkEthernet, ether(layers.EthernetTypeMPLSUnicast, joined([]byte{0, 1, 0x20, 64, 0, 2, 0x21, 64}, v4)), 0, decoded, hello},
		{"MPLS IPv6", linkEthernet, ether(layers.EthernetTypeMPLSMulticast, joined([]byte{0, 1, 0x21, 64}, v6)), 0, decoded, hello},
		{"MPLS pseudowire", linkEthernet, ether(layers.EthernetTypeMPLSUnicast, joined([]byte{0, 1, 0x21, 64, 0, 0, 0, 0}, ether(layers.EthernetTypeIPv4, v4))), 0, decoded, hello},
		{"802.2 SNAP", linkEthernet, ether(layers.EthernetType(8+len(v4)), joined([]byte{0xaa, 0xaa, 3, 0, 0, 0, 8, 0}, v4)), 0, decoded, hello},
		{"802.2 SNAP over VLAN", linkEthernet, ether(layers.EthernetTypeDot1Q, vlan(layers.EthernetType(8+len(v4)), joined([]byte{0xaa, 0xaa, 3, 0, 0, 0, 8, 0}, v4))), 0, decoded, hello},
		{"802.2 IP", linkEthernet, ether(layers.EthernetType(3+len(v4)), joined([]byte{6, 6, 3}, v4)), 0, decoded, hello},
		{"802.2 spanning tree", linkEthernet, ether(38, joined([]byte{0x42, 0x42, 3}, make([]byte, 35))), 0, otherProto, decodedTCP{}},
		{"PPPoE", linkEthernet, ether(layers.EthernetTypePPPoESession, joined([]byte{0x11, 0, 0, 1, 0, 99, 0, 0x21}, v4)), 0, decoded, hello},
		{"PPPoE IPv6", linkPPPoE, joined([]byte{0x11, 0, 0, 1, 0, 99, 0, 0x57}, v6), 0, decoded, hello},
		{"PPP", linkPPP, joined([]byte{0xff, 3, 0, 0x21}, v4), 0, decoded, hello},
		{"PPP, compressed", linkPPPHDLC, joined([]byte{0x21}, v4), 0, decoded, hello},
		{"PPP, LCP", linkPPP, joined([]byte{0xc0, 0x21}, v4), 0, otherProto, decodedTCP{}},
		{"SLL", linkSLL, joined(make([]byte, 14), []byte{8, 0}, v4), 0, decoded, hello},
		{"SLL, VLAN", linkSLL, joined(make([]byte, 14), []byte{0x81, 0}, vlan(layers.EthernetTypeIPv6, v6)), 0, decoded, hello},
		{"SLL2", linkSLL2, joined([]byte{0x86, 0xdd}, make([]byte, 18), v6), 0, decoded, hello},
		{"NULL, little endian", linkNull, joined([]byte{2, 0, 0, 0}, v4), 0, decoded, hello},
		{"NULL, big endian", linkNull, joined([]byte{0, 0, 0, 30}, v6), 0, decoded, hello},
		{"LOOP", linkLoop, joined([]byte{0, 0, 0, 2}, v4), 0, decoded, hello},
		{"NULL, other family", linkNull, joined([]byte{7, 0, 0, 0}, v4), 0, otherProto, decodedTCP{}},
		{"raw", linkRaw, v4, 0, decoded, hello},
		{"raw IPv6", linkRaw, v6, 0, decoded, hello},
		{"raw BSD", linkRawBSD, v4, 0, decoded, hello},
		{"raw OpenBSD", linkRawOBSD, v6, 0, decoded, hello},
		{"IPv4", linkIPv4, v4, 0, decoded, hello},
		{"IPv6", linkIPv6, v6, 0, decoded, hello},
		{"pktap", linkPKTAP, joined([]byte{16, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}, ether(layers.EthernetTypeIPv4, v4)), 0, decoded, hello},
		{"pktap in pktap", linkPKTAP, joined([]byte{12, 0, 0, 0, 1, 0, 0, 0, 2, 1, 0, 0}, v4), 0, badHeader, decodedTCP{}},
		{"cooked live", uint32(layers.EthernetTypeIPv6)<<16 | linkByProto, v6, 0, decoded, hello},
		{"ARP", linkEthernet, ether(layers.EthernetTypeARP, make([]byte, 28)), 0, otherProto, decodedTCP{}},
		{"unknown link", 147, v4, 0, unknownLink, decodedTCP{}},
		{"cut in the Ethernet header", linkEthernet, ether(layers.EthernetTypeIPv4, v4)[:13], 0, tooShort, decodedTCP{}},
		{"cut in the VLAN tag", linkEthernet, ether(layers.EthernetTypeDot1Q, []byte{0, 7, 8}), 0, tooShort, decodedTCP{}},
		{"empty", linkRaw, nil, 0, tooShort, decodedTCP{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkDecode(t, tt.link, tt.data, tt.orig, tt.why, tt.want)
		})
	}
}

func checkDecode(t *testing.T, link uint32, data []byte, orig int, why undecoded, want decodedTCP) {
	t.Helper()
	var seg tcpPacket
	got := decodePacket(link, data, max(orig, len(data)), &seg)
	if got != why {
		t.Fatalf("decodePacket = %v, want %v", got, why)
	}
	if why != decoded {
		return
	}
	if diff := cmp.Diff(want, decodedTCP{string(seg.payload), seg.want, seg.seq}); diff != "" {
		t.Errorf("segment (-want +got):\n%s", diff)
	}
}

// The error names the link type, and says so before anything is read.
func TestUnknownLinkType(t *testing.T) {
	_, err := openReader(strings.NewReader(string(microPcap(105))), "wlan.pcap")
	broken := (*CaptureError)(nil)
	if !errors.As(err, &broken) || broken.Offset != 20 || !strings.Contains(broken.Problem, "105 (802.11)") {
		t.Errorf("err = %v", err)
	}
}

// gopacket as a second opinion, on whatever the fuzzer makes of the seeds:
// where it finds TCP behind the first IP header of an Ethernet frame, we find
// the same ports, sequence number and payload.
func FuzzDecodePacket(f *testing.F) {
	seg := tcpHeader{sport: 40000, dport: 8000, seq: 7, flags: flagACK, options: 4}.with("hello")
	for _, frame := range [][]byte{
		ether(layers.EthernetTypeIPv4, ipv4Options(layers.IPProtocolTCP, 4, seg)),
		ether(layers.EthernetTypeIPv6, ipv6(layers.IPProtocolTCP, seg)),
		ether(layers.EthernetTypeIPv6, ipv6(layers.IPProtocolIPv6HopByHop, joined([]byte{byte(layers.IPProtocolTCP), 0, 1, 4, 0, 0, 0, 0}, seg))),
		ether(layers.EthernetTypeDot1Q, vlan(layers.EthernetTypeIPv4, ipv4(layers.IPProtocolTCP, seg))),
		ether(layers.EthernetTypeMPLSUnicast, joined([]byte{0, 1, 0x21, 64}, ipv4(layers.IPProtocolTCP, seg))),
		ether(layers.EthernetTypeIPv4, ipv4(layers.IPProtocolUDP, joined([]byte{0, 9, 0x12, 0xb5, 0, 99, 0, 0, 8, 0, 0, 0, 0, 0, 5, 0}, ether(layers.EthernetTypeIPv4, ipv4(layers.IPProtocolTCP, seg))))),
		ether(layers.EthernetTypeIPv4, ipv4(layers.IPProtocolGRE, joined([]byte{0xb0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2}, ipv4(layers.IPProtocolTCP, seg)))),
	} {
		f.Add(uint16(linkEthernet), frame, uint16(0))
	}
	f.Add(uint16(linkSLL), joined(make([]byte, 14), []byte{8, 0}, ipv4(layers.IPProtocolTCP, seg)), uint16(9))
	f.Fuzz(func(t *testing.T, link uint16, data []byte, cut uint16) {
		var seg tcpPacket
		why := decodePacket(uint32(link), data, len(data)+int(cut), &seg)
		if why == decoded && (len(seg.payload) > seg.want || seg.want > len(data)+1<<16) {
			t.Fatalf("payload %d, want %d, of %d bytes", len(seg.payload), seg.want, len(data))
		}
		if uint32(link) == linkEthernet && cut == 0 && len(data) > 14 {
			compareGopacket(t, data, why, &seg)
		}
	})
}

func compareGopacket(t *testing.T, data []byte, why undecoded, seg *tcpPacket) {
	packet := gopacket.NewPacket(data, layers.LayerTypeEthernet, gopacket.NoCopy)
	all := packet.Layers()
	if packet.ErrorLayer() != nil || len(all) < 3 || all[2].LayerType() != layers.LayerTypeTCP {
		return
	}
	tcp := all[2].(*layers.TCP)
	if v4, ok := all[1].(*layers.IPv4); ok && (v4.Length == 0 || int(v4.Length) > len(data)-14 || v4.Version != 4 || v4.Flags&^layers.IPv4DontFragment != 0) {
		return
	}
	if v6, ok := all[1].(*layers.IPv6); ok && (v6.Length == 0 || int(v6.Length) > len(data)-54 || v6.Version != 6) {
		return
	}
	if why != decoded {
		t.Fatalf("not decoded (%v), gopacket: %v", why, packet)
	}
	if seg.seq != tcp.Seq || seg.srcPort != uint16(tcp.SrcPort) || string(seg.payload) != string(tcp.Payload) {
		t.Fatalf("seq %d %q, gopacket %d %q", seg.seq, seg.payload, tcp.Seq, tcp.Payload)
	}
}

func TestLinkNames(t *testing.T) {
	for _, link := range []uint32{linkNull, linkEthernet, linkSLL, linkSLL2, uint32(layers.EthernetTypeIPv4)<<16 | linkByProto} {
		if !knownLink(link) {
			t.Errorf("knownLink(%d) = false", link)
		}
	}
	for link, want := range map[uint32]string{
		147: "link type 147 (USER0)", 127: "link type 127 (RadioTap)", 253: "link type 253 (netlink)",
		254: "link type 254", 9999: "link type 9999",
	} {
		if got := linkName(link); got != want {
			t.Errorf("linkName = %q, want %q", got, want)
		}
	}
}
