package recorder

import (
	"slices"

	"github.com/google/gopacket/layers"
	"golang.org/x/net/bpf"
)

const (
	// liveSnaplen is what a live capture keeps of a packet: more than any
	// packet but those of BIG TCP has.
	liveSnaplen = 256 << 10
	// maxFilterPorts is how many ports the kernel filters by; where there are
	// more, it passes all of TCP and we filter.
	maxFilterPorts = 256
)

// liveFilter makes the program that the kernel runs on each packet, on a
// socket without link headers: the packet begins with its network header.
// It passes TCP to and from the ports, fragments of TCP (whose loss must be
// counted), and what it cannot look into: VLAN tags, labels, PPPoE, and IPv6
// with extension headers.
//
// On the loopback device every packet comes by twice, going out and coming in;
// only the latter passes, as in tcpdump.
func liveFilter(ports []int) []bpf.Instruction {
	if len(ports) > maxFilterPorts {
		ports = nil
	}
	const hatypeLoopback, outgoing = 772, 4
	program := []bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtLinkLayerType},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: hatypeLoopback, SkipTrue: 3},
		bpf.LoadExtension{Num: bpf.ExtType},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: outgoing, SkipTrue: 1},
		bpf.RetConstant{},
		bpf.LoadExtension{Num: bpf.ExtProto},
	}
	program = append(program, whenEqual(uint32(layers.EthernetTypeIPv4), filterIPv4(ports))...)
	program = append(program, whenEqual(uint32(layers.EthernetTypeIPv6), filterIPv6(ports))...)
	for _, opaque := range []layers.EthernetType{
		layers.EthernetTypeDot1Q, layers.EthernetTypeQinQ, etherQinQOld,
		layers.EthernetTypeMPLSUnicast, layers.EthernetTypeMPLSMulticast, layers.EthernetTypePPPoESession,
	} {
		program = append(program, whenEqual(uint32(opaque), pass())...)
	}
	return append(program, bpf.RetConstant{})
}

func pass() []bpf.Instruction { return []bpf.Instruction{bpf.RetConstant{Val: liveSnaplen}} }

// whenEqual runs the block, which must end the program, if A has the value.
func whenEqual(value uint32, block []bpf.Instruction) []bpf.Instruction {
	return append([]bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipTrue: 1},
		bpf.Jump{Skip: uint32(len(block))},
	}, block...)
}

func filterIPv4(ports []int) []bpf.Instruction {
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: 9, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(layers.IPProtocolTCP), SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: quicProtocol(ports), SkipTrue: 1},
		bpf.RetConstant{},
		bpf.LoadAbsolute{Off: 6, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: 0x1fff, SkipTrue: 1},
		bpf.RetConstant{Val: liveSnaplen},
		bpf.LoadMemShift{Off: 0},
	}
	return append(program, filterPorts(ports)...)
}

func filterIPv6(ports []int) []bpf.Instruction {
	const headerLength = 40
	program := []bpf.Instruction{bpf.LoadAbsolute{Off: 6, Size: 1}}
	for _, extension := range []layers.IPProtocol{
		layers.IPProtocolIPv6HopByHop, layers.IPProtocolIPv6Routing, layers.IPProtocolIPv6Fragment,
		layers.IPProtocolAH, layers.IPProtocolIPv6Destination, protoMobility, protoHIP, protoShim6,
	} {
		program = append(program, whenEqual(uint32(extension), pass())...)
	}
	program = append(
		program,
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(layers.IPProtocolTCP), SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: quicProtocol(ports), SkipTrue: 1},
		bpf.RetConstant{},
		bpf.LoadConstant{Dst: bpf.RegX, Val: headerLength},
	)
	return append(program, filterPorts(ports)...)
}

// quicProtocol is the protocol that passes beside TCP: UDP where the port of
// QUIC was asked for, which has its ports where TCP has them.
func quicProtocol(ports []int) uint32 {
	if slices.Contains(ports, portQUIC) {
		return uint32(layers.IPProtocolUDP)
	}
	return uint32(layers.IPProtocolTCP)
}

// filterPorts ends the program by the ports of the TCP header at X.
func filterPorts(ports []int) []bpf.Instruction {
	if len(ports) == 0 {
		return pass()
	}
	var program []bpf.Instruction
	for _, field := range []uint32{0, 2} {
		program = append(program, bpf.LoadIndirect{Off: field, Size: 2})
		for _, port := range ports {
			program = append(
				program,
				bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(port), SkipTrue: 1},
				bpf.RetConstant{Val: liveSnaplen},
			)
		}
	}
	return append(program, bpf.RetConstant{})
}
