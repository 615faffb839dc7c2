package recorder

import (
	"errors"
	"net/netip"
)

// Dir is a direction of a connection.
type Dir uint8

const (
	// ToServer: from the client to the server, where requests travel.
	ToServer Dir = iota
	// ToClient: from the server to the client, where answers travel.
	ToClient
)

// String returns "to_server" or "to_client".
func (d Dir) String() string {
	if d == ToClient {
		return "to_client"
	}
	return "to_server"
}

// Other is the opposite direction.
func (d Dir) Other() Dir { return d ^ 1 }

// ConnInfo names one connection. Its source makes one per connection and all
// segments of the connection point to it; ConnectNs is filled in when it
// becomes known, everything else before the first segment.
type ConnInfo struct {
	// ID numbers the connections of a source from 1, in order of appearance.
	ID uint64
	// Client opened the connection, or is taken to have (see tcp.go). Neither
	// is valid where the connection has no addresses or they are not known.
	Client, Server netip.AddrPort
	// Start is the time of the first packet, Unix ns.
	Start int64
	// SawSYN: the connection was seen from its first packet on, so position 0
	// is its first byte. Otherwise position 0 is the first byte seen.
	SawSYN bool
	// ConnectNs is the time from the client's first SYN to the client's ACK
	// of the server's; nil where not all three were seen.
	ConnectNs *int64
	// AcceptNs is the time from when the connection was established until the
	// server's process got it; nil where that is not known.
	AcceptNs *int64
	// Decrypted: the bytes are what a TLS library made of the connection's.
	Decrypted bool

	// cookie is the source's own name; 0 = none, as where it does not copy.
	cookie uint64
	// streams is the reassembler's state of this connection: kept here so
	// that a packet costs one table lookup and not two.
	streams *connStreams
}

// Segment is one piece of one direction of a connection as a source saw it:
// possibly out of order, repeated, overlapping others, or cut.
type Segment struct {
	Conn *ConnInfo
	Dir  Dir
	// Pos is the place of Data's first byte in its direction, counted from
	// the connection's first byte (SawSYN) or the first byte seen.
	Pos int64
	// Data is valid until the source's next Next.
	Data []byte
	// Want ≥ len(Data) is the number of bytes that were on the wire; where it
	// is more, the rest is lost and Cut says why ("" = snaplen).
	Want int
	Cut  string
	// Time is when the segment was seen, Unix ns.
	Time int64
	// Acked is the position up to which the sender of this segment has
	// received the other direction; 0 = not known.
	Acked         int64
	SYN, FIN, RST bool
	// Gone: the source has forgotten the connection (its table was full, or
	// its ports were used again); no segment of it follows.
	Gone bool
}

// streamHandler receives the bytes of each connection in order, from one
// goroutine.
//
// Within one direction, data and gap calls join without a hole: the next pos
// is the last pos plus its length. Every byte carries the time of the packet
// that brought it first. Where packets came out of order these times can go
// back by the time they were late.
type streamHandler interface {
	// open comes before everything else of a connection.
	open(c *ConnInfo)
	// data hands over bytes; b is valid during the call only.
	data(c *ConnInfo, d Dir, pos int64, b []byte, t int64)
	// gap says that n bytes from pos on are lost, and why: see the lost…
	// constants.
	gap(c *ConnInfo, d Dir, pos, n int64, reason string, t int64)
	// fin comes after the direction's last byte.
	fin(c *ConnInfo, d Dir, t int64)
	// rst: the sender of direction d broke the connection off.
	rst(c *ConnInfo, d Dir, t int64)
	// closed comes last: both directions ended, the connection was forgotten,
	// or the input ended.
	closed(c *ConnInfo, t int64)
}

// Reasons for which bytes of a stream are lost.
const (
	// lostGap: no packet with these bytes was seen.
	lostGap = "gap"
	// lostSnaplen: the packet was seen, the capture kept only its head.
	lostSnaplen = "snaplen"
	// lostCap: the bytes may have come later, but waiting for them would have
	// held back more bytes than the reassembler may keep.
	lostCap = "cap"
)

// Source yields what was seen of TCP connections, in order of capture.
// It is for one goroutine, but for Close, which may be called from any and
// ends a waiting Next.
type Source interface {
	// Next returns the next segment. It returns io.EOF at the end (after
	// Close too), and [ErrTick] from a live source that has seen nothing for a
	// while, with Segment.Time set to the present. Any other error ends the
	// source; what was returned before it is good.
	Next() (Segment, error)
	Stats() SourceStats
	Close() error
	// Name is the value of the column capture_source: "pcap", "live", "tap", "ebpf".
	Name() string
}

// ErrTick is returned by a live source's Next at most every 200 ms while
// there is no traffic, so that a reader can keep its own time.
var ErrTick = errors.New("no traffic")

// SourceStats counts what a source saw. All counts are since its start.
type SourceStats struct {
	// Packets and Bytes are those read, whatever is in them; Bytes is their
	// length on the wire.
	Packets, Bytes int64
	// ReadBytes is how much of the capture files was read.
	ReadBytes int64
	// Segments is the number of TCP segments among the packets that passed
	// the port filter.
	Segments int64
	// Truncated is the number of packets of which the capture kept only the
	// head.
	Truncated int64
	// Filtered is the number of TCP packets to or from other ports.
	Filtered int64
	// Undecoded counts packets by the reason for which they are no TCP
	// segment: "not_ip" and "not_tcp", which are no loss; "quic", whose bytes
	// [Run] counts as blind; "fragment", "short", "bad_header", "nested" and
	// "link_type", which may be.
	Undecoded map[string]int64
	// Cut names the files that end within a packet, and where.
	Cut []string
	// KeepAlives is the number of keep-alive probes, OutOfWindow that of
	// segments whose sequence number cannot belong to their connection.
	KeepAlives, OutOfWindow int64
	// Connections were seen; Evicted of them were forgotten while open
	// because the table was full.
	Connections, Evicted int64
	// KernelDrops is the number of packets that the kernel could not hand to
	// us (live) or to the capture program, as far as the file says it, or the
	// number of segments that found the buffer full (tap).
	KernelDrops int64
	// DroppedBytes is the number of bytes in the latter.
	DroppedBytes int64
	// Warnings are things to tell the user, such as a file cut in the middle.
	Warnings []string
}
