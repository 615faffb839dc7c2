package sse

import (
	"encoding/binary"
	"hash/crc32"
)

// EventStream reads binary messages (application/vnd.amazon.eventstream). The
// zero value is ready to use. It is not safe for concurrent use.
//
// A message is: total length and length of the headers (32 bits each, big
// endian), their CRC-32; headers; payload; the CRC-32 of all before it. Name
// is the value of :event-type, or of :exception-type or :error-code where
// :message-type says so.
//
// A message whose checksum is wrong gives one event that is Damaged. Where the
// lengths themselves cannot be believed, the reader looks for the next message
// by their checksum: that is one such event too, however far it has to look.
//
// Source: AWS SDK for Go v2, aws/protocol/eventstream.
type EventStream struct {
	// MaxEvent bounds the bytes kept of one message; 0 = 16 MiB. A longer one
	// is passed over, unchecked, as an event with Cut and no Data.
	MaxEvent int

	part    []byte // the message under way, where a piece ended inside it
	left    int    // bytes to come of a message that is passed over
	cut     int    // its length
	lost    bool   // looking for a message
	pos     int64  // offset of the next byte to be fed
	dropped int64
}

const (
	preludeLen = 12 // two lengths and their checksum
	minMessage = preludeLen + 4
	// maxMessage is what services and their clients agree not to exceed: 24 MiB
	// of payload and 128 KiB of headers. A length above it is no length.
	maxMessage = 24<<20 + 128<<10 + minMessage
)

// Feed reads the next bytes of the stream and calls emit for every message
// that they complete.
func (d *EventStream) Feed(p []byte, emit func(Event)) {
	d.pos += int64(len(p))
	held := len(d.part) > 0
	if held {
		d.part = append(d.part, p...)
		p = d.part
	}
	rest := d.read(p, emit)
	if !held || len(rest) < len(d.part) {
		d.part = append(emptied(d.part), rest...)
	}
}

// Close hands out the message that the end of the stream cut, without Data.
// The decoder is then as new, but for its offset and Dropped.
func (d *EventStream) Close(emit func(Event)) {
	if (len(d.part) > 0 || d.left > 0) && !d.lost {
		emit(Event{Partial: true, Cut: int64(d.cut), End: d.pos})
	}
	d.part, d.left, d.cut, d.lost = d.part[:0], 0, 0, false
}

// Resync says that bytes are missing here: the message under way is given up,
// and the next one is looked for. The missing bytes are not counted in End.
func (d *EventStream) Resync() {
	d.part, d.left, d.cut, d.lost = d.part[:0], 0, 0, true
}

// Held is the number of bytes kept of a message that is not complete.
func (d *EventStream) Held() int { return len(d.part) }

// Forget gives up what is held of a message that is not complete, as if that
// were over MaxEvent.
func (d *EventStream) Forget() {
	if len(d.part) < preludeLen {
		return
	}
	total, _ := prelude(d.part)
	d.left, d.cut = total-len(d.part), total
	d.dropped += int64(len(d.part))
	d.part = nil
}

// Dropped is the number of bytes left out because of MaxEvent.
func (d *EventStream) Dropped() int64 { return d.dropped }

// read takes messages off the front of b, up to the end of the bytes fed, and
// returns what is left of it.
func (d *EventStream) read(b []byte, emit func(Event)) []byte {
	for len(b) > 0 {
		if d.left > 0 {
			b = d.pass(b, emit)
			continue
		}
		if d.lost {
			if b, d.lost = hunt(b); d.lost {
				return b
			}
		}
		if len(b) < preludeLen {
			return b
		}
		total, ok := prelude(b)
		switch {
		case !ok:
			emit(Event{Damaged: true, End: d.pos - int64(len(b)-preludeLen)})
			d.lost = true
			b = b[1:]
		case total > d.max():
			d.left, d.cut = total, total
		case total > len(b):
			return b
		default:
			d.message(b[:total], d.pos-int64(len(b)-total), emit)
			b = b[total:]
		}
	}
	return b
}

func (d *EventStream) max() int {
	if d.MaxEvent > 0 {
		return d.MaxEvent
	}
	return defaultMaxEvent
}

// pass takes bytes of a message that is too long.
func (d *EventStream) pass(b []byte, emit func(Event)) []byte {
	n := min(len(b), d.left)
	b = b[n:]
	d.dropped += int64(n)
	if d.left -= n; d.left == 0 {
		emit(Event{Cut: int64(d.cut), End: d.pos - int64(len(b))})
		d.cut = 0
	}
	return b
}

// prelude returns the length of the message that b begins with.
func prelude(b []byte) (total int, ok bool) {
	size, headers := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	if size < minMessage || size > maxMessage || headers > size-minMessage {
		return 0, false
	}
	return int(size), crc32.ChecksumIEEE(b[:8]) == binary.BigEndian.Uint32(b[8:])
}

// hunt returns b from the next message on, or, still lost, the end of it that
// may be the beginning of one.
func hunt(b []byte) (rest []byte, lost bool) {
	for len(b) >= preludeLen {
		if _, ok := prelude(b); ok {
			return b, false
		}
		b = b[1:]
	}
	return b, true
}

// message hands out one message.
func (d *EventStream) message(b []byte, end int64, emit func(Event)) {
	body := len(b) - 4
	if crc32.ChecksumIEEE(b[:body]) != binary.BigEndian.Uint32(b[body:]) {
		emit(Event{Damaged: true, End: end})
		return
	}
	payload := preludeLen + int(binary.BigEndian.Uint32(b[4:]))
	ev := Event{Data: b[payload:body], End: end}
	var event, exception, code []byte
	eachHeader(b[preludeLen:payload], func(name, value []byte) {
		switch string(name) {
		case ":message-type":
			ev.Exception = string(value) != "event"
		case ":event-type":
			event = value
		case ":exception-type":
			exception = value
		case ":error-code":
			code = value
		}
	})
	switch {
	case !ev.Exception:
		ev.Name = event
	case len(exception) > 0:
		ev.Name = exception
	default:
		ev.Name = code
	}
	emit(ev)
}

// headerSizes are the lengths of values by type; -1 = a 16-bit length comes
// before: true, false, byte, short, integer, long, bytes, string, timestamp,
// UUID.
var headerSizes = [...]int{0, 0, 1, 2, 4, 8, -1, -1, 8, 16}

// typeString is the type of the headers that are read.
const typeString = 7

// eachHeader visits the headers that are strings, up to the first that breaks
// the format.
func eachHeader(b []byte, visit func(name, value []byte)) {
	for len(b) > 0 {
		n := int(b[0])
		if len(b) < n+2 || int(b[n+1]) >= len(headerSizes) {
			return
		}
		name, kind := b[1:n+1], b[n+1]
		b = b[n+2:]
		size := headerSizes[kind]
		if size < 0 {
			if len(b) < 2 {
				return
			}
			size = int(binary.BigEndian.Uint16(b))
			b = b[2:]
		}
		if len(b) < size {
			return
		}
		if kind == typeString {
			visit(name, b[:size])
		}
		b = b[size:]
	}
}
