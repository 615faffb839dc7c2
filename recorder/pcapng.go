package recorder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// Block types of pcapng:
// https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html
// All others (names, statistics without drops, custom, …) are passed over by
// their length.
const (
	blockInterface = 1
	blockPacket    = 2 // obsolete, still written by old tools
	blockSimple    = 3
	blockStats     = 5
	blockEnhanced  = 6
	blockSecrets   = 10
)

// secretsTLS is the type of secrets that are a key log: "TLSK".
const secretsTLS = 0x544c534b

// maxInterfaces bounds the table of interfaces of one section.
const maxInterfaces = 1 << 16

// ngInterface is what an interface block says of the packets that name it.
type ngInterface struct {
	link    uint32
	snaplen uint32
	unit    ngUnit
	// offset is added to every time, in seconds.
	offset int64
	// drops is the last count that a statistics block gave.
	drops int64
}

// ngUnit is a time resolution: 10^-n s, or 2^-n s with the top bit set. It is
// kept as the file has it.
type ngUnit uint8

// ngReader reads pcapng in one pass. Sections may differ in byte order, and
// each numbers its interfaces anew.
type ngReader struct {
	in         *captureInput
	name       string
	order      binary.ByteOrder
	interfaces []ngInterface
	// pastDrops are those of the sections before this one.
	pastDrops int64
	// lastTime is the last packet's: simple blocks have no time of their own.
	lastTime int64
	// keys takes the secrets of TLS connections.
	keys *KeyLog
	// last is the length of the block handed out, to be taken off.
	last int
}

func (r *ngReader) next() (packet, error) {
	r.in.take(r.last)
	r.last = 0
	for {
		kind, size, err := r.blockHead()
		if err != nil {
			return packet{}, err
		}
		if !handled(kind, size) {
			if err := r.pass(size); err != nil {
				return packet{}, err
			}
			continue
		}
		body, err := r.blockBody(kind, size)
		if err != nil {
			return packet{}, err
		}
		p, isPacket, problem := r.block(kind, body)
		if problem != "" {
			return packet{}, r.broken(problem)
		}
		if isPacket {
			r.last = size
			r.lastTime = p.time
			return p, nil
		}
		r.in.take(size)
	}
}

func (r *ngReader) broken(problem string) error {
	return &CaptureError{r.name, r.in.off, problem, "what was before it is kept"}
}

// blockHead reads a block's type and length. A section header comes before
// its byte order is known, and brings it.
func (r *ngReader) blockHead() (kind uint32, size int, err error) {
	head, err := r.in.peek(12)
	if errors.Is(err, io.ErrUnexpectedEOF) && r.in.off == 0 {
		return 0, 0, endsInHeader(r.name, head)
	}
	if err != nil {
		return 0, 0, err
	}
	if binary.LittleEndian.Uint32(head) == magicSection {
		if err := r.startSection(head); err != nil {
			return 0, 0, err
		}
	}
	kind, length := r.order.Uint32(head), r.order.Uint32(head[4:])
	if length < 12 || length%4 != 0 {
		return 0, 0, r.broken(fmt.Sprintf("a block of %d bytes cannot be: the file is damaged", length))
	}
	return kind, int(length), nil
}

func (r *ngReader) startSection(head []byte) error {
	const orderMagic = 0x1a2b3c4d
	switch {
	case binary.LittleEndian.Uint32(head[8:]) == orderMagic:
		r.order = binary.LittleEndian
	case binary.BigEndian.Uint32(head[8:]) == orderMagic:
		r.order = binary.BigEndian
	default:
		return r.broken("a section without a byte order: the file is damaged")
	}
	r.pastDrops = r.drops()
	r.interfaces = nil
	return nil
}

// handled reports whether a block's body is read. Secrets of more than a packet
// may have are passed over.
func handled(kind uint32, size int) bool {
	switch kind {
	case blockSecrets:
		return size <= maxPacket
	case blockInterface, blockPacket, blockSimple, blockStats, blockEnhanced:
		return true
	}
	return false
}

// pass skips a block. Its trailing length is not looked at: nothing of the
// block was used.
func (r *ngReader) pass(size int) error {
	err := r.in.discard(int64(size))
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// blockBody returns what is between a block's two lengths, which must agree.
func (r *ngReader) blockBody(kind uint32, size int) ([]byte, error) {
	if size > maxPacket {
		return nil, r.broken(fmt.Sprintf("a block of type %d and %d bytes cannot be: the file is damaged", kind, size))
	}
	block, err := r.in.peek(size)
	if err != nil {
		return nil, err
	}
	if got := r.order.Uint32(block[size-4:]); got != uint32(size) {
		return nil, r.broken(fmt.Sprintf("a block begins with length %d and ends with %d: the file is damaged", size, got))
	}
	return block[8 : size-4], nil
}

// block reads one body; problem says what is wrong with it.
func (r *ngReader) block(kind uint32, b []byte) (p packet, isPacket bool, problem string) {
	switch kind {
	case blockInterface:
		return p, false, r.addInterface(b)
	case blockStats:
		r.readStats(b)
		return p, false, ""
	case blockSecrets:
		r.readSecrets(b)
		return p, false, ""
	case blockSimple:
		p, problem = r.simple(b)
	case blockEnhanced, blockPacket:
		p, problem = r.enhanced(kind, b)
	}
	return p, problem == "", problem
}

func (r *ngReader) addInterface(b []byte) string {
	if len(b) < 8 {
		return "an interface block is too short"
	}
	if len(r.interfaces) == maxInterfaces {
		return fmt.Sprintf("more than %d interfaces in one section", maxInterfaces)
	}
	face := ngInterface{
		link:    uint32(r.order.Uint16(b)),
		snaplen: r.order.Uint32(b[4:]),
		unit:    6, // microseconds unless an option says otherwise
	}
	r.options(b[8:], func(code uint16, value []byte) {
		switch {
		case code == 9 && len(value) >= 1: // if_tsresol
			face.unit = ngUnit(value[0])
		case code == 14 && len(value) >= 8: // if_tsoffset
			face.offset = int64(r.order.Uint64(value))
		}
	})
	r.interfaces = append(r.interfaces, face)
	return ""
}

// readStats takes the counts of packets that the capture itself lost.
func (r *ngReader) readStats(b []byte) {
	if len(b) < 12 || uint64(r.order.Uint32(b)) >= uint64(len(r.interfaces)) {
		return
	}
	var drops uint64
	r.options(b[12:], func(code uint16, value []byte) {
		if (code == 5 || code == 7) && len(value) >= 8 { // isb_ifdrop, isb_osdrop
			drops += r.order.Uint64(value)
		}
	})
	if drops <= math.MaxInt32 { // more is "unknown", written as all ones
		r.interfaces[r.order.Uint32(b)].drops = int64(drops)
	}
}

// readSecrets takes a key log that is in the file. What is of another kind, or
// not whole, is passed over.
func (r *ngReader) readSecrets(b []byte) {
	if r.keys == nil || len(b) < 8 || r.order.Uint32(b) != secretsTLS {
		return
	}
	if n := r.order.Uint32(b[4:]); uint64(n) <= uint64(len(b)-8) {
		r.keys.embed(b[8 : 8+n])
		return
	}
	r.keys.bad++
}

// drops is the number of packets that the capture program says it lost.
func (r *ngReader) drops() int64 {
	sum := r.pastDrops
	for i := range r.interfaces {
		sum += r.interfaces[i].drops
	}
	return sum
}

// options visits the options of a block; it stops at the first that does not
// fit.
func (r *ngReader) options(b []byte, visit func(code uint16, value []byte)) {
	for len(b) >= 4 {
		code, n := r.order.Uint16(b), int(r.order.Uint16(b[2:]))
		b = b[4:]
		if code == 0 || n > len(b) {
			return
		}
		visit(code, b[:n])
		b = b[min((n+3)&^3, len(b)):]
	}
}

// enhanced reads an enhanced packet block, or the obsolete packet block, which
// has a 16-bit interface number and a drop count in the first word.
func (r *ngReader) enhanced(kind uint32, b []byte) (packet, string) {
	if len(b) < 20 {
		return packet{}, "a packet block is too short"
	}
	id := r.order.Uint32(b)
	if kind == blockPacket {
		id = uint32(r.order.Uint16(b))
	}
	if uint64(id) >= uint64(len(r.interfaces)) {
		return packet{}, fmt.Sprintf("a packet of interface %d, of which there is no description", id)
	}
	face := &r.interfaces[id]
	size, orig := r.order.Uint32(b[12:]), r.order.Uint32(b[16:])
	if uint64(size) > uint64(len(b)-20) {
		return packet{}, fmt.Sprintf("a packet of %d bytes in a block of %d: the file is damaged", size, len(b)+12)
	}
	units := uint64(r.order.Uint32(b[4:]))<<32 | uint64(r.order.Uint32(b[8:]))
	return packet{
		time: face.time(units),
		link: face.link,
		data: b[20 : 20+size],
		orig: max(int(orig), int(size)),
	}, ""
}

// simple reads a simple packet block: interface 0, no time, and its captured
// length follows from the others.
func (r *ngReader) simple(b []byte) (packet, string) {
	if len(b) < 4 {
		return packet{}, "a simple packet block is too short"
	}
	if len(r.interfaces) == 0 {
		return packet{}, "a packet before any interface description"
	}
	face := &r.interfaces[0]
	orig := r.order.Uint32(b)
	size := min(int(orig), len(b)-4)
	if face.snaplen > 0 {
		size = min(size, int(face.snaplen))
	}
	return packet{time: r.lastTime, link: face.link, data: b[4 : 4+size], orig: int(orig)}, ""
}

// time turns a count of units into Unix ns. Times that do not fit are set to
// the largest that does.
func (f *ngInterface) time(units uint64) int64 {
	ns := f.unit.nanoseconds(units)
	const maxSeconds = math.MaxInt64 / 1_000_000_000
	if f.offset < -maxSeconds || f.offset > maxSeconds {
		return ns
	}
	offset := f.offset * 1e9
	if sum := ns + offset; (offset < 0) == (sum < ns) {
		return sum
	}
	return math.MaxInt64
}

func (u ngUnit) nanoseconds(units uint64) int64 {
	var hi, lo uint64
	switch n := int(u & 0x7f); {
	case u&0x80 != 0:
		hi, lo = bits.Mul64(units, 1e9)
		hi, lo = shiftRight(hi, lo, n)
	case n <= 9:
		hi, lo = bits.Mul64(units, power10(9-n))
	case n-9 < 20:
		lo = units / power10(n-9)
	}
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}

// shiftRight divides the 128-bit number hi·2^64+lo by 2^n, n < 128.
func shiftRight(hi, lo uint64, n int) (uint64, uint64) {
	if n >= 64 {
		return 0, hi >> (n - 64)
	}
	return hi >> n, lo>>n | hi<<(64-n)
}

// power10 is 10^n for 0 ≤ n < 20.
func power10(n int) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}
