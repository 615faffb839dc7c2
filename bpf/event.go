package bpf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
)

// version is EVENT_VERSION of events.h.
const version = 1

// Sizes of the records' headers (events.h).
const (
	dataSize    = 80
	controlSize = 176
)

// Stream says where bytes were seen.
type Stream uint8

const (
	// Plain bytes passed through a socket.
	Plain Stream = iota
	// SSL bytes passed through a library with OpenSSL's functions.
	SSL
	// Go bytes passed through Go's crypto/tls.
	Go
)

// Data is a piece of one direction of a stream.
type Data struct {
	Source Stream
	// ToClient is the direction.
	ToClient bool
	// Why names the reason for which Bytes is shorter than Want: one of
	// [Reasons], "" where it is not.
	Why string
	// Cookie names the connection; 0 = not known. A stream of a TLS library is
	// named by TGID, SSL and Generation, whether it has a Cookie or not.
	Cookie uint64
	// Pos is the place of the first byte in its direction.
	Pos int64
	// Time is that of the call's end, in ns of CLOCK_BOOTTIME.
	Time int64
	// Want ≥ len(Bytes) is the number of bytes that were moved.
	Want int
	// Bytes is valid until the next call of [Kernel.Data].
	Bytes []byte
	// Chunk numbers the pieces of one call, which moved Call bytes.
	Chunk, Call    uint32
	TGID, TID, CPU uint32
	SSL, Sequence  uint64
	Generation     uint32
}

// parse reads a record of the data ring.
func (d *Data) parse(b []byte) error {
	if len(b) < dataSize || b[0] != version || b[1] != byte(kindData) {
		return fmt.Errorf("read data event of %d bytes: not of version %d", len(b), version)
	}
	le := binary.LittleEndian
	have := le.Uint32(b[36:])
	if uint64(have) > uint64(len(b)-dataSize) {
		return fmt.Errorf("read data event: %d bytes announced, %d there", have, len(b)-dataSize)
	}
	*d = Data{
		Source: Stream(b[2]), ToClient: b[3]&1 == 1, Why: reasonOf(le.Uint32(b[4:])),
		Cookie: le.Uint64(b[8:]), Pos: int64(le.Uint64(b[16:])), Time: int64(le.Uint64(b[24:])),
		Want: int(le.Uint32(b[32:])), Chunk: le.Uint32(b[40:]), Call: le.Uint32(b[44:]),
		TGID: le.Uint32(b[48:]), TID: le.Uint32(b[52:]), CPU: le.Uint32(b[56:]),
		Generation: le.Uint32(b[60:]), Sequence: le.Uint64(b[64:]), SSL: le.Uint64(b[72:]),
		Bytes: b[dataSize : dataSize+have],
	}
	return nil
}

// Kind is what a [Control] event says.
type Kind uint8

const (
	kindData Kind = 1 + iota
	// Open is the first sign of a connection.
	Open
	// FIN: a direction ended at its Pos.
	FIN
	// RST: the sender of a direction broke the connection off.
	RST
	// Close: the socket is gone.
	Close
	// TLS: the connection turned out to be encrypted; its raw bytes are only
	// counted, unless asked for.
	TLS
	// Exit: the process TGID ended.
	Exit
	// Bind: the TLS library's stream belongs to Cookie.
	Bind
	// Unbind: the TLS library's stream ended.
	Unbind
	// Code: the process TGID runs code of a file that is not known; see
	// [Probes.Known].
	Code
)

// ConnFlags say what a connection is.
type ConnFlags uint32

const (
	// Late: it was open before it was seen, so that position 0 is its first
	// byte seen.
	Late ConnFlags = 1 << iota
	// Client: the process opened it.
	Client
	// Encrypted: see [TLS].
	Encrypted
	opened
	// Unix: it is of AF_UNIX and has no addresses.
	Unix
	// Counted: SeqPos and Acked are known.
	Counted
	// FINIn and FINOut: the other side ended its direction, the process did.
	FINIn
	FINOut
)

const (
	// PeerFirst: the other side's FIN came before ours.
	PeerFirst ConnFlags = 2048 << iota
	// RSTIn and RSTOut: the other side broke the connection off, we did.
	RSTIn
	RSTOut
)

// Closed is a flag of [Close] alone: a call may be under way that has yet to
// tell of bytes; the event comes once more then.
const Closed ConnFlags = 512

// Control is an event in the life of a connection.
type Control struct {
	Kind   Kind
	Source Stream
	// ToClient is the direction that FIN and RST are about.
	ToClient bool
	Flags    ConnFlags
	Cookie   uint64
	// Time is that of the event, Start that at which the connection was
	// established or first seen, in ns of CLOCK_BOOTTIME.
	Time, Start int64
	// Pos are the lengths of the directions, to the server and to the client,
	// as the calls moved them.
	Pos [2]int64
	// SeqPos are the same as TCP counted them: more than Pos where bytes moved
	// by other ways than the calls that are seen; in a [FIN] of the other side
	// with what has come and was not read yet. Acked is how much of what the
	// process sent the other side has received. Both only with [Counted].
	SeqPos [2]int64
	Acked  int64
	// Skipped are the bytes before Pos, by direction, of which the ladder left
	// no record.
	Skipped [2]int64
	// Accepted is when the process of an [Open] got the connection; 0 = that was
	// not seen.
	Accepted  int64
	TGID, TID uint32
	// NetNS is the network namespace's inode number.
	NetNS uint32
	// Local and Remote are the socket's ends; not valid for AF_UNIX.
	Local, Remote netip.AddrPort
	// PeerTGID is the process at the other end of an AF_UNIX connection.
	PeerTGID   uint32
	SSL        uint64
	Generation uint32
	// Socket names the kernel's socket of an [Open] or a [Close], for
	// [Kernel.Forget].
	Socket uint64
	// Vanished: a closed connection's other side did not answer any more.
	Vanished bool
	// Comm is the name of the thread that used the connection first.
	Comm string
}

// parse reads a record of the control ring.
func (c *Control) parse(b []byte) error {
	if len(b) < controlSize || b[0] != version || Kind(b[1]) <= kindData {
		return fmt.Errorf("read control event of %d bytes: not of version %d", len(b), version)
	}
	le := binary.LittleEndian
	at := func(i int) int64 { return int64(le.Uint64(b[i:])) }
	*c = Control{
		Kind: Kind(b[1]), Source: Stream(b[2]), ToClient: b[3]&1 == 1, Flags: ConnFlags(le.Uint32(b[4:])),
		Cookie: le.Uint64(b[8:]), Time: at(16), Start: at(24),
		Pos: [2]int64{at(32), at(40)}, SeqPos: [2]int64{at(48), at(56)}, Acked: at(64),
		TGID: le.Uint32(b[72:]), TID: le.Uint32(b[76:]), NetNS: le.Uint32(b[84:]),
		PeerTGID: le.Uint32(b[92:]), SSL: le.Uint64(b[128:]), Generation: le.Uint32(b[136:]),
		Skipped: [2]int64{at(160), at(168)},
	}
	if c.Kind == Open {
		c.Accepted, c.Acked = c.Acked, 0
	}
	if c.Kind == Open || c.Kind == Close {
		c.Socket, c.SSL = c.SSL, 0
	}
	comm, _, _ := bytes.Cut(b[144:160], []byte{0})
	c.Comm = string(comm)
	switch le.Uint32(b[140:]) {
	case etimedout, ehostunreach, enetunreach:
		c.Vanished = true
	}
	family := le.Uint32(b[80:])
	c.Local = endOf(family, b[96:112], le.Uint16(b[88:]))
	c.Remote = endOf(family, b[112:128], le.Uint16(b[90:]))
	return nil
}

// Address families of the kernel.
const (
	afInet  = 2
	afInet6 = 10
)

// Errors of sockets whose other side is gone.
const (
	enetunreach  = 101
	etimedout    = 110
	ehostunreach = 113
)

// endOf makes one end of a connection; IPv4 in IPv6 becomes IPv4.
func endOf(family uint32, addr []byte, port uint16) netip.AddrPort {
	switch family {
	case afInet:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(addr[:4])), port)
	case afInet6:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(addr)).Unmap(), port)
	}
	return netip.AddrPort{}
}
