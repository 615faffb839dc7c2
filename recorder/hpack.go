package recorder

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"strings"

	"golang.org/x/net/http2/hpack"

	"github.com/lambdac/lambdac/trace"
)

const (
	// initialTable is the size of a header table before anyone says otherwise
	// (RFC 9113, section 6.5.2).
	initialTable = 4096
	// maxTable bounds a header table, whatever a peer allows the other to use.
	maxTable = 64 << 10
	// entryCost is what a table entry takes besides its bytes (RFC 7541,
	// section 4.1).
	entryCost = 32
	// maxString bounds a name or value as it is coded and as it is read; one that
	// is longer ends what can be read of the header table.
	maxString = 256 << 10
)

// fieldDecoder reads the header blocks of one direction in capture order
// (RFC 7541), in pieces of any size.
//
// A decoder that has missed a block does not know what the table holds, so
// every entry of before becomes a blank: a field without a name, which no peer
// sends. New entries push the blanks out from the old end just as they push
// out what the peer has there, so that a reference resolves to what is known,
// or to a blank, and never to another field. Blanks are the smallest entries
// there can be, so they reach at least as far back as the peer's table does.
type fieldDecoder struct {
	dec  *hpack.Decoder
	size uint32 // of the table that is taken to be the peer's; 0 = initialTable
	into *fieldBlock
	// veil is why entries are unknown: late_join or gap; "" = none is.
	veil trace.OutcomeDetail
	// failed: the rest of the block cannot be read. fails are the blocks of which
	// that was so.
	failed bool
	fails  int
	// pending is at most what the decoder holds of a field under way, bytes.
	pending int64
	// table is the size that the peer has given to the table, fresh says that a
	// block begins, where it may change.
	table uint64
	fresh bool
}

// maxFails is how many blocks may be broken before no more are read: making a
// table anew costs much more than a frame that is none does its sender. A table
// larger than it was thought to be costs two.
const maxFails = 64

func (d *fieldDecoder) open(size uint32) {
	d.size, d.table = size, uint64(size)
	d.dec = hpack.NewDecoder(size, d.emit)
	d.dec.SetAllowedMaxDynamicTableSize(maxTable)
	d.dec.SetMaxStringLength(maxString)
}

// lose forgets the table: a block was missed.
func (d *fieldDecoder) lose(why trace.OutcomeDetail) {
	if d.fails > maxFails {
		d.veil = why
		return
	}
	d.open(max(d.size, initialTable))
	d.veil = why
	blank := []byte{0x40, 0, 0} // literal with indexing, name "", value ""
	d.dec.SetEmitEnabled(false)
	// A table of blanks is made of what any decoder takes: no error.
	_, _ = d.dec.Write(bytes.Repeat(blank, int(d.size/entryCost)))
	_ = d.dec.Close()
	d.dec.SetEmitEnabled(true)
}

// because is why entries are unknown, which is why if none was before.
func (d *fieldDecoder) because(why trace.OutcomeDetail) trace.OutcomeDetail {
	return cmp.Or(d.veil, why)
}

// begin starts a block, whose fields go to into.
func (d *fieldDecoder) begin(into *fieldBlock) {
	if d.dec == nil {
		d.open(initialTable)
	}
	d.into, d.fresh, d.failed = into, true, d.fails > maxFails
	d.dec.SetEmitEnabled(true)
}

// write takes a piece of the block.
func (d *fieldDecoder) write(p []byte) {
	if d.failed {
		return
	}
	if d.fresh && len(p) > 0 {
		d.fresh = false
		d.resize(p)
	}
	d.pending = min(d.pending+int64(len(p)), 2*maxString)
	if _, err := d.dec.Write(p); err != nil {
		d.fail()
	}
}

// resize reads the changes of the table's size that a block begins with
// (RFC 7541, section 6.3). One that is cut, or over the bound, is taken for the
// largest: the decoder refuses it.
func (d *fieldDecoder) resize(p []byte) {
	for len(p) > 0 && p[0]&0xe0 == 0x20 {
		size, n := uint64(p[0]&0x1f), 1
		if size == 0x1f {
			more, m := binary.Uvarint(p[1:]) // of 7 bits each, lowest first, as there
			if m <= 0 {
				more, m = maxTable, len(p)-1
			}
			size, n = size+min(more, maxTable), 1+m
		}
		d.table = min(size, maxTable)
		p = p[n:]
	}
}

// end ends the block and reports whether all of it was read.
func (d *fieldDecoder) end() bool {
	if !d.failed && d.dec.Close() != nil {
		d.fail()
	}
	d.into, d.pending = nil, 0
	return !d.failed
}

// fail gives up the block, and with it what the table holds. Where a reference
// went beyond what is known, the peer's table may be larger than was thought.
func (d *fieldDecoder) fail() {
	d.failed = true
	if d.fails++; d.fails > maxFails {
		return
	}
	if d.veil != "" {
		d.size = min(4*d.size, maxTable)
	}
	into := d.into
	d.lose(d.veil)
	d.into = into
}

func (d *fieldDecoder) emit(f hpack.HeaderField) {
	d.pending = 0
	if d.into == nil {
		return
	}
	d.into.add(f.Name, f.Value)
	if d.into.full { // the table is still kept, at little cost
		d.dec.SetEmitEnabled(false)
	}
}

// fieldBlock is what one header block holds.
type fieldBlock struct {
	method, path, authority, status string

	fields []trace.Field
	cost   int
	// cut is the number of bytes left out by maxHead, broken of fields that are
	// none, blank of fields that are not known.
	cut           int64
	broken, blank int64
	full          bool // fields are left out
}

// add takes a field. Of a value that is longer than a head may be the front is
// kept; the header table, which no entry of such a size has a place in, is empty
// after it (RFC 7541, section 4.4).
func (b *fieldBlock) add(name, value string) {
	if len(name)+len(value)+entryCost > maxHead && len(value) > framingRoom {
		b.cut += int64(len(value) - framingRoom)
		value = strings.Clone(value[:framingRoom])
	}
	size := len(name) + len(value) + entryCost
	switch {
	case name == "":
		b.blank++
	case b.cost+size > maxHead:
		b.cut += int64(size)
		b.full = true
	case name[0] == ':':
		b.cost += size
		b.pseudo(name, value)
	case !isFieldName(name) || strings.ContainsAny(value, "\x00\r\n"):
		b.broken++
	default:
		b.cost += size
		b.fields = append(b.fields, trace.Field{Name: name, Value: value})
	}
}

// pseudo takes one pseudo-header field (RFC 9113, section 8.3).
func (b *fieldBlock) pseudo(name, value string) {
	switch name {
	case ":method":
		b.method = value
	case ":path":
		b.path = value
	case ":authority":
		b.authority = value
	case ":status":
		b.status = value
	}
}

func isFieldName(name string) bool {
	for i := range len(name) {
		if !tokenByte[name[i]] {
			return false
		}
	}
	return true
}

// head is the block as a message's head. The authority becomes the field that
// it replaces.
func (b *fieldBlock) head() *head {
	h := &head{h2: true, method: b.method, target: b.path, fields: b.fields, cut: b.cut, broken: b.broken}
	if h.target == "" && h.method == "CONNECT" {
		h.target = b.authority
	}
	if b.authority != "" && fieldValue(b.fields, "host") == "" {
		h.fields = append([]trace.Field{{Name: "host", Value: b.authority}}, b.fields...)
	}
	if n, ok := parseLength(b.status); ok && n >= 100 && n <= 999 {
		h.status = int(n)
	}
	h.frame = readFraming(h.fields)
	h.frame.codings, h.frame.both = nil, false // there is no transfer coding in HTTP/2
	return h
}
