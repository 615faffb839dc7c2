// Package sse reads event streams, of text (text/event-stream) and of binary
// messages (application/vnd.amazon.eventstream), lines of JSON, and the
// elements of a JSON array, with the position in the stream of every event. It
// writes the former.
//
// The readers are fed bytes as they arrive, in pieces of any size: every split
// of a stream gives the same events with the same positions, so a caller can
// stamp an event with the time of the piece that completed it.
//
// Source: WHATWG HTML Living Standard, 9.2.5 and 9.2.6 (Server-sent events).
package sse

import "bytes"

// defaultMaxEvent bounds an event where MaxEvent is 0.
const defaultMaxEvent = 16 << 20

// Event is one event, or one comment. Name and Data are valid until emit
// returns.
type Event struct {
	// Name is the event: field's value; empty = none.
	Name []byte
	// Data are the data: lines joined by \n; of a comment, what follows the
	// colon.
	Data []byte
	// Comment marks a comment line. It is emitted where it stands, which may
	// be before the event whose lines surround it.
	Comment bool
	// Partial: the stream ended before the event's blank line, or inside a
	// binary message.
	Partial bool
	// Exception: a binary message says that the service failed; Name is the
	// type of the failure.
	Exception bool
	// Damaged: what stood here is no valid binary message; there is no Data.
	Damaged bool
	// Cut is the number of bytes left out of Name and Data by MaxEvent.
	Cut int64
	// End is the stream offset just past the byte that completed the event: the
	// first byte of its final line end, or the end of the stream.
	End int64
}

// Decoder reads an event stream. The zero value is ready to use. It is not
// safe for concurrent use.
//
// Unlike a browser it hands out comments, and an event that the stream's end
// left without its blank line (servers omit it after "[DONE]").
type Decoder struct {
	// MaxEvent bounds the bytes kept of one event; 0 = 16 MiB. What is over is
	// counted and left out; the next event is whole again.
	MaxEvent int

	line    lineReader
	name    []byte
	data    []byte
	hasData bool
	begun   bool  // a line has been read: a byte order mark is text now
	cut     int64 // bytes left out of the event being read
	dropped int64
}

// Feed reads the next bytes of the stream and calls emit for every event that
// they complete.
func (d *Decoder) Feed(p []byte, emit func(Event)) {
	d.line.max = d.max() + prefixLen
	d.line.cr = true
	for {
		line, over, ok := d.line.next(&p)
		if !ok {
			return
		}
		d.take(line, over, emit)
	}
}

// Close hands out what the end of the stream completes. The decoder is then
// as new, but for its offset and Dropped.
func (d *Decoder) Close(emit func(Event)) {
	if line, over, ok := d.line.rest(); ok {
		d.take(line, over, emit)
	}
	d.dispatch(emit, true)
}

// Held is the number of bytes kept of an event that is not complete.
func (d *Decoder) Held() int { return len(d.line.part) + len(d.name) + len(d.data) }

// Forget gives up what is held of an event that is not complete, as if that
// were over MaxEvent.
func (d *Decoder) Forget() {
	left := int64(len(d.name) + len(d.data))
	d.cut += left
	d.dropped += left
	d.name, d.data = nil, nil
	d.line.forget()
}

// Dropped is the number of bytes left out because of MaxEvent.
func (d *Decoder) Dropped() int64 { return d.dropped }

func (d *Decoder) max() int {
	if d.MaxEvent > 0 {
		return d.MaxEvent
	}
	return defaultMaxEvent
}

// prefixLen is what a line needs beyond its value: the longest field name with
// a meaning, a colon, a blank, and a byte order mark.
const prefixLen = len("event: ") + 3

// take reads one line without its end; over is the number of bytes that were
// already left out of it.
func (d *Decoder) take(line []byte, over int64, emit func(Event)) {
	if !d.begun {
		d.begun = true
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	if len(line) == 0 {
		d.dispatch(emit, false)
		return
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "":
		d.comment(value, over, emit)
	case "data":
		if d.hasData {
			d.data = append(d.data, '\n')
		}
		d.hasData = true
		d.data = d.keep(d.data, value, over)
	case "event":
		d.name = d.keep(d.name[:0], value, over)
	}
}

// keep appends what MaxEvent has room for.
func (d *Decoder) keep(dst, value []byte, over int64) []byte {
	room := max(0, min(len(value), d.max()-len(dst)))
	left := int64(len(value)-room) + over
	d.cut += left
	d.dropped += left
	return append(dst, value[:room]...)
}

func (d *Decoder) comment(text []byte, over int64, emit func(Event)) {
	room := min(len(text), d.max())
	left := int64(len(text)-room) + over
	d.dropped += left
	emit(Event{Data: text[:room], Comment: true, Cut: left, End: d.line.end})
}

func (d *Decoder) dispatch(emit func(Event), partial bool) {
	if d.hasData {
		emit(Event{Name: d.name, Data: d.data, Partial: partial, Cut: d.cut, End: d.line.end})
	}
	d.name, d.data, d.hasData, d.cut = emptied(d.name), emptied(d.data), false, 0
}
